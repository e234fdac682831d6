package dev.metaroce.tools.study;

import dev.metaroce.sim.ConfigException;
import dev.metaroce.tools.cli.Interruption;
import dev.metaroce.tools.cli.Json;
import dev.metaroce.tools.cli.JsonReporter;
import dev.metaroce.tools.cli.Output;
import dev.metaroce.tools.cli.ToolException;
import dev.metaroce.tools.sim.Quantity;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

import tools.jackson.databind.node.ObjectNode;

import java.nio.file.Path;
import java.util.concurrent.Callable;
import java.util.function.BooleanSupplier;

/** What all studies have in common: the network's speed, the seed, and where the tables go. */
abstract class Study implements Callable<Integer>, JsonReporter {
    static final double PS_PER_US = 1e6;

    private static final int REPORT_SECONDS = 60;

    @Spec CommandSpec spec;

    @Option(
            names = "--rate",
            paramLabel = "RATE",
            converter = Quantity.Rate.class,
            description = "Of every link: 100G, 400G (400G).")
    long rateBitsPerSecond = 400_000_000_000L;

    @Option(
            names = "--round-trip",
            paramLabel = "TIME",
            converter = Quantity.Delay.class,
            description = "Over links that carry nothing else, there and back (10us).")
    long roundTripPs = 10_000_000;

    @Option(names = "--seed", paramLabel = "N", description = "Seed of everything random (1).")
    long seed = 1;

    @Option(
            names = "--json",
            paramLabel = "FILE",
            description = "All figures as one JSON document; - for standard output.")
    private @Nullable Path json;

    @Option(
            names = "--csv",
            paramLabel = "FILE",
            description = "All figures as CSV: lines of table, row, quantity, value.")
    private @Nullable Path csv;

    /** Refuses options that make no sense together. */
    abstract void check();

    /**
     * Measures and fills the tables.
     *
     * @param mayGoOn asked several times a second; when it says no, what was measured counts
     */
    abstract void measure(Output to, Tables tables, BooleanSupplier mayGoOn);

    @Override
    public boolean json() {
        return Output.isStandardOutput(json);
    }

    @Override
    public ObjectNode document() {
        ObjectNode document = Json.object();
        document.put("command", spec.qualifiedName());
        return document;
    }

    @Override
    public Integer call() {
        check();
        Output to = new Output(spec, json);
        try (Interruption interruption =
                Interruption.bySignal(() -> to.warn("interrupted"), REPORT_SECONDS)) {
            BooleanSupplier mayGoOn = () -> !interruption.isAsked();
            ObjectNode document = document();
            try (Tables tables = new Tables(to, csv, document)) {
                measure(to, tables, mayGoOn);
            }
            boolean isWhole = mayGoOn.getAsBoolean();
            return to.end(document, isWhole ? "" : "interrupted: figures are of a part");
        } catch (ConfigException e) {
            throw ToolException.usage(String.valueOf(e.getMessage()));
        }
    }
}
