package dev.metaroce.sim.fabric;

import dev.metaroce.wire.PacketMemory;

import java.util.Arrays;

/**
 * Room for bytes of packets on their way, in slots of one size. Slots are numbered; memory comes in
 * chunks as it is needed and is never given back.
 */
final class SlotStore {
    private static final int CHUNK_SHIFT = 12;
    private static final int CHUNK_SLOTS = 1 << CHUNK_SHIFT;

    private final int slotBytes;
    private PacketMemory[] chunks = {};
    private int[] free = new int[CHUNK_SLOTS];
    private int freeCount;

    SlotStore(int slotBytes) {
        this.slotBytes = slotBytes;
    }

    int slotBytes() {
        return slotBytes;
    }

    long bytes() {
        return (long) chunks.length * CHUNK_SLOTS * slotBytes;
    }

    int take() {
        if (freeCount == 0) {
            grow();
        }
        return free[--freeCount];
    }

    private void grow() {
        int first = chunks.length << CHUNK_SHIFT;
        chunks = Arrays.copyOf(chunks, chunks.length + 1);
        chunks[chunks.length - 1] = new PacketMemory(CHUNK_SLOTS * slotBytes);
        if (free.length < first + CHUNK_SLOTS) {
            free = Arrays.copyOf(free, Math.max(first + CHUNK_SLOTS, free.length * 2));
        }
        for (int i = CHUNK_SLOTS - 1; i >= 0; i--) {
            free[freeCount++] = first + i;
        }
    }

    void give(int slot) {
        free[freeCount++] = slot;
    }

    PacketMemory memory(int slot) {
        return chunks[slot >>> CHUNK_SHIFT];
    }

    int offset(int slot) {
        return (slot & CHUNK_SLOTS - 1) * slotBytes;
    }
}
