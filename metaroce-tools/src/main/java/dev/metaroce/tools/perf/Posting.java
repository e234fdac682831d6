package dev.metaroce.tools.perf;

/**
 * How a bandwidth test posts its messages on each queue pair.
 *
 * @param depth messages outstanding at most
 * @param list messages posted together, as soon as there is room for all of them
 * @param signalEvery of so many messages one asks for its completion; the last one always does, and
 *     so does the last one of each list of several
 */
record Posting(int depth, int list, int signalEvery) {
    /** Bytes outstanding per queue pair, so that a run with a duration ends soon after it. */
    private static final long OUTSTANDING_BYTES_MAX = 256 << 20;

    /** One message at a time, each with its completion. */
    static Posting ofDepth(int depth) {
        return new Posting(depth, 1, 1);
    }

    /**
     * The same for messages of a size: the depth shrinks for messages of many megabytes, but never
     * below 2, and lists and signals never wait for more messages than the depth allows.
     */
    Posting fitting(long messageBytes) {
        int fit =
                (int)
                        Math.clamp(
                                OUTSTANDING_BYTES_MAX / messageBytes,
                                Math.min(2, depth),
                                (long) depth);
        return new Posting(fit, Math.min(list, fit), Math.min(signalEvery, fit));
    }

    boolean isInRange() {
        return isCount(depth) && isCount(list) && isCount(signalEvery);
    }

    private static boolean isCount(int value) {
        return value >= 1 && value <= PerfOptions.TX_DEPTH_MAX;
    }
}
