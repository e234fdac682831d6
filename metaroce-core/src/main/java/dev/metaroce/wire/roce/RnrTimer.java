package dev.metaroce.wire.roce;

/**
 * The 5-bit code in an RNR and the wait that it asks for (docs/rocev2.md, section 2). Code 0 is the
 * longest wait.
 */
public final class RnrTimer {
    /** The longest wait, 655.36 ms. */
    public static final int LONGEST = 0;

    private static final int CODES = 32;

    /** Steps of 10 us of codes 1 and up: 1, 2, 3, 4, 6, 8, 12, ...; code 0 is the last of them. */
    private static final long STEP_NS = 10_000;

    private RnrTimer() {}

    /** Wait for this code, whose low five bits count, in nanoseconds. */
    public static long ns(int code) {
        int index = (code & (CODES - 1)) == LONGEST ? CODES : code & (CODES - 1);
        return STEP_NS * (index < 2 ? index : (2 + (index & 1)) << (index / 2 - 1));
    }

    /** The code of the shortest wait that is not shorter than this, the longest for all above. */
    public static int code(long ns) {
        for (int code = 1; code < CODES; code++) {
            if (ns(code) >= ns) {
                return code;
            }
        }
        return LONGEST;
    }
}
