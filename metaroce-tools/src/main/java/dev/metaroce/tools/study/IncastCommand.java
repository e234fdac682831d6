package dev.metaroce.tools.study;

import dev.metaroce.sim.run.SimConfig;
import dev.metaroce.sim.study.IncastStudy;
import dev.metaroce.sim.study.IncastStudy.Outcome;
import dev.metaroce.sim.study.IncastStudy.Setup;
import dev.metaroce.tools.chart.LineChart;
import dev.metaroce.tools.cli.Numbers;
import dev.metaroce.tools.cli.Terminal;
import dev.metaroce.tools.cli.ToolException;
import dev.metaroce.tools.sim.Quantity;

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
                        + " hints, without them, and with hints where no switch marks packets."
                        + " Beside it a victim: a flow to another host of the receiver's leaf.")
public final class IncastCommand extends SeedStudy {
    private static final int LINKS_THERE_AND_BACK = 8;

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

    /** Which of the two that hold senders back are there. */
    private record Kind(String table, String name, boolean hints, boolean marks) {}

    private static final List<Kind> KINDS =
            List.of(
                    new Kind("hints", "hints", true, true),
                    new Kind("no_hints", "no hints", false, true),
                    new Kind("no_ecn", "hints, no ECN", true, false));

    @Override
    void check() {
        if (bytes < 1) {
            throw ToolException.usage("--size: from 1 byte up");
        }
        super.check();
    }

    @Override
    void measure(Tables tables, Trials trials) {
        LineChart last =
                chart(
                        "incast-last",
                        "Last finish of an incast",
                        "of bytes / rate + round trip [%]");
        LineChart queue = chart("incast-queue", "Longest queue of an incast", "queue [KiB]");
        LineChart victim =
                chart("incast-victim", "A flow beside an incast", "of what it carries alone [%]")
                        .upTo(105);
        for (Kind kind : KINDS) {
            tables.begin(
                    kind.table(),
                    "%s: %s from each sender; %s"
                            .formatted(kind.name(), Terminal.bytes(bytes), conditions()));
            for (int count : senders) {
                String row = Terminal.count(count) + " to 1";
                List<Outcome> outcomes =
                        trials.run(
                                kind.name() + ", " + row,
                                (seed, mayGoOn) ->
                                        IncastStudy.run(setup(seed, count, kind), mayGoOn));
                List<Double> shares =
                        trials.run(
                                kind.name() + ", " + row + ", victim",
                                (seed, mayGoOn) ->
                                        IncastStudy.victimShare(setup(seed, count, kind), mayGoOn));
                if (outcomes.isEmpty()) {
                    break;
                }
                Spread over = Spread.of(outcomes, o -> 100 * o.overBound());
                Spread share = Spread.of(shares, s -> 100 * s);
                Spread longest = Spread.of(outcomes, o -> o.queueBytesMax() / 1024.0);
                point(last, kind.name(), count, over);
                point(queue, kind.name(), count, longest);
                point(victim, kind.name(), count, share);
                tables.add(row(row, outcomes, shares));
            }
        }
        draw(last);
        draw(queue);
        draw(victim);
    }

    private static LineChart chart(String name, String title, String y) {
        return new LineChart(name, title, "senders", y).logarithmic();
    }

    private Setup setup(long itsSeed, int count, Kind kind) {
        return new Setup(
                itsSeed,
                count,
                bytes,
                rateBitsPerSecond,
                roundTripPs / LINKS_THERE_AND_BACK,
                SimConfig.limits(kind.hints() ? rateBitsPerSecond : 0),
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
                        Spread.of(outcomes, o -> o.queueBytesMax() / 1024.0).max())
                .with(
                        "marked_round_trips",
                        "marked[RTT]",
                        Spread.of(outcomes, IncastCommand::markedRoundTrips).median())
                .with("lost_early", "lost early", Spread.of(outcomes, Outcome::lostEarly).median())
                .with("lost_later", "later", Spread.of(outcomes, Outcome::lostLater).median())
                .with("victim_share_min", "victim, least", Spread.of(shares, s -> s).min())
                .with("failed", "failed", outcomes.stream().mapToInt(Outcome::failed).sum());
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
