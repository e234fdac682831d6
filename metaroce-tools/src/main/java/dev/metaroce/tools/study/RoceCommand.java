package dev.metaroce.tools.study;

import dev.metaroce.congestion.DcqcnSettings;
import dev.metaroce.rocev2.GoBackN;
import dev.metaroce.sim.run.NicModel;
import dev.metaroce.sim.study.ContextStudy;
import dev.metaroce.sim.study.DcqcnStudy;
import dev.metaroce.sim.study.GoBackNStudy;
import dev.metaroce.sim.study.GoBackNStudy.Timer;
import dev.metaroce.sim.study.GoBackNStudy.Way;
import dev.metaroce.sim.study.PfcStudy;
import dev.metaroce.sim.study.PfcStudy.Operation;
import dev.metaroce.tools.chart.LineChart;
import dev.metaroce.tools.cli.Choice;
import dev.metaroce.tools.cli.Numbers;
import dev.metaroce.tools.cli.ToolException;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

import java.util.ArrayList;
import java.util.List;

/** {@code metaroce study rocev2}: the baseline as operators run it. */
@Command(
        name = "rocev2",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        header = "RoCEv2: loss and Go-Back-N, PFC and its victims, DCQCN, contexts of NICs.",
        description =
                "What RoCEv2 does in the simulator, beside published laws and figures. Four parts:"
                        + " loss (Go-Back-N against its laws), pfc (an incast with and"
                        + " without pauses and marks), dcqcn (two flows at one port), contexts"
                        + " (queue pairs and the cache of a NIC).")
public final class RoceCommand extends SeedStudy {
    private static final List<Double> LOSSES = List.of(0.001, 0.01, 0.05, 0.1);
    private static final List<Integer> PACKETS = List.of(32, 108, 256);
    private static final List<Integer> QUEUE_PAIRS =
            List.of(140, 500, 1000, 1500, 2240, 4000, 8000);
    private static final int LINKS_THERE_AND_BACK = 8;
    private static final int SENDERS = 64;
    private static final int SAMPLES = 200;
    private static final long MS = 1_000_000_000L;
    private static final long PFC_SPAN_PS = 50 * MS;

    private static final int NEEDED_PACKETS = 200_000;

    /** What can be measured apart. */
    enum Part {
        LOSS,
        PFC,
        DCQCN,
        CONTEXTS
    }

    @Option(
            names = "--part",
            paramLabel = "loss|pfc|dcqcn|contexts",
            converter = PartOption.class,
            description = "Only this part (all).")
    private @Nullable Part part;

    @Option(
            names = "--packets",
            paramLabel = "N",
            converter = Needed.class,
            description = "Packets that a lossy transfer delivers, 1000..1000000000 (200000).")
    private int neededPackets = NEEDED_PACKETS;

    @Override
    void check() {
        if (rateBitsPerSecond < DcqcnSettings.published().minBitsPerSecond()) {
            throw ToolException.usage("--rate: from 100M up, which is the least rate of DCQCN");
        }
        super.check();
    }

    @Override
    void measure(Tables tables, Trials trials) {
        if (has(Part.LOSS)) {
            loss(tables, trials);
        }
        if (has(Part.PFC)) {
            pfc(tables, trials);
        }
        if (has(Part.DCQCN)) {
            dcqcn(tables, trials);
        }
        if (has(Part.CONTEXTS)) {
            contexts(tables, trials);
        }
    }

    private boolean has(Part asked) {
        return part == null || part == asked;
    }

    /** A table and a chart of losses. */
    private record LossCase(String table, String name, GoBackN trigger, Way way, Timer timer) {
        GoBackNStudy.Setup setup(long seed, int packets, double loss, int needed) {
            return new GoBackNStudy.Setup(seed, trigger, way, timer, packets, loss, needed);
        }
    }

    private static final List<LossCase> LOSS_CASES =
            List.of(
                    new LossCase(
                            "repaired_whole_window",
                            "repaired, a window on the way",
                            GoBackN.REPAIRED,
                            Way.WHOLE_WINDOW,
                            Timer.LONG),
                    new LossCase(
                            "repaired_half_window",
                            "repaired, half a window on the way",
                            GoBackN.REPAIRED,
                            Way.HALF_WINDOW,
                            Timer.LONG),
                    new LossCase(
                            "naive_whole_window",
                            "naive, a window on the way, short timer",
                            GoBackN.NAIVE,
                            Way.WHOLE_WINDOW,
                            Timer.SHORT),
                    new LossCase(
                            "naive_half_window",
                            "naive, half a window on the way, short timer",
                            GoBackN.NAIVE,
                            Way.HALF_WINDOW,
                            Timer.SHORT),
                    new LossCase(
                            "naive_long_timer",
                            "naive, a window on the way, timer of 8.4 ms",
                            GoBackN.NAIVE,
                            Way.WHOLE_WINDOW,
                            Timer.LONG));

    private void loss(Tables tables, Trials trials) {
        for (LossCase each : LOSS_CASES) {
            tables.begin(
                    each.table(), "Go-Back-N %s; %d packets".formatted(each.name(), neededPackets));
            LineChart chart =
                    new LineChart(
                                    "rocev2-" + each.table().replace('_', '-'),
                                    "Go-Back-N under loss: " + each.name(),
                                    "loss [%]",
                                    "% of goodput without loss")
                            .logarithmic();
            for (int packets : PACKETS) {
                for (double loss : LOSSES) {
                    GoBackNStudy.Setup one = each.setup(seed, packets, loss, neededPackets);
                    List<GoBackNStudy.Outcome> outcomes =
                            trials.run(
                                    "%s, %d packets, %.1f %%"
                                            .formatted(each.name(), packets, 100 * loss),
                                    (s, mayGoOn) -> GoBackNStudy.run(one.withSeed(s), mayGoOn));
                    if (outcomes.isEmpty()) {
                        return;
                    }
                    tables.add(lossRow(one, outcomes));
                    Spread share = Spread.of(outcomes, o -> 100 * o.efficiency());
                    point(chart, packets + " packets", 100 * loss, share);
                    chart.point(packets + ", law", 100 * loss, 100 * one.law());
                }
            }
            draw(chart);
        }
    }

    private static Tables.Row lossRow(
            GoBackNStudy.Setup setup, List<GoBackNStudy.Outcome> outcomes) {
        Spread share = Spread.of(outcomes, GoBackNStudy.Outcome::efficiency);
        return new Tables.Row("%d packets, %.1f %%".formatted(setup.packets(), 100 * setup.loss()))
                .with("efficiency", "share", share)
                .with("law", "law", setup.law())
                .with("of_law", "of law", share.median() / setup.law())
                .with("exact_law", "exact", setup.exactLaw())
                .with("of_exact_law", "of that", share.median() / setup.exactLaw())
                .with(
                        "timeouts",
                        "timeouts",
                        Spread.of(outcomes, GoBackNStudy.Outcome::timeouts).median())
                .with("failed", "failed", sum(outcomes, GoBackNStudy.Outcome::failed));
    }

    private void pfc(Tables tables, Trials trials) {
        tables.begin(
                "pfc",
                "%d to 1 without end, and a victim beside it; %s".formatted(SENDERS, conditions()));
        for (Operation operation : Operation.values()) {
            String name = Choice.label(operation).replace("_", " + ");
            List<PfcStudy.Outcome> outcomes =
                    trials.run(
                            "pfc, " + name,
                            (s, mayGoOn) ->
                                    PfcStudy.run(
                                            new PfcStudy.Setup(
                                                    s,
                                                    operation,
                                                    SENDERS,
                                                    rateBitsPerSecond,
                                                    roundTripPs / LINKS_THERE_AND_BACK,
                                                    PFC_SPAN_PS),
                                            mayGoOn));
            if (outcomes.isEmpty()) {
                return;
            }
            tables.add(
                    new Tables.Row(name)
                            .with("start_gbps", "start[Gb/s]", median(outcomes, o -> o.startGbps()))
                            .with(
                                    "start_victim_gbps",
                                    "victim",
                                    median(outcomes, o -> o.startVictimGbps()))
                            .with("gbps", "then[Gb/s]", median(outcomes, o -> o.gbps()))
                            .with("victim_gbps", "victim", median(outcomes, o -> o.victimGbps()))
                            .with("dropped", "dropped", median(outcomes, o -> o.dropped()))
                            .with("resent", "resent", median(outcomes, o -> o.resent()))
                            .with("timeouts", "timeouts", median(outcomes, o -> o.timeouts()))
                            .with("cnps", "CNPs", median(outcomes, o -> o.cnps()))
                            .with("pauses", "pauses", median(outcomes, o -> o.pauses()))
                            .with(
                                    "spine_paused_share",
                                    "spine",
                                    median(outcomes, o -> o.spinePausedShare()))
                            .with(
                                    "leaf_paused_share",
                                    "leaf",
                                    median(outcomes, o -> o.leafPausedShare()))
                            .with(
                                    "host_paused_share",
                                    "host",
                                    median(outcomes, o -> o.hostPausedShare())));
        }
    }

    private static <T> double median(
            List<T> outcomes, java.util.function.ToDoubleFunction<T> quantity) {
        return Spread.of(outcomes, quantity).median();
    }

    /** Constants with a name. */
    private record Constants(String name, DcqcnSettings settings) {}

    private void dcqcn(Tables tables, Trials trials) {
        tables.begin(
                "dcqcn", "two flows at one port, the second 1 ms after the first; " + conditions());
        List<Constants> all =
                List.of(
                        new Constants("published", DcqcnSettings.published()),
                        new Constants("reference", DcqcnSettings.reference()));
        for (Constants constants : all) {
            List<DcqcnStudy.Outcome> outcomes =
                    trials.run(
                            "dcqcn, " + constants.name(),
                            (s, mayGoOn) ->
                                    DcqcnStudy.run(
                                            new DcqcnStudy.Setup(
                                                    s,
                                                    constants.settings(),
                                                    rateBitsPerSecond,
                                                    roundTripPs / 4,
                                                    true,
                                                    MS,
                                                    SAMPLES),
                                            mayGoOn));
            if (outcomes.isEmpty()) {
                return;
            }
            tables.add(dcqcnRow(constants.name(), outcomes));
            LineChart chart =
                    new LineChart(
                                    "rocev2-dcqcn-" + constants.name(),
                                    "Two flows under DCQCN, constants: " + constants.name(),
                                    "time [ms]",
                                    "payload [Gb/s]")
                            .withoutMarks();
            for (DcqcnStudy.Sample sample : outcomes.getFirst().samples()) {
                chart.point("first", sample.ms(), sample.firstGbps());
                chart.point("second", sample.ms(), sample.secondGbps());
            }
            draw(chart);
        }
    }

    private static Tables.Row dcqcnRow(String name, List<DcqcnStudy.Outcome> outcomes) {
        List<Double> shares = new ArrayList<>();
        for (DcqcnStudy.Outcome outcome : outcomes) {
            shares.add(outcome.firstShare());
            shares.add(outcome.secondShare());
        }
        return new Tables.Row(name)
                .with("reached_ms", "reached[ms]", Spread.of(outcomes, o -> o.reachedMs()))
                .with("fair_share", "of C/2", Spread.of(shares, s -> s))
                .with("cnps", "CNPs", median(outcomes, o -> o.cnps()))
                .with("pauses", "pauses", median(outcomes, o -> o.pauses()))
                .with("dropped", "dropped", median(outcomes, o -> o.dropped()))
                .with(
                        "queue_max_kib",
                        "queue[KiB]",
                        median(outcomes, o -> o.queueBytesMax() / 1024.0));
    }

    private void contexts(Tables tables, Trials trials) {
        NicModel nic = NicModel.published();
        tables.begin(
                "contexts",
                "queue pairs asked at random, a NIC with room for %d".formatted(nic.contexts()));
        LineChart chart =
                new LineChart(
                                "rocev2-contexts",
                                "What a NIC takes from many queue pairs",
                                "queue pairs",
                                "requests [M/s]")
                        .logarithmic();
        for (int queuePairs : QUEUE_PAIRS) {
            List<ContextStudy.Outcome> outcomes =
                    trials.run(
                            queuePairs + " queue pairs",
                            (s, mayGoOn) ->
                                    ContextStudy.run(
                                            new ContextStudy.Setup(s, queuePairs, nic), mayGoOn));
            if (outcomes.isEmpty()) {
                return;
            }
            Spread rate = Spread.of(outcomes, o -> o.requestsPerSecond() / 1e6);
            double law = new ContextStudy.Setup(seed, queuePairs, nic).law() / 1e6;
            point(chart, "measured", queuePairs, rate);
            chart.point("law", queuePairs, law);
            tables.add(
                    new Tables.Row("%d".formatted(queuePairs))
                            .with("miss_share", "missed", median(outcomes, o -> o.missShare()))
                            .with("million_requests_per_second", "M/s", rate)
                            .with("law_million_requests_per_second", "law", law)
                            .with(
                                    "table_bytes",
                                    "table[B]",
                                    median(outcomes, o -> o.tableBytes())));
        }
        draw(chart);
    }

    static final class PartOption extends Choice<Part> {
        PartOption() {
            super(Part.class);
        }
    }

    static final class Needed extends Numbers.Whole {
        Needed() {
            super(1_000, 1_000_000_000);
        }
    }
}
