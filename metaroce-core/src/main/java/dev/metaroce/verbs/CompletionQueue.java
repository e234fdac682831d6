package dev.metaroce.verbs;

import dev.metaroce.ring.CompletionRing;
import dev.metaroce.ring.Reservation;
import dev.metaroce.ring.WorkCompletion;

import java.util.ArrayList;
import java.util.List;

/**
 * Where finished work requests are reported. One thread at a time may poll it. Completions of one
 * queue pair come in post order, sends and receives each.
 */
public final class CompletionQueue {
    private final CompletionRing ring;
    private final List<Reservation> reservations = new ArrayList<>();
    private int reserved;

    CompletionQueue(int capacity) {
        ring = new CompletionRing(capacity);
    }

    CompletionRing ring() {
        return ring;
    }

    /**
     * Sets aside room for the completions of a work queue.
     *
     * @throws IllegalArgumentException when there is too little, also with the room of queues that
     *     have ended
     */
    synchronized Reservation reserve(int entries) {
        if (reserved + entries > capacity()) {
            reservations.removeIf(this::takeBack);
        }
        if (reserved + entries > capacity()) {
            throw new IllegalArgumentException(
                    "completion queue of "
                            + capacity()
                            + " cannot hold "
                            + entries
                            + " more work requests ("
                            + reserved
                            + " are reserved): create it with at least "
                            + (reserved + entries));
        }
        reserved += entries;
        Reservation made = new Reservation(ring, entries);
        reservations.add(made);
        return made;
    }

    private boolean takeBack(Reservation old) {
        boolean returned = old.tryReturn();
        reserved -= returned ? old.entries() : 0;
        return returned;
    }

    /** Gives room back of which no use was made. */
    synchronized void cancel(Reservation unused) {
        reservations.remove(unused);
        reserved -= unused.entries();
    }

    /** Fills {@code into} with the oldest completion; false when there is none. Never blocks. */
    public boolean poll(WorkCompletion into) {
        return ring.poll(into);
    }

    /** Fills the array from its start with the oldest completions and returns how many. */
    public int poll(WorkCompletion[] into) {
        int n = 0;
        while (n < into.length && ring.poll(into[n])) {
            n++;
        }
        return n;
    }

    /** Completions waiting to be polled. */
    public int size() {
        return ring.size();
    }

    public int capacity() {
        return ring.capacity();
    }
}
