package dev.metaroce.tools.sim;

import dev.metaroce.sim.run.Simulation;
import dev.metaroce.sim.run.Summary;
import dev.metaroce.tools.cli.Output;
import dev.metaroce.tools.cli.Terminal;
import dev.metaroce.tools.cli.ToolException;

import org.jspecify.annotations.Nullable;

import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/** Several simulations, as many at a time as there are threads; told in their order. */
final class ManyRuns {
    private final Output output;
    private final RunOptions options;
    private final BooleanSupplier mayGoOn;
    private final Table table;

    /** What is told of each simulation. */
    interface Table {
        String header();

        /** A line of the table. */
        String line(SimResult result);
    }

    ManyRuns(Output output, RunOptions options, BooleanSupplier mayGoOn, Table table) {
        this.output = output;
        this.options = options;
        this.mayGoOn = mayGoOn;
        this.table = table;
    }

    /**
     * Runs them all, prints a line for each, and collects them in the document's {@code results}.
     *
     * @return what went wrong; empty when all went well
     */
    String run(List<Supplier<Simulation>> simulations, ObjectNode document) {
        if (output.out != null) {
            output.out.line(table.header());
        }
        ArrayNode rows = document.putArray("results");
        List<SimResult> unwell = new ArrayList<>();
        int told = 0;
        try (ExecutorService threads = Executors.newFixedThreadPool(options.threads)) {
            List<Future<@Nullable SimResult>> futures = new ArrayList<>();
            for (Supplier<Simulation> simulation : simulations) {
                futures.add(threads.submit(() -> runOne(simulation)));
            }
            for (Future<@Nullable SimResult> future : futures) {
                SimResult result = await(future);
                if (result == null) {
                    continue;
                }
                told++;
                rows.add(SimReport.resultDocument(result));
                if (output.out != null) {
                    output.out.line(table.line(result));
                }
                if (!result.isWell()) {
                    unwell.add(result);
                }
            }
        }
        return error(simulations.size(), told, unwell);
    }

    private @Nullable SimResult runOne(Supplier<Simulation> build) {
        if (!mayGoOn.getAsBoolean()) {
            return null;
        }
        long startNs = System.nanoTime();
        Simulation simulation = build.get();
        long setUpNs = System.nanoTime() - startNs;
        return SimResult.run(simulation, options, null, mayGoOn, setUpNs);
    }

    private static @Nullable SimResult await(Future<@Nullable SimResult> future) {
        try {
            return future.get();
        } catch (ExecutionException e) {
            switch (e.getCause()) {
                case RuntimeException known -> throw known;
                case Error fatal -> throw fatal;
                case null, default -> throw new IllegalStateException(e);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw ToolException.failed("interrupted while a simulation ran");
        }
    }

    private String error(int all, int told, List<SimResult> unwell) {
        if (!mayGoOn.getAsBoolean()) {
            return "interrupted: %d of %d simulations were begun".formatted(told, all);
        }
        if (unwell.isEmpty()) {
            return "";
        }
        SimResult first = unwell.getFirst();
        return "%d of %d simulations did not end well; seed %d, %s flows: %s"
                .formatted(
                        unwell.size(),
                        all,
                        first.configuration().seed(),
                        Terminal.count(first.summary().flows()),
                        first.error());
    }

    /** A line per seed. */
    static final class SeedTable implements Table {
        @Override
        public String header() {
            return " %-10s %9s %7s %12s %12s %12s %10s %10s %10s  %s"
                    .formatted(
                            "seed",
                            "ended",
                            "failed",
                            "mean[us]",
                            "p99[us]",
                            "last[us]",
                            "slowdown",
                            "resent",
                            "dropped",
                            "trace");
        }

        @Override
        public String line(SimResult r) {
            Summary s = r.summary();
            return " %-10d %9d %7d %12s %12s %12s %10s %10d %10d  %s"
                    .formatted(
                            r.configuration().seed(),
                            s.ended(),
                            s.failed(),
                            SimReport.number(s.completionUs().mean()),
                            SimReport.number(s.completionUs().p99()),
                            SimReport.number(s.lastEndUs()),
                            SimReport.number(s.slowdown().mean()),
                            s.packets().resent(),
                            s.packets().dropped(),
                            s.traceHash());
        }
    }

    /** A line per number of senders. */
    static final class SweepTable implements Table {
        @Override
        public String header() {
            return " %9s %9s %9s %9s %9s %11s %12s %9s %9s"
                    .formatted(
                            "senders",
                            "ended",
                            "contexts",
                            "queued",
                            "denied",
                            "tables",
                            "last[us]",
                            "Gb/s",
                            "wall[s]");
        }

        @Override
        public String line(SimResult r) {
            Summary s = r.summary();
            return " %9d %9d %9d %9d %9d %11s %12s %9s %9.2f"
                    .formatted(
                            s.flows(),
                            s.ended() - s.failed(),
                            s.contexts().peak(),
                            s.contexts().queued(),
                            s.contexts().denied(),
                            Terminal.bytes(s.contexts().tableBytes()),
                            SimReport.number(s.lastEndUs()),
                            SimReport.number(s.goodputGbps()),
                            r.setUpS() + r.runS());
        }
    }
}
