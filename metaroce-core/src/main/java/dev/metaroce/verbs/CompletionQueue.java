package dev.metaroce.verbs;

import dev.metaroce.ring.CompletionRing;
import dev.metaroce.ring.WorkCompletion;

/**
 * Where finished work requests are reported. One thread at a time may poll it. Completions of one
 * queue pair come in post order, sends and receives each.
 */
public final class CompletionQueue {
    private final CompletionRing ring;

    CompletionQueue(int capacity) {
        ring = new CompletionRing(capacity);
    }

    CompletionRing ring() {
        return ring;
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
