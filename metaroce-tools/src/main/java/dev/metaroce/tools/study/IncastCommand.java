package dev.metaroce.tools.study;

import dev.metaroce.congestion.CongestionAlgorithm;
import dev.metaroce.sim.run.SimConfig;
import dev.metaroce.sim.study.IncastStudy;
import dev.metaroce.sim.study.IncastStudy.Outcome;
import dev.metaroce.sim.study.IncastStudy.Setup;
import dev.metaroce.sim.study.Newcomers;
import dev.metaroce.tools.chart.LineChart;
import dev.metaroce.tools.cli.Numbers;
import dev.metaroce.tools.cli.Terminal;
import dev.metaroce.tools.cli.ToolException;
import dev.metaroce.tools.sim.Quantity;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.transport.Mechanisms;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

import java.util.List;

/** {@code metaroce study incast}: many senders to one receiver at once. */
@Command(
        name = "incast",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        header = "What happens when many hosts send to one at once.",
        description =
                "So many senders start at once with a message each, on a leaf-spine network; with"
                    + " hints, without them, and with hints where no switch marks packets. Beside"
                    + " it a victim: a flow to another host of the receiver's leaf. Then four"
                    + " senders around one switch that come one after the other.")
public final class IncastCommand extends SeedStudy {
    private static final int LINKS_THERE_AND_BACK = 8;
    private static final double KIB = 1024;
    private static final int NEWCOMERS = 4;
    private static final long NEWCOMER_BYTES = 8 << 20;
    private static final int GAP_ROUND_TRIPS = 10;

    @Option(
            names = "--senders",
            paramLabel = "N",
            split = ",",
            converter = Senders.class,
            description = "Numbers of senders, each 1..10000 (8,64,256,1000).")
    private List<Integer> senders = List.of(8, 64, 256, 1000);

    @Option(
            names = "--size",
            paramLabel = "BYTES",
            converter = Quantity.Size.class,
            description = "What each of them sends (1M).")
    private long bytes = 1 << 20;

    @Option(
            names = "--quota",
            paramLabel = "BYTES",
            converter = Quantity.Size.class,
            description =
                    "After which a sender has to give way while others wait for a context (a third"
                            + " of the size).")
    private @Nullable Long quotaBytes;

    /** What holds senders back. */
    private record Kind(
            String table, String name, boolean hints, boolean marks, Mechanisms mechanisms) {
        Kind(String table, String name, boolean hints, boolean marks) {
            this(table, name, hints, marks, Mechanisms.DEFAULT);
        }
    }

    private static final Kind HINTS = new Kind("hints", "hints", true, true);
    private static final Kind NO_HINTS = new Kind("no_hints", "no hints", false, true);

    private static final List<Kind> KINDS =
            List.of(HINTS, NO_HINTS, new Kind("no_ecn", "hints, no ECN", true, false));

    private static final List<Kind> NEWCOMER_KINDS =
            List.of(
                    HINTS,
                    NO_HINTS,
                    new Kind(
                            "nscc",
                            "NSCC, no hints",
                            false,
                            true,
                            Mechanisms.DEFAULT.with(CongestionAlgorithm.NSCC)));

    @Override
    void check() {
        if (bytes < 1) {
            throw ToolException.usage("--size: from 1 byte up");
        }
        if (quotaBytes != null && quotaBytes < 1) {
            throw ToolException.usage("--quota: from 1 byte up");
        }
        super.check();
    }

    @Override
    void measure(Tables tables, Trials trials) {
        LineChart last =
                chart("incast-last", "Last finish of an incast", "% of bytes / rate + RTT");
        LineChart queue = chart("incast-queue", "Longest queue of an incast", "queue [KiB]");
        LineChart victim =
                chart("incast-victim", "A flow beside an incast", "% of what it carries alone")
                        .upTo(105);
        for (Kind kind : KINDS) {
            tables.begin(
                    kind.table(),
                    "%s: %s from each sender; %s"
                            .formatted(kind.name(), Terminal.bytes(bytes), conditions()));
            for (int count : senders) {
                String row = Terminal.count(count) + " to 1";
                String what = kind.name() + ", " + row;
                List<Outcome> outcomes =
                        trials.run(
                                what,
                                (s, mayGoOn) -> IncastStudy.run(setup(s, count, kind), mayGoOn));
                List<Double> shares =
                        trials.run(
                                what + ", victim",
                                (s, mayGoOn) ->
                                        IncastStudy.victimShare(setup(s, count, kind), mayGoOn));
                if (outcomes.isEmpty()) {
                    break;
                }
                point(last, kind.name(), count, Spread.of(outcomes, o -> 100 * o.overBound()));
                point(queue, kind.name(), count, Spread.of(outcomes, IncastCommand::queueKib));
                point(victim, kind.name(), count, Spread.of(shares, s -> 100 * s));
                tables.add(row(row, outcomes, shares));
            }
        }
        draw(last);
        draw(queue);
        draw(victim);
        newcomers(tables, trials);
    }

    private void newcomers(Tables tables, Trials trials) {
        tables.begin(
                "newcomers",
                "%d senders of %s come every %d round trips; %s"
                        .formatted(
                                NEWCOMERS,
                                Terminal.bytes(NEWCOMER_BYTES),
                                GAP_ROUND_TRIPS,
                                conditions()));
        LineChart queue =
                overTime("newcomers-queue", "Queue of the receiver's port", "queue [KiB]");
        LineChart window =
                overTime("newcomers-window", "Window of the first sender", "all paths [KiB]");
        for (Kind kind : NEWCOMER_KINDS) {
            List<Newcomers.Outcome> outcomes =
                    trials.run(
                            "newcomers, " + kind.name(),
                            (itsSeed, mayGoOn) -> Newcomers.run(newcomers(itsSeed, kind), mayGoOn));
            if (outcomes.isEmpty()) {
                return;
            }
            tables.add(
                    new Tables.Row(kind.name())
                            .with("last_us", "last[us]", Spread.of(outcomes, o -> o.lastUs()))
                            .with(
                                    "queue_max_kib",
                                    "queue[KiB]",
                                    Spread.of(outcomes, o -> o.queueBytesMax() / KIB))
                            .with("failed", "failed", sum(outcomes, o -> o.failed())));
            LineChart rates =
                    overTime(
                            "newcomers-" + kind.table().replace('_', '-'),
                            "Newcomers: " + kind.name(),
                            "payload [Gb/s]");
            for (Newcomers.Sample sample : outcomes.getFirst().samples()) {
                for (int i = 0; i < NEWCOMERS; i++) {
                    rates.point("sender " + (i + 1), sample.us(), sample.gbps().get(i));
                }
                queue.point(kind.name(), sample.us(), sample.queueBytes() / KIB);
                window.point(kind.name(), sample.us(), sample.windowBytes() / KIB);
            }
            draw(rates);
        }
        draw(queue);
        draw(window);
    }

    private Newcomers.Setup newcomers(long itsSeed, Kind kind) {
        return new Newcomers.Setup(
                itsSeed,
                NEWCOMERS,
                NEWCOMER_BYTES,
                GAP_ROUND_TRIPS * roundTripPs,
                rateBitsPerSecond,
                roundTripPs,
                kind.hints(),
                kind.mechanisms());
    }

    private static LineChart overTime(String name, String title, String y) {
        return new LineChart(name, title, "time [us]", y).withoutMarks();
    }

    private static double queueKib(Outcome outcome) {
        return outcome.queueBytesMax() / KIB;
    }

    private static LineChart chart(String name, String title, String y) {
        return new LineChart(name, title, "senders", y).logarithmic();
    }

    private Setup setup(long itsSeed, int count, Kind kind) {
        DeviceLimits limits =
                SimConfig.limits(kind.hints() ? rateBitsPerSecond : 0).toBuilder()
                        .quotaBytes(quotaBytes == null ? Math.max(1, bytes / 3) : quotaBytes)
                        .build();
        return new Setup(
                itsSeed,
                count,
                bytes,
                rateBitsPerSecond,
                roundTripPs / LINKS_THERE_AND_BACK,
                limits,
                kind.marks());
    }

    private static Tables.Row row(String name, List<Outcome> outcomes, List<Double> shares) {
        return new Tables.Row(name)
                .with("last_us", "last[us]", Spread.of(outcomes, Outcome::lastUs).median())
                .with("over_bound", "x bound", Spread.of(outcomes, Outcome::overBound))
                .with(
                        "jain_index_min",
                        "Jain, least",
                        Spread.of(outcomes, Outcome::jainIndex).min())
                .with(
                        "queue_max_kib",
                        "queue[KiB]",
                        Spread.of(outcomes, IncastCommand::queueKib).max())
                .with(
                        "marked_round_trips",
                        "marked[RTT]",
                        Spread.of(outcomes, IncastCommand::markedRoundTrips).median())
                .with("lost_early", "lost early", Spread.of(outcomes, Outcome::lostEarly).median())
                .with("lost_later", "later", Spread.of(outcomes, Outcome::lostLater).median())
                .with("victim_share_min", "victim, least", Spread.of(shares, s -> s).min())
                .with("failed", "failed", sum(outcomes, Outcome::failed));
    }

    private static double markedRoundTrips(Outcome outcome) {
        return outcome.markedUs() * PS_PER_US / outcome.setup().roundTripPs();
    }

    static final class Senders extends Numbers.Whole {
        Senders() {
            super(1, 10_000);
        }
    }
}
