package dev.metaroce.tools.swarm;

import dev.metaroce.sim.swarm.SwarmOutcome;
import dev.metaroce.tools.cli.ExitCode;
import dev.metaroce.tools.cli.Interruption;
import dev.metaroce.tools.cli.Json;
import dev.metaroce.tools.cli.JsonReporter;
import dev.metaroce.tools.cli.Numbers;
import dev.metaroce.tools.cli.Terminal;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

import java.io.PrintWriter;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;

/** {@code metaroce swarm}: many random simulations, and oracles that object. */
@Command(
        name = "swarm",
        mixinStandardHelpOptions = true,
        header = "Run random work under random faults, and look for objections.",
        description =
                "Each seed is a network, devices, work and faults, simulated with the real engine"
                    + " and real payload: every byte, completion and context id is checked, and"
                    + " after the faults everything has to end. The same seed does the same, with"
                    + " any number of threads. A seed that fails is told with its plan and the"
                    + " command that repeats it.")
public final class SwarmCommand implements Callable<Integer>, JsonReporter {
    /** Failures told in full; of more only the seed and the objection. */
    private static final int FULL_FAILURES = 3;

    private static final long STATUS_NS = TimeUnit.SECONDS.toNanos(10);
    private static final int FAREWELL_SECONDS = 20;

    @Spec private CommandSpec spec;

    @Option(
            names = "--seeds",
            paramLabel = "N",
            converter = Count.class,
            defaultValue = "1000",
            description = "How many to run (1000).")
    private int seeds;

    @Option(
            names = "--first-seed",
            paramLabel = "N",
            defaultValue = "1",
            description = "The first of them (1).")
    private long firstSeed;

    @Option(
            names = "--threads",
            paramLabel = "N",
            converter = Threads.class,
            description = "Seeds that run at once (one per processor).")
    private @Nullable Integer threads;

    @Option(
            names = "--minutes",
            paramLabel = "M",
            converter = Minutes.class,
            description = "Begin no seed after this time (no limit).")
    private @Nullable Double minutes;

    @Option(
            names = "--canary",
            description =
                    "Put a bug in, to see that it is noticed: a changed byte, or a forged"
                            + " acknowledgement. Fails when no seed objects.")
    private boolean canary;

    @Option(names = "--json", description = "Print one JSON document.")
    private boolean json;

    private final SwarmTally tally = new SwarmTally();
    private long startNs;
    private long statusNs;

    @Override
    public boolean json() {
        return json;
    }

    @Override
    public Integer call() throws InterruptedException {
        startNs = System.nanoTime();
        statusNs = startNs;
        SwarmBatch batch = new SwarmBatch(firstSeed, seeds, canary);
        try (Interruption interruption = Interruption.byStopping(batch::stop, FAREWELL_SECONDS)) {
            int workers = threads == null ? Runtime.getRuntime().availableProcessors() : threads;
            batch.run(workers, outcome -> told(batch, outcome));
            return interruption.endsWith(conclude());
        }
    }

    // While it runs

    private void told(SwarmBatch batch, SwarmOutcome outcome) {
        tally.add(outcome);
        if (!outcome.isClean() && !json && !canary) {
            tellFailure(outcome);
        }
        long nowNs = System.nanoTime();
        if (minutes != null && nowNs - startNs >= minutes * 60e9) {
            batch.stop();
        }
        if (nowNs - statusNs >= STATUS_NS && tally.seeds() < seeds) {
            statusNs = nowNs;
            tellStatus(nowNs);
        }
    }

    private void tellFailure(SwarmOutcome outcome) {
        boolean full = tally.failed().size() <= FULL_FAILURES;
        PrintWriter out = spec.commandLine().getOut();
        out.println(
                "seed " + outcome.seed() + ": " + (full ? outcome.failure() : outcome.objection()));
        out.println("replay: " + outcome.replay());
        out.flush();
    }

    private void tellStatus(long nowNs) {
        long leftSeconds =
                (long) ((nowNs - startNs) / 1e9 / tally.seeds() * (seeds - tally.seeds()));
        PrintWriter err = spec.commandLine().getErr();
        err.printf(
                "%s of %s seeds, %d failed, %d:%02d left%n",
                Terminal.count(tally.seeds()),
                Terminal.count(seeds),
                tally.failed().size(),
                leftSeconds / 60,
                leftSeconds % 60);
        err.flush();
    }

    // At the end

    /** Tells the result; returns the exit code. */
    private int conclude() {
        double seconds = (System.nanoTime() - startNs) / 1e9;
        String error = error();
        int exitCode = error.isEmpty() ? ExitCode.OK : ExitCode.FAILED;
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            ObjectNode document = document();
            document.put("seconds", seconds);
            if (error.isEmpty()) {
                document.putNull("error");
            } else {
                document.put("error", error);
            }
            document.put("exit_code", exitCode);
            out.println(Json.pretty(document));
        } else {
            tellSums(out, seconds);
        }
        out.flush();
        if (!error.isEmpty()) {
            spec.commandLine().getErr().println(spec.qualifiedName() + ": " + error);
            spec.commandLine().getErr().flush();
        }
        return exitCode;
    }

    private String error() {
        List<SwarmOutcome> failed = tally.failed();
        if (canary) {
            return failed.isEmpty()
                    ? "the canary was not noticed in %d seeds: the oracles are blind, or more"
                                    .formatted(tally.seeds())
                            + " seeds are needed (--seeds)"
                    : "";
        }
        if (!failed.isEmpty()) {
            return "%d of %d seeds failed; the first again: %s"
                    .formatted(failed.size(), tally.seeds(), failed.getFirst().replay());
        }
        return tally.seeds() == 0 ? "no seed was run" : "";
    }

    private void tellSums(PrintWriter out, double seconds) {
        int failed = tally.failed().size();
        out.printf(
                "%s seeds from %d on in %.1f s, %s%n",
                Terminal.count(tally.seeds()),
                firstSeed,
                seconds,
                canary ? "the canary was noticed in " + failed : failed + " failed");
        out.printf(
                "%s messages, %s, %s events, %.0f s of virtual time%n",
                Terminal.count(tally.messages()),
                Terminal.bytes(tally.payloadBytes()),
                Terminal.count(tally.events()),
                tally.simulatedSeconds());
        out.println("hash " + tally.hash());
        if (canary && failed > 0) {
            SwarmOutcome first = tally.failed().getFirst();
            out.println("the first: seed " + first.seed() + ": " + first.objection());
        }
    }

    @Override
    public ObjectNode document() {
        ObjectNode document = Json.object();
        document.put("command", spec.qualifiedName());
        document.put("first_seed", firstSeed);
        document.put("seeds", tally.seeds());
        document.put("seeds_asked_for", seeds);
        document.put("canary", canary);
        document.put("failed", tally.failed().size());
        document.put("hash", tally.hash());
        document.put("messages", tally.messages());
        document.put("payload_bytes", tally.payloadBytes());
        document.put("events", tally.events());
        document.put("simulated_seconds", tally.simulatedSeconds());
        ArrayNode failures = document.putArray("failures");
        for (SwarmOutcome outcome : tally.failed()) {
            ObjectNode failure = failures.addObject();
            failure.put("seed", outcome.seed());
            failure.put("objection", outcome.objection());
            failure.put("replay", outcome.replay());
        }
        return document;
    }

    /** Seeds, from one to as many as an int counts. */
    static final class Count extends Numbers.Whole {
        Count() {
            super(1, Integer.MAX_VALUE);
        }
    }

    /** Threads. */
    static final class Threads extends Numbers.Whole {
        Threads() {
            super(1, 1024);
        }
    }

    /** Minutes, up to a week. */
    static final class Minutes extends Numbers.Decimal {
        Minutes() {
            super("minutes", "0.01", "10080");
        }
    }
}
