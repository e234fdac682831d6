package dev.metaroce.wire.roce;

/**
 * Serial arithmetic on 24-bit packet and message sequence numbers, like {@code Psn} on 32-bit ones:
 * all values are 0..2^24-1, and the shorter way round the ring decides which of two is first.
 */
public final class Psn24 {
    /** Bits of a sequence number. */
    public static final int MASK = 0xFF_FFFF;

    /** Half the ring: sequence numbers that far apart have no order. */
    public static final int HALF = 0x80_0000;

    private Psn24() {}

    /** The number {@code steps} further on, or back when it is negative. */
    public static int add(int psn, int steps) {
        return (psn + steps) & MASK;
    }

    /** Steps from {@code from} to {@code to}, -2^23..2^23-1; negative when {@code to} is behind. */
    public static int distance(int from, int to) {
        return ((to - from) << 8) >> 8;
    }

    /** True when {@code a} lies strictly before {@code b}, at most 2^23 - 1 steps away. */
    public static boolean isBefore(int a, int b) {
        return distance(a, b) > 0;
    }
}
