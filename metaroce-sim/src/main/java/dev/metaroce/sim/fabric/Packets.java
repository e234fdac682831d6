package dev.metaroce.sim.fabric;

import dev.metaroce.wire.PacketMemory;

import java.util.Arrays;

/**
 * All packets on their way in a simulation. A packet is a number; what switches look at is one row
 * of sixteen ints, a cache line, and the bytes that engines look at are elsewhere. Owned by the
 * simulation's thread; allocates only to grow.
 */
public final class Packets {
    static final int NEXT = 0;
    static final int WIRE_BYTES = 1;
    static final int DESTINATION = 2;
    static final int SOURCE = 3;
    static final int FLOW_HASH = 4;
    static final int FLAGS = 5;
    static final int SLOT = 6;
    static final int STORED_BYTES = 7;
    static final int ELIDED_BYTES = 8;
    static final int IN_PORT = 9;
    static final int TRAFFIC_CLASS = 10;
    static final int SOURCE_PORT = 11;
    private static final int ROW_SHIFT = 4;

    static final int ECT = 1;
    static final int CE = 2;
    static final int CORRUPT = 4;
    static final int TRIMMED = 8;
    private static final int LARGE = 1 << 30;

    /** Holds the header and checksum of a DATA packet whose payload is elided. */
    private static final int SMALL_BYTES = 64;

    private static final int INITIAL_PACKETS = 1 << 12;

    private final SlotStore small = new SlotStore(SMALL_BYTES);
    private final SlotStore large;
    int[] rows = new int[INITIAL_PACKETS << ROW_SHIFT];
    private int[] free = new int[INITIAL_PACKETS];
    private int freeCount;
    private int count;

    /**
     * @param largestStoredBytes of any packet, elided payload not counted
     */
    Packets(int largestStoredBytes) {
        large = new SlotStore(Math.max(largestStoredBytes + 63 & -64, 2 * SMALL_BYTES));
    }

    /** Packets on their way. */
    public int inFlight() {
        return count - freeCount;
    }

    /** Bytes of memory taken for packets so far. */
    public long bytes() {
        return 4L * (rows.length + free.length) + small.bytes() + large.bytes();
    }

    /** A new packet with room for so many bytes. */
    int take(int storedBytes) {
        int packet = freeCount > 0 ? free[--freeCount] : fresh();
        int row = row(packet);
        Arrays.fill(rows, row, row + (1 << ROW_SHIFT), 0);
        rows[row + SLOT] = storedBytes <= SMALL_BYTES ? small.take() : large.take() | LARGE;
        rows[row + STORED_BYTES] = storedBytes;
        return packet;
    }

    /** A new packet with the row of another, and room for as many bytes. */
    int copy(int packet) {
        int copy = take(get(packet, STORED_BYTES));
        int slot = get(copy, SLOT);
        System.arraycopy(rows, row(packet), rows, row(copy), 1 << ROW_SHIFT);
        set(copy, SLOT, slot);
        return copy;
    }

    private int fresh() {
        if (count << ROW_SHIFT == rows.length) {
            rows = Arrays.copyOf(rows, rows.length * 2);
            free = Arrays.copyOf(free, free.length * 2);
        }
        return count++;
    }

    /** The packet arrived, or was lost. */
    void give(int packet) {
        int slot = rows[row(packet) + SLOT];
        if ((slot & LARGE) == 0) {
            small.give(slot);
        } else {
            large.give(slot & ~LARGE);
        }
        free[freeCount++] = packet;
    }

    static int row(int packet) {
        return packet << ROW_SHIFT;
    }

    int get(int packet, int field) {
        return rows[(packet << ROW_SHIFT) + field];
    }

    void set(int packet, int field, int value) {
        rows[(packet << ROW_SHIFT) + field] = value;
    }

    boolean has(int packet, int flag) {
        return (rows[(packet << ROW_SHIFT) + FLAGS] & flag) != 0;
    }

    void flag(int packet, int flag) {
        rows[(packet << ROW_SHIFT) + FLAGS] |= flag;
    }

    /** Leaves no more of the datagram than the first bytes of what is stored. */
    void cut(int packet, int overheadBytes) {
        int stored = Math.min(get(packet, STORED_BYTES), SMALL_BYTES);
        set(packet, STORED_BYTES, stored);
        set(packet, ELIDED_BYTES, 0);
        set(packet, WIRE_BYTES, stored + overheadBytes);
        flag(packet, TRIMMED);
    }

    PacketMemory memory(int packet) {
        int slot = get(packet, SLOT);
        return (slot & LARGE) == 0 ? small.memory(slot) : large.memory(slot & ~LARGE);
    }

    int offset(int packet) {
        int slot = get(packet, SLOT);
        return (slot & LARGE) == 0 ? small.offset(slot) : large.offset(slot & ~LARGE);
    }
}
