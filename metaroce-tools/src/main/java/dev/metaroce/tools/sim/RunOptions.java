package dev.metaroce.tools.sim;

import dev.metaroce.tools.cli.Numbers.Whole;
import dev.metaroce.tools.cli.ToolException;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Option;
import picocli.CommandLine.TypeConversionException;

import java.util.ArrayList;
import java.util.List;

/** How often and how long it is simulated. */
final class RunOptions {
    @Option(
            names = "--seed",
            paramLabel = "N",
            description = "Seed of everything random; the same seed gives the same run (1).")
    long seed = 1;

    @Option(
            names = "--seeds",
            paramLabel = "N",
            converter = Seeds.class,
            description = "Run N times, with the seeds from --seed on, 1..1000000; a line each.")
    @Nullable Integer seeds;

    @Option(
            names = "--threads",
            paramLabel = "N",
            converter = Threads.class,
            description =
                    "With --seeds or --sweep: simulations at a time, one thread each, 1..1024; the"
                            + " results do not depend on it (1).")
    int threads = 1;

    @Option(
            names = "--sweep",
            paramLabel = "N,...",
            arity = "0..1",
            fallbackValue = "1,10,100,1000,10000,100000",
            description =
                    "In place of a workload: for each N, so many hosts send one message to one"
                            + " target, 1..199999 (1,10,100,1000,10000,100000).")
    @Nullable String sweep;

    @Option(
            names = "--max-time",
            paramLabel = "TIME",
            converter = Quantity.Delay.class,
            description = "End after so much simulated time, up to 1000s (no end).")
    @Nullable Long maxTimePs;

    @Option(
            names = "--patience",
            paramLabel = "TIME",
            converter = Quantity.Delay.class,
            description =
                    "End when for so much simulated time no payload arrived and no flow ended,"
                            + " 1us..1000s (10s).")
    long patiencePs = 10_000_000_000_000L;

    void check() {
        if (seeds != null && sweep != null) {
            throw ToolException.usage("--seeds and --sweep exclude each other: give one of them");
        }
        if (threads > 1 && seeds == null && sweep == null) {
            throw ToolException.usage(
                    "--threads "
                            + threads
                            + ": one simulation is one thread; it is for --seeds and --sweep");
        }
        if (patiencePs < 1_000_000) {
            throw ToolException.usage("--patience: shorter than 1us: nothing can happen in it");
        }
    }

    /** The numbers of senders of a sweep. */
    static List<Integer> senders(String text) {
        List<Integer> counts = new ArrayList<>();
        for (String word : text.split(",", -1)) {
            try {
                counts.add(new Senders().convert(word));
            } catch (TypeConversionException e) {
                throw ToolException.usage("--sweep: " + e.getMessage());
            }
        }
        return counts;
    }

    static final class Seeds extends Whole {
        Seeds() {
            super(1, 1_000_000);
        }
    }

    static final class Threads extends Whole {
        Threads() {
            super(1, 1024);
        }
    }

    private static final class Senders extends Whole {
        Senders() {
            super(1, 199_999);
        }
    }
}
