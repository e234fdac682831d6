package dev.metaroce.tools.perf;

/**
 * A stretch of a bandwidth test, as far as this end sent.
 *
 * @param fromS start, from the beginning of the row
 * @param toS end, from the beginning of the row
 * @param iterations messages that completed in it
 * @param bytes of those messages
 * @param retransmittedPackets DATA packets sent again in it
 */
record Interval(
        double fromS,
        double toS,
        long iterations,
        long bytes,
        double bwGbps,
        double bwMibS,
        double msgRateMpps,
        long retransmittedPackets) {
    private static final double MIB = 1 << 20;

    static Interval of(long fromNs, long toNs, long messages, long messageBytes, long resent) {
        double ns = toNs - fromNs;
        long bytes = messages * messageBytes;
        return new Interval(
                fromNs / 1e9,
                toNs / 1e9,
                messages,
                bytes,
                8 * bytes / ns,
                bytes * 1e9 / ns / MIB,
                messages * 1e3 / ns,
                resent);
    }
}
