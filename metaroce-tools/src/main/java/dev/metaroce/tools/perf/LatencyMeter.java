package dev.metaroce.tools.perf;

import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramIterationValue;

import java.io.PrintWriter;
import java.util.List;
import java.util.Locale;

/**
 * Round trips of a latency test or of ping. Minimum, maximum, average and standard deviation are
 * exact; the median and the percentiles come from a histogram of three significant digits.
 * Recording allocates nothing.
 */
final class LatencyMeter {
    /** One way of a ping-pong. */
    static final double HALF = 0.5;

    static final double WHOLE = 1;

    static final String CSV_HEADER = "message_bytes,t_us,count,cumulative_percent";

    private static final long HIGHEST_NS = 60_000_000_000L;

    private final double share;
    private final Histogram histogram = new Histogram(1, HIGHEST_NS, 3);
    private long count;
    private long minNs = Long.MAX_VALUE;
    private long maxNs;
    private double meanNs;
    private double squares;

    /**
     * @param share of a round trip that is reported
     */
    LatencyMeter(double share) {
        this.share = share;
    }

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

    /** All figures in microseconds; those of no round trip are NaN. */
    LatencyRow row(long messageBytes, double elapsedS, List<Percentile> percentiles) {
        return new LatencyRow(
                messageBytes,
                count,
                elapsedS,
                exact((double) minNs),
                exact((double) maxNs),
                percentile(50),
                exact(meanNs),
                count > 1 ? us(Math.sqrt(squares / (count - 1))) : Double.NaN,
                percentile(99),
                percentile(99.9),
                percentiles.stream()
                        .map(p -> new LatencyRow.Point(p, percentile(p.value())))
                        .toList());
    }

    private double exact(double ns) {
        return count == 0 ? Double.NaN : us(ns);
    }

    /** Never outside the exact extremes, although the histogram rounds. */
    private double percentile(double percent) {
        long ns = histogram.getValueAtPercentile(percent);
        return count == 0 ? Double.NaN : us((double) Math.clamp(ns, minNs, maxNs));
    }

    private double us(double ns) {
        return ns * share / 1e3;
    }

    /** Writes the distribution as lines of {@link #CSV_HEADER}: one for each time that occurred. */
    void writeCsv(long messageBytes, PrintWriter out) {
        for (HistogramIterationValue each : histogram.recordedValues()) {
            long ns = Math.clamp(each.getValueIteratedTo(), minNs, maxNs);
            out.printf(
                    Locale.ROOT,
                    "%d,%.3f,%d,%.6f%n",
                    messageBytes,
                    us((double) ns),
                    each.getCountAtValueIteratedTo(),
                    each.getPercentileLevelIteratedTo());
        }
    }
}
