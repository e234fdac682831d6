package dev.metaroce.tools.study;

import dev.metaroce.sim.study.AblationStudy;
import dev.metaroce.sim.study.AblationStudy.Outcome;
import dev.metaroce.sim.study.AblationStudy.Scenario;
import dev.metaroce.sim.study.AblationStudy.Setup;
import dev.metaroce.sim.study.AblationStudy.Variant;
import dev.metaroce.tools.chart.BarChart;
import dev.metaroce.tools.chart.LineChart;
import dev.metaroce.tools.cli.Choice;
import dev.metaroce.tools.cli.Terminal;
import dev.metaroce.tools.cli.ToolException;
import dev.metaroce.tools.sim.Quantity;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

import java.util.List;

/** {@code metaroce study ablation}: what each mechanism earns. */
@Command(
        name = "ablation",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        header = "What each mechanism earns.",
        description =
                "Five tasks, each first with everything as specified and then with one mechanism"
                    + " left out or replaced: a transfer with 1 %% loss and with 10 %%, an incast"
                    + " of 64, a permutation of 64 hosts, and transfers over eight planes one of"
                    + " which dies. Takes minutes; --seeds 3 is quick and not far off.")
public final class AblationCommand extends SeedStudy {
    @Option(
            names = "--task",
            paramLabel = "TASK",
            converter = Task.class,
            description =
                    "One task only: loss, heavy_loss, incast, permutation, plane (each of them).")
    private @Nullable Scenario task;

    @Option(
            names = "--size",
            paramLabel = "BYTES",
            converter = Quantity.Size.class,
            description = "Of each transfer (incast 1M, permutation 2M, others 64M).")
    private @Nullable Long bytes;

    @Override
    void check() {
        if (bytes != null && bytes < 1) {
            throw ToolException.usage("--size: from 1 byte up");
        }
        super.check();
    }

    @Override
    void measure(Tables tables, Trials trials) {
        LineChart paths =
                new LineChart(
                                "ablation-paths",
                                "What many paths earn",
                                "paths",
                                "payload rate, % of what the line carries")
                        .logarithmic()
                        .upTo(105);
        for (Scenario each : task == null ? Scenario.values() : new Scenario[] {task}) {
            measure(each, tables, trials, paths);
        }
        draw(paths);
    }

    private void measure(Scenario scenario, Tables tables, Trials trials, LineChart paths) {
        long size = bytes == null ? scenario.usualBytes() : bytes;
        String what = title(scenario, size);
        String name = Choice.label(scenario);
        tables.begin(name, what + "; " + conditions());
        BarChart chart =
                new BarChart(
                        "ablation-" + name.replace('_', '-'),
                        what,
                        "payload rate, % of what the line carries");
        double baseUs = Double.NaN;
        for (Variant variant : AblationStudy.variants()) {
            List<Outcome> outcomes =
                    trials.run(
                            name + ", " + variant.name(),
                            (seed, mayGoOn) ->
                                    AblationStudy.run(
                                            setup(seed, scenario, variant, size), mayGoOn));
            if (outcomes.isEmpty()) {
                break;
            }
            Spread last = Spread.of(outcomes, Outcome::lastUs);
            baseUs = variant.equals(Variant.BASE) ? last.median() : baseUs;
            tables.add(row(variant.name(), outcomes, last, baseUs));
            double percent = 100 * Spread.of(outcomes, Outcome::share).median();
            chart.bar(variant.name(), "", percent);
            if (variant.isOnlyOfPaths()) {
                paths.point(name.replace('_', ' '), variant.paths(), percent);
            }
            if (variant.equals(Variant.BASE)) {
                chart.reference(percent);
            }
        }
        draw(chart);
    }

    private Setup setup(long seed, Scenario scenario, Variant variant, long size) {
        return new Setup(seed, scenario, variant, rateBitsPerSecond, roundTripPs, size);
    }

    private static String title(Scenario scenario, long size) {
        String bytes = Terminal.bytes(size);
        return switch (scenario) {
            case LOSS -> "a transfer of " + bytes + " with 1 % loss";
            case HEAVY_LOSS -> "a transfer of " + bytes + " with 10 % loss";
            case INCAST -> "64 hosts send " + bytes + " to one";
            case PERMUTATION -> "64 hosts send " + bytes + " to one other each";
            case PLANE -> "two transfers of " + bytes + " over 8 planes, one of which dies";
        };
    }

    private static Tables.Row row(
            String name, List<Outcome> outcomes, Spread lastUs, double baseUs) {
        return new Tables.Row(name)
                .with("goodput_gbps", "Gb/s", Spread.of(outcomes, Outcome::goodputGbps).median())
                .with("share", "share", Spread.of(outcomes, Outcome::share))
                .with("last_us", "last[us]", lastUs.median())
                .with("over_base", "x base", lastUs.median() / baseUs)
                .with(
                        "queue_max_kib",
                        "queue[KiB]",
                        Spread.of(outcomes, o -> o.queueBytesMax() / 1024.0).median())
                .with(
                        "sent_per_needed",
                        "sent/needed",
                        Spread.of(outcomes, Outcome::sentPerNeeded).median())
                .with("resent", "resent", Spread.of(outcomes, Outcome::resent).median())
                .with("failed", "failed", sum(outcomes, Outcome::failed));
    }

    static final class Task extends Choice<Scenario> {
        Task() {
            super(Scenario.class);
        }
    }
}
