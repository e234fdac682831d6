package dev.metaroce.tools.perf;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/**
 * Test data that both ends can compute: byte i of a message follows from the seed and i alone, so a
 * short message is the beginning of a long one. No byte is 0, so that memory that was never written
 * never looks right.
 */
final class Pattern {
    private static final ValueLayout.OfLong LONG =
            ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final long GOLDEN = 0x9E37_79B9_7F4A_7C15L;
    private static final long NO_ZERO_BYTE = 0x0101_0101_0101_0101L;

    private Pattern() {}

    /** Writes a whole message at {@code base}. */
    static void fill(MemorySegment memory, long base, long bytes, long seed) {
        long whole = bytes & -Long.BYTES;
        for (long i = 0; i < whole; i += Long.BYTES) {
            memory.set(LONG, base + i, word(seed, i));
        }
        for (long i = whole; i < bytes; i++) {
            memory.set(ValueLayout.JAVA_BYTE, base + i, byteAt(seed, i));
        }
    }

    /**
     * True when bytes {@code from} to {@code from + bytes} of the message at {@code base} are
     * right.
     *
     * @param from a multiple of 8
     */
    static boolean matches(MemorySegment memory, long base, long from, long bytes, long seed) {
        long whole = from + (bytes & -Long.BYTES);
        for (long i = from; i < whole; i += Long.BYTES) {
            if (memory.get(LONG, base + i) != word(seed, i)) {
                return false;
            }
        }
        for (long i = whole; i < from + bytes; i++) {
            if (memory.get(ValueLayout.JAVA_BYTE, base + i) != byteAt(seed, i)) {
                return false;
            }
        }
        return true;
    }

    private static byte byteAt(long seed, long i) {
        return (byte) (word(seed, i & -Long.BYTES) >>> (i % Long.BYTES * Byte.SIZE));
    }

    private static long word(long seed, long i) {
        long z = (seed + i) * GOLDEN;
        z = (z ^ (z >>> 30)) * 0xBF58_476D_1CE4_E5B9L;
        return (z ^ (z >>> 27)) | NO_ZERO_BYTE;
    }
}
