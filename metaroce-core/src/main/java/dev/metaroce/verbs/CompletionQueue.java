package dev.metaroce.verbs;

import dev.metaroce.ring.CompletionRing;
import dev.metaroce.ring.DoorbellList;
import dev.metaroce.ring.Reservation;
import dev.metaroce.ring.WorkCompletion;

import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.List;

/**
 * Where finished work requests are reported ({@code ibv_cq}). One thread at a time may poll it, or
 * wait for it. Completions of one queue pair come in post order, sends and receives each.
 *
 * <p>Three ways to use one: {@link #poll} in a loop, {@link #await} for the next completion, or a
 * {@link CompletionChannel} to wait for several queues at once.
 */
public final class CompletionQueue {
    private final RdmaDevice device;
    private final @Nullable CompletionChannel channel;
    private final Signal signal;
    private final DoorbellList.Bell bell = new DoorbellList.Bell(this);
    private final CompletionRing ring;
    private final List<Reservation> reservations = new ArrayList<>();
    private int reserved;

    CompletionQueue(
            RdmaDevice device, int capacity, @Nullable CompletionChannel channel, Signal signal) {
        this.device = device;
        this.channel = channel;
        this.signal = signal;
        ring = new CompletionRing(capacity, this::onCompletion);
        if (channel != null) {
            ring.watch();
        }
    }

    private void onCompletion() {
        if (channel != null) {
            channel.ring(bell);
        } else {
            signal.raise();
        }
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

    RdmaDevice device() {
        return device;
    }

    /** The channel it was created with; null when there is none. */
    public @Nullable CompletionChannel channel() {
        return channel;
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

    /**
     * Waits for the oldest completion. In inline mode the calling thread drives the engine
     * meanwhile; otherwise it sleeps. A queue that was ever waited for costs the engine a memory
     * fence for each completion.
     *
     * @param timeoutNs longest wait in nanoseconds; {@link Long#MAX_VALUE} for ever
     * @return false when the time ran out, or the thread was interrupted, which stays set
     * @throws IllegalStateException when the queue has a channel; when the device is closed or
     *     failed; when called on the engine's thread
     */
    public boolean await(WorkCompletion into, long timeoutNs) {
        if (ring.poll(into)) {
            return true;
        }
        if (channel != null) {
            throw new IllegalStateException(
                    "the completion queue has a channel: wait with CompletionChannel.take");
        }
        if (ring.watch()) {
            device.awaitEngineTurn();
        }
        return signal.await(() -> armAndPoll(into), timeoutNs);
    }

    private boolean armAndPoll(WorkCompletion into) {
        if (ring.poll(into)) {
            return true;
        }
        ring.arm();
        return ring.poll(into);
    }

    /**
     * Arms the queue ({@code ibv_req_notify_cq}): the next completion puts it into its channel,
     * once. Those that came before do not, so poll again before waiting. Any thread; arming an
     * armed queue does nothing.
     *
     * @throws IllegalStateException when the queue has no channel
     */
    public void requestNotify() {
        if (channel == null) {
            throw new IllegalStateException(
                    "the completion queue has no channel: create it with one, or use await");
        }
        ring.arm();
    }

    /** Completions waiting to be polled. */
    public int size() {
        return ring.size();
    }

    public int capacity() {
        return ring.capacity();
    }
}
