package dev.metaroce.sim.swarm;

import dev.metaroce.memory.Access;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.verbs.ProtectionDomain;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;

/**
 * Memory that one direction of a stream copies from and to, and a model of what has to be in the
 * target. Both regions are cut into slots with gaps between them. A slot is used again and again:
 * what comes late for an earlier message would spoil a later one.
 */
final class StreamMemory {
    private static final int GAP = 16;
    private static final byte UNTOUCHED = 0x5C;
    private static final int NOBODY = -1;

    final MemoryRegion source;
    final MemoryRegion target;

    /** At the sender: what reads and atomics bring, cut like the others. */
    final MemoryRegion fetched;

    /** At the target: one number that atomics change. */
    final MemoryRegion counter;

    private final MemorySegment model;
    private final MemorySegment contents;
    private final long seed;
    private final int slotBytes;

    /** By slot: the message whose fate is open, with its length. */
    private final int[] occupant;

    private final int[] occupantBytes;
    private boolean abandoned;

    StreamMemory(
            Arena arena,
            long seed,
            int slots,
            int slotBytes,
            ProtectionDomain from,
            ProtectionDomain to) {
        this.seed = seed;
        this.slotBytes = slotBytes;
        long bytes = (long) slots * (slotBytes + GAP) + GAP;
        source = from.register(arena.allocate(bytes, 8), 0);
        target = to.register(arena.allocate(bytes, 8), Access.ALL);
        target.segment().fill(UNTOUCHED);
        long fetchedBytes = bytes + slots * (long) Long.BYTES;
        fetched = from.register(arena.allocate(fetchedBytes, 8), Access.LOCAL_WRITE);
        counter = to.register(arena.allocate(Long.BYTES, 8), Access.REMOTE_ATOMIC);
        model = arena.allocate(bytes, 8).fill(UNTOUCHED);
        contents = arena.allocate(slotBytes + 8L, 8);
        occupant = new int[slots];
        occupantBytes = new int[slots];
        Arrays.fill(occupant, NOBODY);
    }

    int slots() {
        return occupant.length;
    }

    /** The process with the target died: nobody will look there again. */
    void abandon() {
        abandoned = true;
    }

    /** Where the slot of a message starts, in either region. */
    long offset(int message) {
        return GAP + (long) (message % occupant.length) * (slotBytes + GAP);
    }

    /** Where what a message fetches starts. */
    long fetchedOffset(int message) {
        return (long) (message % occupant.length) * (slotBytes + Long.BYTES + GAP);
    }

    /** A message read what an earlier one had put into its slot. */
    void read(String name, int message, int earlierNumber, int bytes) {
        generate(earlierNumber, bytes);
        long at = fetchedOffset(message);
        long bad = MemorySegment.mismatch(contents, 0, bytes, fetched.segment(), at, at + bytes);
        if (bad >= 0) {
            throw new Objection(
                    "%s: byte %d of %d that message %d read is not what was there"
                            .formatted(name, bad, bytes, message));
        }
    }

    /** What an atomic brought: the number as it was before. */
    long oldCount(int message) {
        return fetched.segment().get(ValueLayout.JAVA_LONG_UNALIGNED, fetchedOffset(message));
    }

    /** The number that atomics change; not for a process that died. */
    long count() {
        return counter.segment().get(ValueLayout.JAVA_LONG, 0);
    }

    boolean isAbandoned() {
        return abandoned;
    }

    /** The sender writes a message; what is in the target's slot is open from now on. */
    void write(String name, int number, int message, int bytes) {
        generate(number, bytes);
        long at = offset(message);
        MemorySegment.copy(contents, 0, source.segment(), at, bytes);
        int slot = message % occupant.length;
        if (occupant[slot] == NOBODY && !abandoned) {
            long end = at + slotBytes + GAP;
            long bad = MemorySegment.mismatch(model, at, end, target.segment(), at, end);
            if (bad >= 0) {
                throw new Objection(
                        "%s: byte %d of slot %d changed after its message had arrived"
                                .formatted(name, bad, slot));
            }
        }
        occupant[slot] = number;
        occupantBytes[slot] = bytes;
    }

    /** True while nobody has seen that the slot of the message holds it. */
    boolean isOpen(int number, int message) {
        return occupant[message % occupant.length] == number && !abandoned;
    }

    /** The message has to be in its slot now, and stays until the next one is written. */
    void arrived(String name, int number, int message, int bytes) {
        generate(number, bytes);
        long at = offset(message);
        long bad = MemorySegment.mismatch(contents, 0, bytes, target.segment(), at, at + bytes);
        if (bad >= 0) {
            throw new Objection(
                    "%s: byte %d of %d of message %d is not what was sent"
                            .formatted(name, bad, bytes, message));
        }
        MemorySegment.copy(contents, 0, model, at, bytes);
        occupant[message % occupant.length] = NOBODY;
    }

    /** All of the target holds what it should; a slot whose fate is open, some of either. */
    void check(String name) {
        if (abandoned) {
            return;
        }
        for (int slot = 0; slot < occupant.length; slot++) {
            if (occupant[slot] != NOBODY) {
                settle(name, slot);
            }
        }
        long bad = model.mismatch(target.segment());
        if (bad >= 0) {
            throw new Objection(
                    "%s: byte %d of the region changed, which nobody should write; slot %d at %d"
                            .formatted(name, bad, (bad - GAP) / (slotBytes + GAP), slotBytes));
        }
    }

    private void settle(String name, int slot) {
        generate(occupant[slot], occupantBytes[slot]);
        long start = offset(slot);
        for (int i = 0; i < occupantBytes[slot]; i++) {
            byte is = target.segment().get(ValueLayout.JAVA_BYTE, start + i);
            boolean old = is == model.get(ValueLayout.JAVA_BYTE, start + i);
            if (!old && is != contents.get(ValueLayout.JAVA_BYTE, i)) {
                throw new Objection(
                        "%s: byte %d of slot %d is neither old nor new".formatted(name, i, slot));
            }
            model.set(ValueLayout.JAVA_BYTE, start + i, is);
        }
        occupant[slot] = NOBODY;
    }

    /** Every message has other bytes everywhere. */
    private void generate(int number, int bytes) {
        long z = seed ^ (number * 0xD1B5_4A32_D192_ED03L);
        for (int at = 0; at < bytes; at += Long.BYTES) {
            z += 0x9E37_79B9_7F4A_7C15L;
            long word = (z ^ (z >>> 31)) * 0xBF58_476D_1CE4_E5B9L;
            contents.set(ValueLayout.JAVA_LONG_UNALIGNED, at, word ^ (word >>> 29));
        }
    }
}
