package dev.metaroce.tools.sim;

import dev.metaroce.tools.cli.Numbers.Whole;
import dev.metaroce.tools.cli.ToolException;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Option;

import java.nio.file.Path;

/** What is written beside the summary, and where to. */
final class OutputOptions {
    @Option(
            names = "--json",
            paramLabel = "FILE",
            description = "The summary as one JSON document; - for standard output in its place.")
    @Nullable Path json;

    @Option(names = "--flows", paramLabel = "FILE", description = "A line per flow, as CSV.")
    @Nullable Path flows;

    @Option(
            names = "--ports",
            paramLabel = "FILE",
            description = "A line with the counters of each port, as CSV.")
    @Nullable Path ports;

    @Option(
            names = "--series",
            paramLabel = "FILE",
            description =
                    "Samples of queues, flows and contexts as CSV: a line per time and value.")
    @Nullable Path series;

    @Option(
            names = "--interval",
            paramLabel = "TIME",
            converter = Quantity.Delay.class,
            description = "Time between samples, from 1ns (10us).")
    @Nullable Long intervalPs;

    @Option(
            names = "--series-ports",
            paramLabel = "N",
            converter = SeriesCount.class,
            description = "Of how many ports, those with the longest queues, 0..100000 (8).")
    int seriesPorts = 8;

    @Option(
            names = "--series-flows",
            paramLabel = "N",
            converter = SeriesCount.class,
            description = "Of how many flows, from the first on, 0..100000 (16).")
    int seriesFlows = 16;

    long intervalPs() {
        return intervalPs == null ? 10_000_000 : intervalPs;
    }

    void check(RunOptions run) {
        if (intervalPs != null && series == null) {
            throw ToolException.usage("--interval is for --series: give it too");
        }
        if (intervalPs() < 1_000) {
            throw ToolException.usage("--interval: shorter than 1ns");
        }
        boolean hasFiles = flows != null || ports != null || series != null;
        if (hasFiles && (run.seeds != null || run.sweep != null)) {
            throw ToolException.usage(
                    "--flows, --ports and --series are of one simulation: leave them or %s out"
                            .formatted(run.seeds == null ? "--sweep" : "--seeds"));
        }
    }

    static final class SeriesCount extends Whole {
        SeriesCount() {
            super(0, 100_000);
        }
    }
}
