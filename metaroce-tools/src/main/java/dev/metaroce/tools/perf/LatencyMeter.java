package dev.metaroce.tools.perf;

import org.HdrHistogram.Histogram;

/**
 * Round trips of a latency test. Half of a round trip is reported, as perftest does. Minimum,
 * maximum, average and standard deviation are exact; the median and the percentiles come from a
 * histogram of three significant digits.
 */
final class LatencyMeter {
    private static final long HIGHEST_NS = 60_000_000_000L;

    private final Histogram histogram = new Histogram(1, HIGHEST_NS, 3);
    private long count;
    private long minNs = Long.MAX_VALUE;
    private long maxNs;
    private double meanNs;
    private double squares;

    void onRoundTrip(long ns) {
        long clamped = Math.clamp(ns, 1, HIGHEST_NS);
        histogram.recordValue(clamped);
        count++;
        minNs = Math.min(minNs, clamped);
        maxNs = Math.max(maxNs, clamped);
        // Welford's update: no cancellation, however many samples.
        double delta = clamped - meanNs;
        meanNs += delta / count;
        squares += delta * (clamped - meanNs);
    }

    long count() {
        return count;
    }

    LatencyRow row(long messageBytes, double elapsedS) {
        if (count == 0) {
            double none = Double.NaN;
            return new LatencyRow(
                    messageBytes, 0, elapsedS, none, none, none, none, none, none, none);
        }
        double stdevNs = count > 1 ? Math.sqrt(squares / (count - 1)) : Double.NaN;
        return new LatencyRow(
                messageBytes,
                count,
                elapsedS,
                halfUs((double) minNs),
                halfUs((double) maxNs),
                percentile(50),
                halfUs(meanNs),
                halfUs(stdevNs),
                percentile(99),
                percentile(99.9));
    }

    /** Never outside the exact extremes, although the histogram rounds. */
    private double percentile(double percent) {
        long ns = histogram.getValueAtPercentile(percent);
        return halfUs((double) Math.clamp(ns, minNs, maxNs));
    }

    private static double halfUs(double ns) {
        return ns / 2 / 1e3;
    }
}
