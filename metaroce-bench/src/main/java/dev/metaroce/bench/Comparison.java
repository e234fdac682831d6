package dev.metaroce.bench;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Statistics of contenders that took turns: medians, and the ratio to the first contender of a row
 * round by round, so that what disturbed a whole round cancels out.
 *
 * @param row what is compared, metric and unit included
 * @param better {@code more} or {@code less}
 */
record Comparison(String row, String better, List<Contender> contenders) {
    private static final int FIELDS = 5;

    /**
     * One line of the table.
     *
     * @param samples one figure per round, in the order of the rounds
     * @param oursToThis the first contender's figure divided by this one's, round by round
     */
    record Contender(String name, Spread samples, Spread oursToThis) {}

    /** Figures of some rounds; never empty. */
    record Spread(double median, double min, double max, List<Double> values) {
        static Spread of(List<Double> values) {
            double[] sorted = values.stream().mapToDouble(Double::doubleValue).sorted().toArray();
            int n = sorted.length;
            double median = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
            return new Spread(median, sorted[0], sorted[n - 1], List.copyOf(values));
        }
    }

    /** A row while it is read: figures by round, by contender. */
    private record Collected(String better, Map<String, Map<String, Double>> contenders) {
        Comparison summary(String row) {
            List<Contender> summaries = new ArrayList<>();
            Map<String, Double> first = contenders.values().iterator().next();
            contenders.forEach(
                    (name, byRound) ->
                            summaries.add(
                                    new Contender(
                                            name,
                                            Spread.of(List.copyOf(byRound.values())),
                                            Spread.of(ratios(row, name, first, byRound)))));
            return new Comparison(row, better, summaries);
        }

        private static List<Double> ratios(
                String row, String name, Map<String, Double> first, Map<String, Double> byRound) {
            List<Double> ratios = new ArrayList<>();
            byRound.forEach(
                    (round, value) -> {
                        Double ours = first.get(round);
                        if (ours == null) {
                            throw new IllegalArgumentException(
                                    "%s: round %s of %s has no figure of ours to compare with"
                                            .formatted(row, round, name));
                        }
                        ratios.add(ours / value);
                    });
            return ratios;
        }
    }

    /**
     * Reads lines of the form {@code round|row|better|contender|value}; rows and contenders keep
     * the order in which they appear first, and the first contender of a row is ours.
     *
     * @throws IllegalArgumentException when a line is none of these, naming it
     */
    static List<Comparison> read(List<String> lines) {
        Map<String, Collected> rows = new LinkedHashMap<>();
        for (String line : lines) {
            String[] field = line.split("\\|", -1);
            if (field.length != FIELDS) {
                throw new IllegalArgumentException(
                        "'%s' has %s fields, not %s".formatted(line, field.length, FIELDS));
            }
            rows.computeIfAbsent(field[1], row -> new Collected(field[2], new LinkedHashMap<>()))
                    .contenders
                    .computeIfAbsent(field[3], contender -> new LinkedHashMap<>())
                    .put(field[0], number(line, field[4]));
        }
        List<Comparison> comparisons = new ArrayList<>();
        rows.forEach((row, collected) -> comparisons.add(collected.summary(row)));
        return comparisons;
    }

    private static double number(String line, String text) {
        double value = 0;
        try {
            value = Double.parseDouble(text);
        } catch (NumberFormatException e) {
            // said below
        }
        if (!(value > 0) || Double.isInfinite(value)) {
            throw new IllegalArgumentException(
                    "'%s': '%s' is not a figure above 0".formatted(line, text));
        }
        return value;
    }

    /** The table of one row, a line each. */
    List<String> table() {
        List<String> lines = new ArrayList<>();
        lines.add("%s; %s is better".formatted(row, better));
        lines.add(
                "  %-46s %10s %10s %10s   %9s %7s %7s"
                        .formatted("", "median", "least", "most", "ours/this", "least", "most"));
        for (Contender c : contenders) {
            Spread s = c.samples;
            Spread o = c.oursToThis;
            lines.add(
                    "  %-46s %10.3f %10.3f %10.3f   %9.2f %7.2f %7.2f"
                            .formatted(c.name, s.median, s.min, s.max, o.median, o.min, o.max));
        }
        return lines;
    }
}
