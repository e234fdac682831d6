package dev.metaroce.wire.roce;

/** Path MTU, the payload bytes of a full packet: 256, 512, 1024, 2048 or 4096, codes 1 to 5. */
public final class PathMtu {
    /** Smallest MTU. */
    public static final int MIN_BYTES = 256;

    /** Largest MTU. */
    public static final int MAX_BYTES = 4_096;

    private PathMtu() {}

    /** True when there is a code for it. */
    public static boolean isValid(int bytes) {
        return bytes >= MIN_BYTES && bytes <= MAX_BYTES && Integer.bitCount(bytes) == 1;
    }

    /** Bytes of a code 1..5, and 0 for every other. */
    public static int bytes(int code) {
        return code >= 1 && code <= 5 ? (MIN_BYTES / 2) << code : 0;
    }

    /** Code of a valid MTU. */
    public static int code(int bytes) {
        return Integer.numberOfTrailingZeros(bytes) - 7;
    }

    /** The largest valid MTU of at most {@code bytes}, and 0 below {@link #MIN_BYTES}. */
    public static int atMost(int bytes) {
        return bytes < MIN_BYTES ? 0 : Integer.highestOneBit(Math.min(bytes, MAX_BYTES));
    }
}
