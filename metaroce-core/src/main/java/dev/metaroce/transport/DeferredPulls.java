package dev.metaroce.transport;

import java.util.Arrays;

/**
 * READs and atomics that arrived before an earlier message of their stream was complete: one table
 * for the device, a chain for each stream. It grows with use, up to a bound. Owner: the engine
 * thread.
 */
final class DeferredPulls {
    /** The end of a chain. */
    static final int NONE = -1;

    private static final int MAX_ENTRIES = 1024;
    private static final int FIRST_ENTRIES = 8;
    private static final long[] NO_ROWS = {};
    private static final int[] NO_ENTRIES = {};

    private long[] rows = NO_ROWS;
    private int[] next = NO_ENTRIES;
    private int free = NONE;
    private int size;

    boolean isFull() {
        return size == MAX_ENTRIES;
    }

    /** Requests in the table. */
    int size() {
        return size;
    }

    /** Keeps a request of this stream; the table must not be full. */
    void add(Stream stream, PullRequest request) {
        if (free == NONE) {
            grow();
        }
        int entry = free;
        free = next[entry];
        request.put(rows, entry * PullRequest.WORDS);
        next[entry] = stream.deferredPulls;
        stream.deferredPulls = entry;
        size++;
    }

    private void grow() {
        int before = next.length;
        int after = Math.max(FIRST_ENTRIES, 2 * before);
        rows = Arrays.copyOf(rows, after * PullRequest.WORDS);
        next = Arrays.copyOf(next, after);
        for (int entry = before; entry < after; entry++) {
            next[entry] = free;
            free = entry;
        }
    }

    /**
     * Takes a request of the stream whose turn it is, the oldest first, so that replies keep the
     * order of their path; false when there is none.
     */
    boolean take(Stream stream, PullRequest into) {
        int found = NONE;
        int beforeFound = NONE;
        int before = NONE;
        // The newest comes first in the chain.
        for (int entry = stream.deferredPulls; entry != NONE; entry = next[entry]) {
            if (stream.received.ahead(PullRequest.msn(rows, entry * PullRequest.WORDS)) == 0) {
                found = entry;
                beforeFound = before;
            }
            before = entry;
        }
        if (found == NONE) {
            return false;
        }
        into.get(rows, found * PullRequest.WORDS);
        if (beforeFound == NONE) {
            stream.deferredPulls = next[found];
        } else {
            next[beforeFound] = next[found];
        }
        giveBack(found);
        return true;
    }

    /** Forgets what waits for its turn in any stream of a connection. */
    void drop(TransportConnection connection) {
        if (size == 0) {
            return;
        }
        for (Stream stream : connection.streams()) {
            for (int entry = stream.deferredPulls; entry != NONE; ) {
                int after = next[entry];
                giveBack(entry);
                entry = after;
            }
            stream.deferredPulls = NONE;
        }
    }

    private void giveBack(int entry) {
        next[entry] = free;
        free = entry;
        size--;
    }
}
