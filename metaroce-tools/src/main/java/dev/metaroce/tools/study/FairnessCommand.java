package dev.metaroce.tools.study;

import dev.metaroce.sim.study.FairnessStudy;
import dev.metaroce.sim.study.FairnessStudy.Outcome;
import dev.metaroce.sim.study.FairnessStudy.Setup;
import dev.metaroce.tools.cli.ToolException;

import picocli.CommandLine.Command;

import java.util.List;

/** {@code metaroce study fairness}: uneven and impolite surroundings. */
@Command(
        name = "fairness",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        header = "What each sender gets where hosts are not polite or not alike.",
        description =
                "Eight endless flows to one receiver around a switch: a sender that ignores hints,"
                    + " a receiver that tells absurd ones, senders a hundred times as far away as"
                    + " others, links of a quarter and a sixteenth of the rate. Shares are in terms"
                    + " of the max-min fair part of the receiver's line.")
public final class FairnessCommand extends SeedStudy {
    private static final long RATE_MIN = 1_000_000_000;
    private static final long ROUND_TRIP_MIN_PS = 1_000_000;

    @Override
    void check() {
        if (rateBitsPerSecond < RATE_MIN) {
            throw ToolException.usage("--rate: from 1G up");
        }
        if (roundTripPs < ROUND_TRIP_MIN_PS) {
            throw ToolException.usage("--round-trip: from 1us up");
        }
        super.check();
    }

    @Override
    void measure(Tables tables, Trials trials) {
        tables.begin("fairness", "shares of eight senders; " + conditions());
        List<Setup> rows = setups(seed);
        for (int i = 0; i < rows.size(); i++) {
            int row = i;
            String name = name(rows.get(row));
            List<Outcome> outcomes =
                    trials.run(
                            name,
                            (itsSeed, mayGoOn) ->
                                    FairnessStudy.run(setups(itsSeed).get(row), mayGoOn));
            if (outcomes.isEmpty()) {
                break;
            }
            tables.add(row(name, outcomes));
        }
    }

    private List<Setup> setups(long itsSeed) {
        return Setup.all(itsSeed, rateBitsPerSecond, roundTripPs);
    }

    private static String name(Setup setup) {
        return setup.name()
                + switch (setup.told()) {
                    case TRUTH -> "";
                    case NOTHING -> ", no hints";
                    case ZERO -> " tells 0";
                    case ONE_MEGABIT -> " tells 1 Mb/s";
                    case FAR_ABOVE -> " tells 100 x line";
                    case CHANGING -> " tells anything";
                    case ZERO_AT_FIRST -> " told 0 until now";
                };
    }

    private static Tables.Row row(String name, List<Outcome> outcomes) {
        return new Tables.Row(name)
                .with("use", "use", Spread.of(outcomes, Outcome::use).median())
                .with("share_min", "least share", Spread.of(outcomes, Outcome::least).min())
                .with("share_max", "most", Spread.of(outcomes, Outcome::most).max())
                .with(
                        "jain_index_min",
                        "Jain, least",
                        Spread.of(outcomes, Outcome::jainIndex).min())
                .with(
                        "queue_kib",
                        "queue[KiB]",
                        Spread.of(outcomes, o -> o.queueBytesMean() / 1024.0).median())
                .with(
                        "queue_max_kib",
                        "longest",
                        Spread.of(outcomes, o -> o.queueBytesMax() / 1024.0).max())
                .with("lost", "lost", Spread.of(outcomes, Outcome::lost).max())
                .with("beside_use_min", "beside", Spread.of(outcomes, Outcome::besideUse).min());
    }
}
