package dev.metaroce.sim.run;

import java.util.Arrays;

/**
 * What many values have in common. Percentiles are values that occurred: the smallest that is not
 * below so many percent of all. Without values everything is NaN.
 */
public record Distribution(double min, double mean, double p50, double p99, double max) {
    /** Sorts the values. */
    static Distribution of(double[] values) {
        if (values.length == 0) {
            return new Distribution(Double.NaN, Double.NaN, Double.NaN, Double.NaN, Double.NaN);
        }
        Arrays.sort(values);
        return new Distribution(
                values[0],
                Arrays.stream(values).sum() / values.length,
                percentile(values, 50),
                percentile(values, 99),
                values[values.length - 1]);
    }

    private static double percentile(double[] sorted, int percent) {
        long rank = Math.ceilDiv((long) percent * sorted.length, 100);
        return sorted[(int) Math.max(0, rank - 1)];
    }
}
