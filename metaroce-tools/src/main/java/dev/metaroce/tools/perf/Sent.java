package dev.metaroce.tools.perf;

/**
 * What one direction of a bandwidth test achieved.
 *
 * @param messages completed
 * @param elapsedNs from the first post to the last completion
 * @param peakMessagesPerNs rate of the best stretch
 */
record Sent(long messages, long elapsedNs, double peakMessagesPerNs) {
    static Sent of(BandwidthMeter meter) {
        return new Sent(meter.completions(), meter.elapsedNs(), meter.peakMessagesPerNs());
    }
}
