package dev.metaroce.tools.study;

import dev.metaroce.sim.fabric.LinkFaults.Rates;
import dev.metaroce.sim.study.LossStudy;
import dev.metaroce.sim.study.LossStudy.Outcome;
import dev.metaroce.sim.study.LossStudy.Setup;
import dev.metaroce.sim.study.LossStudy.Traffic;
import dev.metaroce.tools.chart.LineChart;
import dev.metaroce.tools.cli.Choice;
import dev.metaroce.tools.cli.Numbers;
import dev.metaroce.tools.cli.Terminal;
import dev.metaroce.tools.cli.ToolException;
import dev.metaroce.tools.sim.Quantity;
import dev.metaroce.transport.Mechanisms;
import dev.metaroce.wire.Profile;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

import java.math.BigDecimal;
import java.math.MathContext;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** {@code metaroce study loss}: what is left of the speed when packets get lost. */
@Command(
        name = "loss",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        header = "What is left of the speed when packets get lost.",
        description =
                "A transfer with packets, bursts of them, or acknowledgements lost; short ones,"
                        + " whose last packets may be; and collective traffic of 64 hosts. Takes"
                        + " minutes; --seeds 3 is quick and not far off.")
public final class LossCommand extends SeedStudy {
    private static final double[] LOSSES = {0.0001, 0.001, 0.01, 0.02, 0.05, 0.1};
    private static final double[] ANSWER_LOSSES = {0.01, 0.1, 0.5};
    private static final int[] BURSTS = {2, 8, 32};
    private static final double BURST_LOSS = 0.01;
    private static final double LOSS = 0.01;
    private static final long SHORTEST = 4 << 10;
    private static final Rates NONE = Rates.ofLoss(0);

    @Option(
            names = "--size",
            paramLabel = "BYTES",
            converter = Quantity.Size.class,
            description = "Of the transfer, k, M, G: KiB, MiB, GiB (256M).")
    private long bytes = 256L << 20;

    @Option(
            names = "--collective-size",
            paramLabel = "BYTES",
            converter = Quantity.Size.class,
            description = "What each host reduces, or sends to all others together (16M).")
    private long collectiveBytes = 16L << 20;

    @Option(
            names = "--paths",
            paramLabel = "N",
            converter = Numbers.Paths.class,
            description = "Most paths of a lease, 1..64 (8).")
    private int paths = 8;

    @Option(
            names = "--part",
            paramLabel = "PART",
            converter = PartOption.class,
            description = "One part only: random, burst, answer, short, collective (each of them).")
    private @Nullable Part part;

    /** What gets lost, or of what. */
    enum Part {
        RANDOM,
        BURST,
        ANSWER,
        SHORT,
        COLLECTIVE
    }

    /** A kind of transfer, with what it reaches without loss by seed. */
    private static final class Reference {
        private final String name;
        private final Setup setup;
        private final Map<Long, Double> gbps = new HashMap<>();

        Reference(String name, Setup setup, Trials trials) {
            this.name = name;
            this.setup = setup;
            trials.run(
                            name + ", no loss",
                            (seed, mayGoOn) ->
                                    Map.entry(
                                            seed,
                                            LossStudy.referenceGbps(
                                                    of(setup, seed, NONE, NONE), mayGoOn)))
                    .forEach(entry -> gbps.put(entry.getKey(), entry.getValue()));
        }

        List<Outcome> run(String what, Rates data, Rates answers, Trials trials) {
            return trials.run(
                    name + ", " + what,
                    (seed, mayGoOn) ->
                            LossStudy.run(
                                    of(setup, seed, data, answers),
                                    mayGoOn,
                                    gbps.getOrDefault(seed, Double.NaN)));
        }
    }

    @Override
    void check() {
        if (bytes < 1 || collectiveBytes < 1) {
            throw ToolException.usage("--size and --collective-size: from 1 byte up");
        }
        super.check();
    }

    @Override
    void measure(Tables tables, Trials trials) {
        switch (part) {
            case RANDOM -> random(many(trials), tables, trials);
            case BURST -> bursts(many(trials), tables, trials);
            case ANSWER -> answers(many(trials), tables, trials);
            case SHORT -> shortOnes(tables, trials);
            case COLLECTIVE -> collectives(tables, trials);
            case null -> {
                Reference many = many(trials);
                random(many, tables, trials);
                bursts(many, tables, trials);
                answers(many, tables, trials);
                shortOnes(tables, trials);
                collectives(tables, trials);
            }
        }
    }

    private Reference many(Trials trials) {
        return new Reference(
                "%d paths".formatted(paths), transfer(Profile.M, paths, bytes), trials);
    }

    private void random(Reference many, Tables tables, Trials trials) {
        Reference one = new Reference("1 path", transfer(Profile.M, 1, bytes), trials);
        Reference goBack = new Reference("go-back-n", transfer(Profile.S, 1, bytes), trials);
        LineChart chart =
                new LineChart(
                                "loss-goodput",
                                "Goodput of a transfer by random loss",
                                "packets lost, each way [%]",
                                "of the goodput without loss [%]")
                        .logarithmic()
                        .upTo(105);
        for (Reference kind : List.of(many, one, goBack)) {
            random(kind, tables, trials, chart);
        }
        draw(chart);
    }

    private void random(Reference kind, Tables tables, Trials trials, LineChart chart) {
        begin(tables, "random_loss_" + kind.name.replaceAll("\\W", "_"), kind.name, "random loss");
        for (double loss : LOSSES) {
            String row = percent(loss);
            Rates rates = Rates.ofLoss(loss);
            List<Outcome> outcomes = kind.run(row + " loss", rates, rates, trials);
            if (!outcomes.isEmpty()) {
                Spread share = Spread.of(outcomes, o -> 100 * o.share());
                point(chart, kind.name, 100 * loss, share);
                tables.add(
                        row(row, outcomes)
                                .with("allowed_per_needed", "1.02/(1-p)", 1.02 / (1 - loss)));
            }
        }
    }

    private void bursts(Reference kind, Tables tables, Trials trials) {
        begin(tables, "burst_loss", kind.name, "1 % of the packets lost in bursts");
        for (int length : BURSTS) {
            Rates rates = Rates.ofBursts(BURST_LOSS / length, length);
            String row = "bursts of " + length;
            add(tables, row, kind.run(row, rates, rates, trials));
        }
    }

    private void answers(Reference kind, Tables tables, Trials trials) {
        begin(tables, "answer_loss", kind.name, "only acknowledgements lost");
        for (double loss : ANSWER_LOSSES) {
            String row = percent(loss);
            add(tables, row, kind.run(row + " answers", NONE, Rates.ofLoss(loss), trials));
        }
    }

    /** Of these the last packets get lost as often as any, and nothing comes after them. */
    private void shortOnes(Tables tables, Trials trials) {
        tables.begin(
                "short_transfers",
                "short transfers over %d paths, 1 %% loss; %s".formatted(paths, conditions()));
        LineChart chart =
                new LineChart(
                                "loss-short",
                                "Time of short transfers with 1 % loss",
                                "size [KiB]",
                                "time [us]")
                        .logarithmic();
        for (long size = SHORTEST; size <= Math.min(bytes, 1 << 20); size *= 4) {
            String row = Terminal.bytes(size);
            Reference kind = new Reference(row, transfer(Profile.M, paths, size), trials);
            Rates rates = Rates.ofLoss(LOSS);
            List<Outcome> outcomes = kind.run("1 % loss", rates, rates, trials);
            if (outcomes.isEmpty()) {
                return;
            }
            double freeUs = Spread.of(outcomes, o -> o.durationUs() * o.share()).median();
            Spread us = Spread.of(outcomes, Outcome::durationUs);
            chart.point("without loss", size / 1024.0, freeUs);
            chart.point("median", size / 1024.0, us.median());
            chart.point("longest", size / 1024.0, us.max());
            tables.add(
                    new Tables.Row(row)
                            .with("loss_free_us", "no loss[us]", freeUs)
                            .with("duration_us", "time[us]", us)
                            .with("timeouts", "timeouts", sum(outcomes, Outcome::timeouts))
                            .with("probes", "probes", sum(outcomes, Outcome::probes)));
        }
        draw(chart);
    }

    private void collectives(Tables tables, Trials trials) {
        tables.begin(
                "collectives",
                "64 hosts, %s each, 1 %% loss; %s"
                        .formatted(Terminal.bytes(collectiveBytes), conditions()));
        for (Traffic traffic : List.of(Traffic.RING, Traffic.ALL_TO_ALL)) {
            String name = traffic == Traffic.RING ? "ring all-reduce" : "all-to-all";
            Reference kind =
                    new Reference(name, setup(traffic, Profile.M, paths, collectiveBytes), trials);
            Rates rates = Rates.ofLoss(LOSS);
            List<Outcome> outcomes = kind.run("1 % loss", rates, rates, trials);
            if (!outcomes.isEmpty()) {
                tables.add(
                        row(name, outcomes)
                                .with(
                                        "over_loss_free",
                                        "x loss-free",
                                        Spread.of(outcomes, o -> 1 / o.share())));
            }
        }
    }

    private void begin(Tables tables, String name, String kind, String what) {
        tables.begin(
                name,
                "%s of a transfer of %s, %s; %s"
                        .formatted(what, Terminal.bytes(bytes), kind, conditions()));
    }

    private static void add(Tables tables, String name, List<Outcome> outcomes) {
        if (!outcomes.isEmpty()) {
            tables.add(row(name, outcomes));
        }
    }

    private static Tables.Row row(String name, List<Outcome> outcomes) {
        return new Tables.Row(name)
                .with("goodput_gbps", "Gb/s", Spread.of(outcomes, Outcome::goodputGbps).median())
                .with("share", "share", Spread.of(outcomes, Outcome::share))
                .with(
                        "sent_per_needed",
                        "sent/needed",
                        Spread.of(outcomes, Outcome::sentPerNeeded).median())
                .with("spurious", "spurious", Spread.of(outcomes, Outcome::spurious).median())
                .with("timeouts", "timeouts", Spread.of(outcomes, Outcome::timeouts).median())
                .with("reroutes", "reroutes", Spread.of(outcomes, Outcome::reroutes).median())
                .with("failed", "failed", sum(outcomes, Outcome::failed));
    }

    private Setup transfer(Profile profile, int itsPaths, long size) {
        return setup(Traffic.TRANSFER, profile, itsPaths, size);
    }

    private Setup setup(Traffic traffic, Profile profile, int itsPaths, long size) {
        return new Setup(
                seed,
                traffic,
                traffic.usualHosts(),
                profile,
                itsPaths,
                rateBitsPerSecond,
                roundTripPs,
                size,
                NONE,
                NONE,
                Mechanisms.DEFAULT);
    }

    private static Setup of(Setup like, long itsSeed, Rates data, Rates answers) {
        return new Setup(
                itsSeed,
                like.traffic(),
                like.hosts(),
                like.profile(),
                like.paths(),
                like.rateBitsPerSecond(),
                like.roundTripPs(),
                like.bytes(),
                data,
                answers,
                like.mechanisms());
    }

    private static String percent(double share) {
        return "%s %%"
                .formatted(
                        new BigDecimal(100 * share)
                                .round(new MathContext(3))
                                .stripTrailingZeros()
                                .toPlainString());
    }

    static final class PartOption extends Choice<Part> {
        PartOption() {
            super(Part.class);
        }
    }
}
