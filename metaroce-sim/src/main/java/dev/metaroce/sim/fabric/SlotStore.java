package dev.metaroce.sim.fabric;

import dev.metaroce.wire.PacketMemory;

import java.util.Arrays;

/**
 * Room for bytes of packets on their way, in slots of one size. Slots are numbered; memory comes in
 * chunks as it is needed and is never given back.
 */
final class SlotStore {
    private static final int CHUNK_BYTES = 256 << 10;

    private final int slotBytes;
    private final int chunkShift;
    private final int chunkSlots;
    private PacketMemory[] chunks = {};
    private int[] free;
    private int freeCount;

    SlotStore(int slotBytes) {
        this.slotBytes = slotBytes;
        chunkSlots = Math.max(64, Integer.highestOneBit(CHUNK_BYTES / slotBytes));
        chunkShift = Integer.numberOfTrailingZeros(chunkSlots);
        free = new int[chunkSlots];
    }

    int slotBytes() {
        return slotBytes;
    }

    long bytes() {
        return (long) chunks.length * chunkSlots * slotBytes;
    }

    int take() {
        if (freeCount == 0) {
            grow();
        }
        return free[--freeCount];
    }

    private void grow() {
        int first = chunks.length << chunkShift;
        chunks = Arrays.copyOf(chunks, chunks.length + 1);
        chunks[chunks.length - 1] = new PacketMemory(chunkSlots * slotBytes);
        if (free.length < first + chunkSlots) {
            free = Arrays.copyOf(free, Math.max(first + chunkSlots, free.length * 2));
        }
        for (int i = chunkSlots - 1; i >= 0; i--) {
            free[freeCount++] = first + i;
        }
    }

    void give(int slot) {
        free[freeCount++] = slot;
    }

    PacketMemory memory(int slot) {
        return chunks[slot >>> chunkShift];
    }

    int offset(int slot) {
        return (slot & chunkSlots - 1) * slotBytes;
    }
}
