package dev.metaroce.tools.sim;

import dev.metaroce.congestion.CongestionAlgorithm;
import dev.metaroce.path.PathStrategy;
import dev.metaroce.tools.cli.Choice;
import dev.metaroce.transport.Mechanisms;

import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Option;
import picocli.CommandLine.TypeConversionException;

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

    static final class Law implements ITypeConverter<CongestionAlgorithm> {
        @Override
        public CongestionAlgorithm convert(String text) {
            return switch (text) {
                case "ecn" -> CongestionAlgorithm.ECN_AIMD;
                case "nscc" -> CongestionAlgorithm.NSCC;
                default -> throw new TypeConversionException("'" + text + "' is none of ecn, nscc");
            };
        }
    }

    static final class Strategy extends Choice<PathStrategy> {
        Strategy() {
            super(PathStrategy.class);
        }
    }
}
