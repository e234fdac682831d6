package dev.metaroce.tools.sim;

import dev.metaroce.congestion.CongestionAlgorithm;
import dev.metaroce.path.PathStrategy;
import dev.metaroce.tools.cli.Choice;
import dev.metaroce.transport.Mechanisms;

import picocli.CommandLine.Option;

import java.util.ArrayList;
import java.util.List;

/** Mechanisms of the endpoints that differ from what is specified. */
final class MechanismOptions {
    private static final Mechanisms USUAL = Mechanisms.DEFAULT;

    @Option(
            names = "--congestion",
            paramLabel = "ecn|nscc",
            converter = Law.class,
            description =
                    "Window law of a path: cut by the share of marked packets, or by marks and"
                            + " delay together as Ultra Ethernet's NSCC does (ecn).")
    private CongestionAlgorithm congestion = USUAL.congestion();

    @Option(
            names = "--path-choice",
            paramLabel = "weighted|bitmap|recycled",
            converter = Strategy.class,
            description =
                    "Which path the next packet takes: the one with most room for its round trip;"
                            + " each in turn but those that did badly; or those again that did"
                            + " well (weighted).")
    private PathStrategy paths = USUAL.paths();

    Mechanisms mechanisms() {
        return USUAL.with(congestion).with(paths);
    }

    /** What is not as specified, in the words of the options. */
    static List<String> differences(Mechanisms mechanisms) {
        List<String> words = new ArrayList<>();
        if (mechanisms.congestion() != USUAL.congestion()) {
            words.add("congestion " + Choice.label(mechanisms.congestion()));
        }
        if (mechanisms.paths() != USUAL.paths()) {
            words.add("path choice " + Choice.label(mechanisms.paths()));
        }
        return List.copyOf(words);
    }

    static final class Law extends Choice<CongestionAlgorithm> {
        Law() {
            super(CongestionAlgorithm.class, "_aimd");
        }
    }

    static final class Strategy extends Choice<PathStrategy> {
        Strategy() {
            super(PathStrategy.class);
        }
    }
}
