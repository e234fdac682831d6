package dev.metaroce.tools.study;

import dev.metaroce.tools.chart.Chart;
import dev.metaroce.tools.chart.ChartFiles;
import dev.metaroce.tools.chart.LineChart;
import dev.metaroce.tools.cli.Numbers;
import dev.metaroce.tools.cli.Output;
import dev.metaroce.tools.cli.Terminal;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Option;

import java.nio.file.Path;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.function.ToLongFunction;

/** A study whose rows stand for several seeds each, and that draws charts. */
abstract class SeedStudy extends Study {
    private static final int DEFAULT_SEEDS = 20;

    @Option(
            names = "--seeds",
            paramLabel = "N",
            converter = Seeds.class,
            description =
                    "Simulations of each row, with the seeds from --seed on, 1..10000 (20). Rows"
                            + " show the median, and the least and the greatest where it matters.")
    private int seeds = DEFAULT_SEEDS;

    @Option(
            names = "--threads",
            paramLabel = "N",
            converter = Threads.class,
            description =
                    "Simulations at a time, 1..1024; the results do not depend on it (one per"
                            + " processor).")
    private @Nullable Integer threads;

    @Option(
            names = "--charts",
            paramLabel = "DIR",
            description = "Draw charts into this directory, an SVG file each.")
    private @Nullable Path charts;

    private @Nullable ChartFiles files;

    /** Measures all rows. */
    abstract void measure(Tables tables, Trials trials);

    @Override
    void check() {
        files = charts == null ? null : ChartFiles.in(charts);
    }

    @Override
    final void measure(Output to, Tables tables, BooleanSupplier mayGoOn) {
        int atOnce = threads == null ? Runtime.getRuntime().availableProcessors() : threads;
        try (Trials trials = new Trials(to, seed, seeds, atOnce, mayGoOn)) {
            measure(tables, trials);
        }
    }

    /** Adds a point that stands for all seeds. */
    static void point(LineChart chart, String line, double x, Spread y) {
        chart.point(line, x, y.median(), y.min(), y.max());
    }

    /** A count of all seeds together. */
    static <T> long sum(List<T> outcomes, ToLongFunction<T> quantity) {
        return outcomes.stream().mapToLong(quantity).sum();
    }

    /** Draws a chart if charts are asked for. */
    final void draw(Chart chart) {
        if (files != null) {
            files.write(chart);
        }
    }

    /** The network and the number of seeds, for a table's title. */
    final String conditions() {
        return "%.0f Gb/s, %.1f us, %s"
                .formatted(
                        rateBitsPerSecond / 1e9,
                        roundTripPs / PS_PER_US,
                        seeds == 1 ? "seed " + seed : Terminal.count(seeds) + " seeds");
    }

    static final class Seeds extends Numbers.Whole {
        Seeds() {
            super(1, 10_000);
        }
    }

    static final class Threads extends Numbers.Whole {
        Threads() {
            super(1, 1024);
        }
    }
}
