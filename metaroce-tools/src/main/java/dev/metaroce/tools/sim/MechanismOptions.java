package dev.metaroce.tools.sim;

import dev.metaroce.congestion.CongestionAlgorithm;
import dev.metaroce.path.PathStrategy;
import dev.metaroce.tools.cli.Choice;
import dev.metaroce.transport.Mechanisms;
import dev.metaroce.transport.ResendRoute;
import dev.metaroce.transport.SequenceSpace;

import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Option;
import picocli.CommandLine.TypeConversionException;

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

    @Option(
            names = "--sack",
            paramLabel = "0|64|256",
            converter = SackBits.class,
            description =
                    "Bits of an acknowledgement that senders use; with 64 a path has at most 64"
                            + " packets under way, with 0 one hole is found per round trip (256).")
    private int sackBits = USUAL.sackBits();

    @Option(
            names = "--sequence",
            paramLabel = "path|lease",
            converter = Sequence.class,
            description =
                    "What has a sequence of its own: each path; or the lease, whose packets take"
                            + " all routes in turn and overtake each other (path).")
    private SequenceSpace sequence = USUAL.sequence();

    @Option(
            names = "--resend",
            paramLabel = "same|other",
            converter = Resend.class,
            description = "The path on which a packet is sent again (same).")
    private ResendRoute resend = USUAL.resend();

    @Option(
            names = "--no-ecn",
            description = "Data is not ECN-capable, so that switches never mark it.")
    private boolean noEcn;

    Mechanisms mechanisms() {
        return USUAL.with(congestion)
                .with(paths)
                .withSackBits(sackBits)
                .with(sequence)
                .with(resend)
                .withEcn(!noEcn);
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
        if (mechanisms.sackBits() != USUAL.sackBits()) {
            words.add("SACK " + mechanisms.sackBits());
        }
        if (mechanisms.sequence() != USUAL.sequence()) {
            words.add("sequence per " + Choice.label(mechanisms.sequence()));
        }
        if (mechanisms.resend() != USUAL.resend()) {
            words.add("resend on another path");
        }
        if (mechanisms.ecn() != USUAL.ecn()) {
            words.add("no ECN");
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

    static final class SackBits implements ITypeConverter<Integer> {
        @Override
        public Integer convert(String text) {
            return switch (text) {
                case "0", "64", "256" -> Integer.valueOf(text);
                default ->
                        throw new TypeConversionException("'" + text + "' is none of 0, 64, 256");
            };
        }
    }

    static final class Sequence extends Choice<SequenceSpace> {
        Sequence() {
            super(SequenceSpace.class);
        }
    }

    static final class Resend extends Choice<ResendRoute> {
        Resend() {
            super(ResendRoute.class, "_path");
        }
    }
}
