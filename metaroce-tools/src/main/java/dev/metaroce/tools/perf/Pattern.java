package dev.metaroce.tools.perf;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Test data that both ends can compute: byte i of a message follows from the seed and i. */
final class Pattern {
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED;
    private static final long GOLDEN = 0x9E37_79B9_7F4A_7C15L;

    private Pattern() {}

    static void fill(MemorySegment memory, long offset, long bytes, long seed) {
        long whole = bytes & -Long.BYTES;
        for (long i = 0; i < whole; i += Long.BYTES) {
            memory.set(LONG, offset + i, word(seed, i));
        }
        for (long i = whole; i < bytes; i++) {
            memory.set(ValueLayout.JAVA_BYTE, offset + i, tail(seed, i));
        }
    }

    /** Offset of the first byte that differs (of its 8-byte group), or -1 when all are right. */
    static long firstDifference(MemorySegment memory, long offset, long bytes, long seed) {
        long whole = bytes & -Long.BYTES;
        for (long i = 0; i < whole; i += Long.BYTES) {
            if (memory.get(LONG, offset + i) != word(seed, i)) {
                return i;
            }
        }
        for (long i = whole; i < bytes; i++) {
            if (memory.get(ValueLayout.JAVA_BYTE, offset + i) != tail(seed, i)) {
                return i;
            }
        }
        return -1;
    }

    /** Never 0, so that memory that was not written never looks right. */
    private static byte tail(long seed, long i) {
        return (byte) (word(seed, i) | 1);
    }

    private static long word(long seed, long i) {
        long z = (seed + i) * GOLDEN;
        z = (z ^ (z >>> 30)) * 0xBF58_476D_1CE4_E5B9L;
        return z ^ (z >>> 27);
    }
}
