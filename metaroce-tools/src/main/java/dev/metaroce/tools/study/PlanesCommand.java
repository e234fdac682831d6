package dev.metaroce.tools.study;

import dev.metaroce.sim.study.PlaneStudy;
import dev.metaroce.sim.study.PlaneStudy.Outcome;
import dev.metaroce.sim.study.PlaneStudy.Sample;
import dev.metaroce.sim.study.PlaneStudy.Setup;
import dev.metaroce.tools.chart.LineChart;
import dev.metaroce.tools.cli.Numbers;

import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

import java.util.List;

/** {@code metaroce study planes}: several networks side by side, and one that dies. */
@Command(
        name = "planes",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        header = "What several planes carry, and what happens when one of them dies.",
        description =
                "Pairs of hosts transfer without end over 1, 2, 4 and 8 planes; then one of eight"
                        + " planes dies and is repaired.")
public final class PlanesCommand extends SeedStudy {
    private static final int[] PLANES = {1, 2, 4, 8};
    private static final int FAILING = 8;

    @Option(
            names = "--pairs",
            paramLabel = "N",
            converter = Pairs.class,
            description = "Hosts that send, each to another, 1..64 (2).")
    private int pairs = 2;

    @Option(
            names = "--paths",
            paramLabel = "N",
            converter = Numbers.Paths.class,
            description =
                    "Most paths of a lease, 1..64 (64: eight for each of eight planes, since a"
                            + " plane with one path has one uplink).")
    private int paths = 64;

    @Override
    void measure(Tables tables, Trials trials) {
        linear(tables, trials);
        failure(tables, trials);
    }

    private void linear(Tables tables, Trials trials) {
        tables.begin("linear", "%d pairs, %d paths; %s".formatted(pairs, paths, conditions()));
        LineChart chart =
                new LineChart("planes-linear", "What planes carry", "planes", "payload [Gb/s]");
        double oneGbps = Double.NaN;
        for (int planes : PLANES) {
            String name = planes == 1 ? "1 plane" : planes + " planes";
            List<Outcome> outcomes = run(name, planes, 0, trials);
            if (outcomes.isEmpty()) {
                return;
            }
            Spread gbps = Spread.of(outcomes, Outcome::healthyGbps);
            oneGbps = planes == 1 ? gbps.median() : oneGbps;
            double ideal = planes * oneGbps;
            point(chart, "measured", planes, gbps);
            chart.point("as many times one plane", planes, ideal);
            tables.add(
                    new Tables.Row(name)
                            .with("goodput_gbps", "Gb/s", gbps)
                            .with("linear_share", "of linear", gbps.median() / ideal));
        }
        draw(chart);
    }

    private void failure(Tables tables, Trials trials) {
        tables.begin(
                "failure",
                "one of %d planes dies for %d round trips, %d pairs, %d paths; %s"
                        .formatted(FAILING, Times.BROKEN, pairs, paths, conditions()));
        String name = "1 of %d dies".formatted(FAILING);
        List<Outcome> outcomes = run(name, FAILING, Times.BROKEN, trials);
        if (outcomes.isEmpty()) {
            return;
        }
        tables.add(
                new Tables.Row(name)
                        .with(
                                "recovery_round_trips",
                                "RTT to 85 %",
                                Spread.of(outcomes, Outcome::recoveryRoundTrips))
                        .with("broken_share", "share", Spread.of(outcomes, Outcome::brokenShare))
                        .with(
                                "lowest_share",
                                "lowest",
                                Spread.of(outcomes, Outcome::lowestShare).min())
                        .with(
                                "repair_us",
                                "repair to full[us]",
                                Spread.of(outcomes, Outcome::repairUs))
                        .with(
                                "reroutes",
                                "reroutes",
                                Spread.of(outcomes, Outcome::reroutes).median())
                        .with("resent", "resent", Spread.of(outcomes, Outcome::resent).median())
                        .with("errors", "errors", sum(outcomes, Outcome::errors)));
        LineChart chart =
                new LineChart(
                                "planes-failure",
                                "One of %d planes dies and is repaired".formatted(FAILING),
                                "time [us]",
                                "payload [Gb/s]")
                        .withoutMarks();
        Outcome first = outcomes.getFirst();
        for (Sample sample : first.samples()) {
            chart.point("seed " + first.setup().seed(), sample.us(), sample.gbps());
        }
        draw(chart);
    }

    private List<Outcome> run(String name, int planes, int brokenRoundTrips, Trials trials) {
        return trials.run(
                name,
                (itsSeed, mayGoOn) ->
                        PlaneStudy.run(
                                new Setup(
                                        itsSeed,
                                        planes,
                                        pairs,
                                        paths,
                                        rateBitsPerSecond,
                                        roundTripPs,
                                        Times.WARM_UP * roundTripPs,
                                        Times.HEALTHY * roundTripPs,
                                        brokenRoundTrips * roundTripPs,
                                        Times.REPAIRED * roundTripPs),
                                mayGoOn));
    }

    /** How long what is, in round trips. */
    private static final class Times {
        static final int WARM_UP = 20;
        static final int HEALTHY = 30;
        static final int BROKEN = 100;
        static final int REPAIRED = 100;
    }

    static final class Pairs extends Numbers.Whole {
        Pairs() {
            super(1, 64);
        }
    }
}
