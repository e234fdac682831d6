package dev.metaroce.util;

/**
 * A sliding bitmap of 256 bits kept in four consecutive words of a {@code long[]}, so that the
 * bitmaps of many paths can share one array. Bit {@code i} is bit {@code i % 64} of word {@code
 * base + i / 64}.
 *
 * <p>No state of its own; the array belongs to the caller. Bit numbers outside the window are a
 * programmer error, since they would reach into a neighbour's words.
 */
public final class WindowBitmap {
    /** Bits in a window. */
    public static final int BITS = 256;

    /** Words in a window. */
    public static final int WORDS = BITS / Long.SIZE;

    private WindowBitmap() {}

    /** True when {@code bit} (0..255) is set. */
    public static boolean get(long[] words, int base, int bit) {
        Invariant.check((bit & -BITS) == 0, "bit is inside the window", bit, BITS);
        return ((words[base + (bit >>> 6)] >>> bit) & 1) != 0;
    }

    /** Sets {@code bit} (0..255). */
    public static void set(long[] words, int base, int bit) {
        Invariant.check((bit & -BITS) == 0, "bit is inside the window", bit, BITS);
        words[base + (bit >>> 6)] |= 1L << bit;
    }

    /** Clears bit {@code bit}, 0..255. */
    public static void unset(long[] words, int base, int bit) {
        Invariant.check((bit & -BITS) == 0, "bit is inside the window", bit, BITS);
        words[base + (bit >>> 6)] &= ~(1L << bit);
    }

    /** Number of consecutive ones from bit 0 upwards, 0..256. */
    public static int trailingOnes(long[] words, int base) {
        return nextClear(words, base, 0);
    }

    /**
     * Drops the lowest {@code count} (0..256) bits and moves the rest down; zeros come in on top.
     */
    public static void shiftDown(long[] words, int base, int count) {
        Invariant.check(count >= 0 && count <= BITS, "shift is inside the window", count, BITS);
        int skip = count >>> 6;
        int bits = count & 63;
        for (int i = 0; i < WORDS; i++) {
            long low = i + skip < WORDS ? words[base + i + skip] : 0;
            long high = i + skip + 1 < WORDS ? words[base + i + skip + 1] : 0;
            // In two steps, because a shift by 64 would be a shift by 0 when bits is 0.
            words[base + i] = (low >>> bits) | ((high << 1) << (63 - bits));
        }
    }

    /**
     * The window moves on past the place below bit 0, which is filled now, and past all that follow
     * it without a gap.
     *
     * @return how far, 1..257
     */
    public static int advance(long[] words, int base) {
        int run = trailingOnes(words, base);
        // The place itself takes no bit: a full window moves by one more than it has bits.
        shiftDown(words, base, Math.min(run + 1, BITS));
        return run + 1;
    }

    public static boolean isEmpty(long[] words, int base) {
        return (words[base] | words[base + 1] | words[base + 2] | words[base + 3]) == 0;
    }

    /** The highest bit set, or -1 when the window is empty. */
    public static int highest(long[] words, int base) {
        for (int i = WORDS - 1; i >= 0; i--) {
            long word = words[base + i];
            if (word != 0) {
                return (i << 6) + 63 - Long.numberOfLeadingZeros(word);
            }
        }
        return -1;
    }

    /** The first clear bit at or above {@code from} (0..256), or 256 when there is none. */
    public static int nextClear(long[] words, int base, int from) {
        Invariant.check(from >= 0 && from <= BITS, "start is inside the window", from, BITS);
        // Bits below the start are masked out of its word only.
        long mask = -1L << from;
        for (int i = from >>> 6; i < WORDS; i++) {
            long clear = ~words[base + i] & mask;
            if (clear != 0) {
                return (i << 6) + Long.numberOfTrailingZeros(clear);
            }
            mask = -1L;
        }
        return BITS;
    }

    /** The first set bit at or above {@code from} (0..256), or -1 when there is none. */
    public static int nextSet(long[] words, int base, int from) {
        Invariant.check(from >= 0 && from <= BITS, "start is inside the window", from, BITS);
        long mask = -1L << from;
        for (int i = from >>> 6; i < WORDS; i++) {
            long set = words[base + i] & mask;
            if (set != 0) {
                return (i << 6) + Long.numberOfTrailingZeros(set);
            }
            mask = -1L;
        }
        return -1;
    }

    /** Clears all 256 bits. */
    public static void clear(long[] words, int base) {
        words[base] = 0;
        words[base + 1] = 0;
        words[base + 2] = 0;
        words[base + 3] = 0;
    }
}
