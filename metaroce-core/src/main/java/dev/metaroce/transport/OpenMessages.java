package dev.metaroce.transport;

import java.util.Arrays;

/**
 * The messages of several packets, and the atomic operations, that an initiator has on the way in
 * one lease: which part of their work request they are, how much of them is not known to have
 * arrived, and how much is not acknowledged. Named by their slots, as on the wire. Memory comes
 * with the messages that were open at once.
 *
 * <p>Owner: the engine thread.
 */
final class OpenMessages {
    /** Most slots a target can grant. */
    static final int MAX_SLOTS = 1024;

    private static final int FIRST_SLOTS = 8;

    private final long[] taken = new long[MAX_SLOTS / Long.SIZE];
    private long[] start = new long[FIRST_SLOTS];
    private long[] length = new long[FIRST_SLOTS];
    private long[] missing = new long[FIRST_SLOTS];
    private long[] left = new long[FIRST_SLOTS];
    private int granted;
    private int count;

    /** A new lease, with so many slots, 1..1024. */
    void reset(int slots) {
        Arrays.fill(taken, 0);
        granted = slots;
        count = 0;
    }

    /** True when another message may be opened. */
    boolean hasRoom() {
        return count < granted;
    }

    /**
     * Opens a message; there must be room.
     *
     * @param from where it starts in its work request
     * @param bytes its length, more than 0
     * @return its slot
     */
    int open(long from, long bytes) {
        int word = 0;
        while (taken[word] == -1L) {
            word++;
        }
        int bit = Long.numberOfTrailingZeros(~taken[word]);
        taken[word] |= 1L << bit;
        count++;
        int slot = word * Long.SIZE + bit;
        if (slot >= start.length) {
            int slots = Math.max(slot + 1, 2 * start.length);
            start = Arrays.copyOf(start, slots);
            length = Arrays.copyOf(length, slots);
            missing = Arrays.copyOf(missing, slots);
            left = Arrays.copyOf(left, slots);
        }
        start[slot] = from;
        length[slot] = bytes;
        missing[slot] = bytes;
        left[slot] = bytes;
        return slot;
    }

    /** Where the message starts in its work request. */
    long start(int slot) {
        return start[slot];
    }

    /** Bytes of the whole message. */
    long length(int slot) {
        return length[slot];
    }

    /** One packet is known to have arrived; true when it was the last one that was not. */
    boolean arrive(int slot, int bytes) {
        missing[slot] -= bytes;
        return missing[slot] <= 0;
    }

    /**
     * One packet is done with; true when it was the last one that was not, and the slot is free.
     */
    boolean acknowledge(int slot, int bytes) {
        left[slot] -= bytes;
        if (left[slot] > 0) {
            return false;
        }
        taken[slot >> 6] &= ~(1L << (slot & 63));
        count--;
        return true;
    }
}
