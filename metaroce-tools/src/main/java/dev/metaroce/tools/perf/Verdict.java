package dev.metaroce.tools.perf;

import dev.metaroce.tools.cli.ToolException;

import org.jspecify.annotations.Nullable;

import java.util.Locale;

/**
 * Whether the rows of a run keep to a threshold: all must. The row that is furthest from it speaks
 * for the run.
 */
final class Verdict {
    private final @Nullable Double minGbits;
    private final @Nullable Double maxP99Us;
    private double worst = Double.NaN;
    private long worstBytes;
    private int rows;

    /**
     * @param minGbits least average bandwidth of a row, null for any
     * @param maxP99Us most latency in microseconds of 99 % of a row's messages, null for any
     */
    Verdict(@Nullable Double minGbits, @Nullable Double maxP99Us) {
        this.minGbits = minGbits;
        this.maxP99Us = maxP99Us;
    }

    void add(BandwidthRow row) {
        add(row.bwAverageGbps(), row.messageBytes(), row.bwAverageGbps() < worst);
    }

    void add(LatencyRow row) {
        add(row.tP99Us(), row.messageBytes(), row.tP99Us() > worst);
    }

    private void add(double figure, long bytes, boolean worse) {
        if (rows == 0 || worse) {
            worst = figure;
            worstBytes = bytes;
        }
        rows++;
    }

    /**
     * Puts the verdict into the report, if there was a threshold.
     *
     * @throws ToolException with the exit code of a missed threshold
     */
    void tell(PerfReport report) {
        if (minGbits != null) {
            boolean pass = worst >= minGbits;
            tell(
                    report,
                    pass,
                    String.format(
                            Locale.ROOT,
                            "average bandwidth %.3f Gb/s%s is %s threshold --min-bw %s",
                            worst,
                            where(),
                            pass ? "not below" : "below",
                            minGbits));
        }
        if (maxP99Us != null) {
            boolean pass = worst <= maxP99Us;
            tell(
                    report,
                    pass,
                    String.format(
                            Locale.ROOT,
                            "99%% latency %.2f usec%s is %s threshold --max-p99 %s",
                            worst,
                            where(),
                            pass ? "not above" : "above",
                            maxP99Us));
        }
    }

    private String where() {
        return rows > 1 ? " of messages of " + worstBytes + " B" : "";
    }

    private static void tell(PerfReport report, boolean pass, String text) {
        report.verdict(pass, text);
        if (!pass) {
            throw ToolException.threshold(text);
        }
    }
}
