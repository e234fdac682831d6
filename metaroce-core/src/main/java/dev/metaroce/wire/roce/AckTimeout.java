package dev.metaroce.wire.roce;

/** The 5-bit code of the local ACK timeout: 4.096 us times 2^code; 0 waits for ever. */
public final class AckTimeout {
    /** No timeout at all. */
    public static final int INFINITE = 0;

    /** The largest code, 8796 s. */
    public static final int MAX = 31;

    private static final long UNIT_NS = 4_096;

    private AckTimeout() {}

    /** Timeout for this code, 1..31, in nanoseconds; of 0 a value that no clock reaches. */
    public static long ns(int code) {
        return (code & MAX) == INFINITE ? Long.MAX_VALUE : UNIT_NS << (code & MAX);
    }

    /** The code, 1..31, of the shortest timeout that is not shorter than this, 31 for all above. */
    public static int code(long ns) {
        int code = 1;
        while (code < MAX && ns(code) < ns) {
            code++;
        }
        return code;
    }
}
