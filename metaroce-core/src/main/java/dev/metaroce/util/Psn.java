package dev.metaroce.util;

/**
 * Serial arithmetic on 32-bit packet sequence numbers. Numbers live on a ring; {@code a} is before
 * {@code b} when the shorter way from {@code a} to {@code b} goes forward. Two numbers exactly half
 * a ring apart are neither before the other, so the order stays antisymmetric for any input.
 */
public final class Psn {
    private Psn() {}

    /** True when {@code a} lies strictly before {@code b}, at most 2^31 - 1 steps away. */
    public static boolean isBefore(int a, int b) {
        //= MR-2.2-9
        return b - a > 0;
    }

    /** Steps forward from {@code from} to {@code to}; negative when {@code to} lies behind. */
    public static int distance(int from, int to) {
        return to - from;
    }

    /** The later of the two; {@code a} when they are equal or exactly half a ring apart. */
    public static int max(int a, int b) {
        return isBefore(a, b) ? b : a;
    }
}
