package dev.metaroce.tools.study;

import java.util.Arrays;
import java.util.List;
import java.util.function.ToDoubleFunction;

/** The middle of some values and their ends; all NaN when there are none. */
record Spread(double median, double min, double max) {
    static Spread of(double... values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        int count = sorted.length;
        if (count == 0) {
            return new Spread(Double.NaN, Double.NaN, Double.NaN);
        }
        double median = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
        return new Spread(median, sorted[0], sorted[count - 1]);
    }

    static <T> Spread of(List<T> outcomes, ToDoubleFunction<T> quantity) {
        return of(outcomes.stream().mapToDouble(quantity).toArray());
    }
}
