package dev.metaroce.tools.sim;

import dev.metaroce.sim.run.NicModel;
import dev.metaroce.tools.cli.Numbers.Whole;
import dev.metaroce.tools.cli.ToolException;

import picocli.CommandLine.Option;

/** What NICs take time for; all zero unless said. */
final class NicOptions {
    @Option(
            names = "--nic-receive",
            paramLabel = "TIME",
            converter = Quantity.Delay.class,
            description = "To receive a packet, one after the other (0ns).")
    long receivePs;

    @Option(
            names = "--nic-send",
            paramLabel = "TIME",
            converter = Quantity.Delay.class,
            description = "To make a packet, one after the other (0ns).")
    long sendPs;

    @Option(
            names = "--nic-bus",
            paramLabel = "TIME",
            converter = Quantity.Delay.class,
            description = "From a NIC to memory or back (0ns).")
    long busPs;

    @Option(
            names = "--nic-contexts",
            paramLabel = "N",
            converter = NicContexts.class,
            description =
                    "Receive contexts that a NIC keeps, those used last; others are fetched, 1.."
                            + "1000000 (all).")
    int contexts;

    @Option(
            names = "--nic-miss",
            paramLabel = "TIME",
            converter = Quantity.Delay.class,
            description = "To fetch a context, while the NIC receives nothing else (0ns).")
    long missPs;

    NicModel model() {
        return new NicModel(receivePs, sendPs, busPs, contexts, missPs);
    }

    /** Refuses what would be ignored. */
    void check() {
        if (missPs > 0 && contexts == 0) {
            throw ToolException.usage("--nic-miss needs --nic-contexts: give it too");
        }
    }

    static final class NicContexts extends Whole {
        NicContexts() {
            super(1, 1_000_000);
        }
    }
}
