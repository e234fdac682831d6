package dev.metaroce.tools.perf;

/**
 * Result of one message size of a bandwidth test, of one direction or of both. Gb is 10^9 bits, MiB
 * is 2^20 bytes, M is 10^6.
 *
 * @param iterations messages in all: per queue pair times queue pairs times initiators
 * @param elapsedS first post to last completion; with two directions, of both, so that the
 *     directions add up to their total
 * @param activeS first post to last completion of this direction alone
 */
record BandwidthRow(
        long messageBytes,
        long iterations,
        double elapsedS,
        double activeS,
        double bwPeakGbps,
        double bwAverageGbps,
        double bwPeakMibS,
        double bwAverageMibS,
        double msgRateMpps) {
    private static final double MIB = 1 << 20;

    /**
     * @param elapsedNs what averages are taken over: at least as long as the direction was active
     */
    static BandwidthRow of(long messageBytes, Sent sent, long elapsedNs) {
        double averageBytesPerNs = (double) messageBytes * sent.messages() / elapsedNs;
        double peakBytesPerNs = messageBytes * sent.peakMessagesPerNs();
        return new BandwidthRow(
                messageBytes,
                sent.messages(),
                elapsedNs / 1e9,
                sent.elapsedNs() / 1e9,
                8 * peakBytesPerNs,
                8 * averageBytesPerNs,
                peakBytesPerNs * 1e9 / MIB,
                averageBytesPerNs * 1e9 / MIB,
                sent.messages() * 1e3 / elapsedNs);
    }

    /** Message rate times message size must be the bandwidth, and iterations over time the rate. */
    boolean addsUp() {
        double fromRate = msgRateMpps * 1e6 * messageBytes * 8 / 1e9;
        double rate = iterations / elapsedS / 1e6;
        double fromMib = bwAverageMibS * MIB * 8 / 1e9;
        return isClose(fromRate, bwAverageGbps)
                && isClose(rate, msgRateMpps)
                && isClose(fromMib, bwAverageGbps)
                && bwPeakGbps >= bwAverageGbps * 0.99;
    }

    private static boolean isClose(double a, double b) {
        return Math.abs(a - b) <= 0.01 * Math.abs(b);
    }
}
