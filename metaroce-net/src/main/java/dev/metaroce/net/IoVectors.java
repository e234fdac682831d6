package dev.metaroce.net;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * An array of {@code struct iovec}, filled from the start. Owned by the port's thread; nothing
 * allocates after construction.
 */
final class IoVectors {
    private static final int ENTRY_BYTES = 16;

    private final MemorySegment memory;
    private final int capacity;
    private int count;

    IoVectors(int capacity) {
        this.capacity = capacity;
        memory = Arena.ofAuto().allocate((long) capacity * ENTRY_BYTES, 8);
    }

    void clear() {
        count = 0;
    }

    boolean hasRoom(int entries) {
        return count + entries <= capacity;
    }

    /** Entries so far. */
    int count() {
        return count;
    }

    /** Address of an entry. */
    long address(int entry) {
        return memory.address() + (long) entry * ENTRY_BYTES;
    }

    void add(long address, long bytes) {
        memory.set(JAVA_LONG, (long) count * ENTRY_BYTES, address);
        memory.set(JAVA_LONG, (long) count * ENTRY_BYTES + 8, bytes);
        count++;
    }
}
