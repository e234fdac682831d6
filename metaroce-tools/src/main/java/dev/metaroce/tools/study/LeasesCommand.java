package dev.metaroce.tools.study;

import dev.metaroce.sim.study.BusySenders;
import dev.metaroce.sim.study.LeaseLatency;
import dev.metaroce.tools.cli.Choice;
import dev.metaroce.tools.cli.Numbers.Whole;
import dev.metaroce.tools.cli.Output;
import dev.metaroce.tools.cli.Terminal;
import dev.metaroce.tools.cli.ToolException;
import dev.metaroce.tools.sim.Quantity;
import dev.metaroce.transport.ExhaustionPolicy;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

import java.util.List;
import java.util.function.BooleanSupplier;

/** {@code metaroce study leases}: more busy senders than contexts, and what a lease costs. */
@Command(
        name = "leases",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        header = "What happens when senders outnumber contexts, and what a lease costs.",
        description =
                "Lets many busy senders share the contexts of one receiver, once with each policy,"
                        + " and sends one small message with and without a lease at hand.")
public final class LeasesCommand extends Study {
    private static final int MESSAGES_MAX = 20_000_000;

    @Option(
            names = "--senders",
            paramLabel = "N",
            converter = Senders.class,
            description = "Busy senders, 1..100000 (1024).")
    private int senders = 1024;

    @Option(
            names = "--contexts",
            paramLabel = "N",
            converter = Contexts.class,
            description = "Contexts of the receiver, 1..256 (256).")
    private int contexts = 256;

    @Option(
            names = "--backlog",
            paramLabel = "BYTES",
            converter = Quantity.Size.class,
            description = "What each sender has to send, k, M, G: KiB, MiB, GiB (8M).")
    private long backlogBytes = 8 << 20;

    @Option(
            names = "--size",
            paramLabel = "BYTES",
            converter = Quantity.Size.class,
            description = "Of each message (64k).")
    private long messageBytes = 64 << 10;

    @Option(
            names = "--quota",
            paramLabel = "BYTES",
            converter = Quantity.Size.class,
            description = "Bytes after which a lease is asked back while others wait (1M).")
    private long quotaBytes = 1 << 20;

    @Option(
            names = "--quota-time",
            paramLabel = "TIME",
            converter = Quantity.Delay.class,
            description = "Time after which it is, whatever it carried (1ms).")
    private long quotaTimePs = 1_000_000_000;

    @Option(
            names = "--policy",
            paramLabel = "POLICY",
            converter = Policy.class,
            description = "One policy only: queue, deny, preempt (each of them).")
    private @Nullable ExhaustionPolicy policy;

    @Override
    void check() {
        if (backlogBytes < 1 || messageBytes < 1 || quotaBytes < 1) {
            throw ToolException.usage("--backlog, --size and --quota: from 1 byte up");
        }
        if (backlogBytes / messageBytes * senders > MESSAGES_MAX) {
            throw ToolException.usage(
                    "--backlog of %d senders are more than %d messages of --size %d"
                            .formatted(senders, MESSAGES_MAX, messageBytes));
        }
    }

    @Override
    void measure(Output to, Tables tables, BooleanSupplier mayGoOn) {
        tables.begin(
                "busy_senders",
                "%s busy senders, %d contexts, %.0f Gb/s, %.1f us; %s each in messages of %s;"
                                .formatted(
                                        Terminal.count(senders),
                                        contexts,
                                        rateBitsPerSecond / 1e9,
                                        roundTripPs / PS_PER_US,
                                        Terminal.bytes(backlogBytes),
                                        Terminal.bytes(messageBytes))
                        + " quota %s or %.1f us"
                                .formatted(Terminal.bytes(quotaBytes), quotaTimePs / PS_PER_US));
        List<ExhaustionPolicy> policies =
                policy == null ? List.of(ExhaustionPolicy.values()) : List.of(policy);
        double referenceGbps = BusySenders.referenceGbps(setup(policies.getFirst()), mayGoOn);
        for (ExhaustionPolicy each : policies) {
            tables.add(row(BusySenders.run(setup(each), mayGoOn, referenceGbps)));
        }
        tables.begin("latency", "one WRITE of 64 B from posting to completion");
        var latency = new LeaseLatency.Setup(seed, rateBitsPerSecond, roundTripPs, 64);
        for (LeaseLatency.Row row : LeaseLatency.measure(latency)) {
            tables.add(
                    new Tables.Row(row.what())
                            .with("latency_us", "latency[us]", row.latencyUs())
                            .with("round_trips_more", "round trips more", row.roundTrips()));
        }
    }

    private BusySenders.Setup setup(ExhaustionPolicy each) {
        return new BusySenders.Setup(
                seed,
                senders,
                contexts,
                rateBitsPerSecond,
                roundTripPs,
                quotaBytes,
                Math.max(1, quotaTimePs / 1_000),
                backlogBytes,
                messageBytes,
                each);
    }

    private static Tables.Row row(BusySenders.Outcome o) {
        return new Tables.Row(Choice.label(o.setup().policy()))
                .with("goodput_gbps", "Gb/s", o.goodputGbps())
                .with("share", "share", o.share())
                .with("mean_wait_us", "mean wait[us]", o.meanWaitUs())
                .with("longest_wait_us", "longest", o.longestWaitUs())
                .with("waves", "waves", o.waves())
                .with("jain_index", "Jain", o.jainIndex())
                .with("hand_overs", "hand-overs", (double) o.handOvers())
                .with("reclaims", "reclaims", (double) o.reclaims())
                .with("queued", "queued", (double) o.queued())
                .with("denied", "denied", (double) o.denied())
                .with("starved", "starved", o.starved())
                .with("failed", "failed", o.failed());
    }

    static final class Senders extends Whole {
        Senders() {
            super(1, 100_000);
        }
    }

    static final class Contexts extends Whole {
        Contexts() {
            super(1, 256);
        }
    }

    static final class Policy extends Choice<ExhaustionPolicy> {
        Policy() {
            super(ExhaustionPolicy.class);
        }
    }
}
