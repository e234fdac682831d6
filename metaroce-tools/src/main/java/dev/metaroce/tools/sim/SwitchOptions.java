package dev.metaroce.tools.sim;

import dev.metaroce.sim.fabric.Credits;
import dev.metaroce.sim.fabric.FabricConfig;
import dev.metaroce.sim.fabric.FlowControl;
import dev.metaroce.sim.fabric.Marking;
import dev.metaroce.sim.fabric.Pfc;
import dev.metaroce.sim.fabric.TrafficClass;
import dev.metaroce.tools.cli.Choice;
import dev.metaroce.tools.cli.Numbers;
import dev.metaroce.tools.cli.Numbers.Bytes;
import dev.metaroce.tools.cli.ToolException;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Option;
import picocli.CommandLine.TypeConversionException;

/** How switches queue, mark and choose ways. */
final class SwitchOptions {
    @Option(
            names = "--ecn",
            paramLabel = "KMIN,KMAX,PMAX",
            converter = EcnOption.class,
            description =
                    "Marks packets by the queue ahead of them: none below KMIN bytes, PMAX percent"
                            + " just below KMAX, all from KMAX on. Bytes for a port of 100 Gb/s"
                            + " (50000,50000,100; with rocev2 400k,1600k,20).")
    @Nullable Marking ecn;

    @Option(
            names = "--buffer",
            paramLabel = "BYTES",
            converter = Buffer.class,
            description =
                    "Buffer that the ports of a switch share, per 100 Gb/s of them, 1k..1G (512k).")
    @Nullable Long bufferBytes;

    @Option(
            names = "--hash-seed",
            paramLabel = "own|same",
            converter = HashSeedOption.class,
            description =
                    "How switches choose among equal ways: each with a seed of its own, or all"
                            + " alike, which is a well-known mistake (own).")
    HashSeed hashSeed = HashSeed.OWN;

    @Option(
            names = "--lossless",
            paramLabel = "pfc|credit",
            converter = LosslessOption.class,
            description =
                    "Senders are stopped before switches have to drop: by pause frames (802.1Qbb),"
                            + " or by credits as InfiniBand has them (lossy).")
    @Nullable Lossless lossless;

    @Option(
            names = "--headroom",
            paramLabel = "BYTES",
            converter = Headroom.class,
            description = "With pfc: room for what comes after a pause (what each link needs).")
    @Nullable Long headroomBytes;

    @Option(
            names = "--watchdog",
            paramLabel = "TIME",
            converter = Quantity.Delay.class,
            description = "With pfc: a port that is stopped for so long is emptied, from 1us.")
    @Nullable Long watchdogPs;

    @Option(
            names = "--one-class",
            description =
                    "Acknowledgements and control wait behind data. Without it they have a class of"
                            + " their own that is sent first.")
    boolean oneClass;

    @Option(
            names = "--adaptive-routing",
            description = "Each packet takes the equal way that is free first.")
    boolean adaptiveRouting;

    @Option(
            names = "--trimming",
            description = "A packet that finds its queue full goes on without its payload.")
    boolean trimming;

    /** How switches hash. */
    enum HashSeed {
        OWN,
        SAME
    }

    /** How senders are stopped. */
    enum Lossless {
        PFC,
        CREDIT
    }

    /** Refuses what would be ignored. */
    void check() {
        boolean isPfc = lossless == Lossless.PFC;
        if (!isPfc && (headroomBytes != null || watchdogPs != null)) {
            throw ToolException.usage(
                    "--headroom and --watchdog are for --lossless pfc: give it too");
        }
        if (oneClass && (lossless != null || trimming)) {
            throw ToolException.usage(
                    "--one-class: --lossless and --trimming need a class for acknowledgements");
        }
        if (watchdogPs != null && watchdogPs < 1_000_000) {
            throw ToolException.usage("--watchdog: shorter than 1us");
        }
    }

    /**
     * @param roce true: start from what operators of RoCEv2 run
     */
    FabricConfig config(boolean roce) {
        FabricConfig usual = roce ? FabricConfig.roce(lossless != null) : FabricConfig.defaults();
        FabricConfig.Builder builder =
                usual.toBuilder()
                        .adaptiveRouting(adaptiveRouting)
                        .trimming(trimming)
                        .sameHashSeed(hashSeed == HashSeed.SAME);
        if (bufferBytes != null) {
            builder.bufferBytesPer100G(bufferBytes.intValue());
        }
        if (ecn != null) {
            builder.marking(ecn);
        }
        TrafficClass data = TrafficClass.strict("data");
        if (oneClass) {
            builder.classes(data);
        } else if (!roce) {
            TrafficClass classOfData = lossless == null ? data : data.asLossless();
            builder.classes(TrafficClass.strict(TrafficClass.CONTROL), classOfData);
        }
        if (lossless != null) {
            builder.flowControl(flowControl());
        }
        return builder.build();
    }

    private FlowControl flowControl() {
        if (lossless == Lossless.CREDIT) {
            return Credits.defaults();
        }
        Pfc pfc = Pfc.defaults();
        if (headroomBytes != null) {
            pfc = pfc.withHeadroom(headroomBytes.intValue());
        }
        return watchdogPs == null ? pfc : pfc.withWatchdog(watchdogPs);
    }

    static final class Buffer extends Bytes {
        Buffer() {
            super(1 << 10, 1 << 30);
        }
    }

    static final class Headroom extends Bytes {
        Headroom() {
            super(1, 1 << 30);
        }
    }

    static final class HashSeedOption extends Choice<HashSeed> {
        HashSeedOption() {
            super(HashSeed.class);
        }
    }

    static final class LosslessOption extends Choice<Lossless> {
        LosslessOption() {
            super(Lossless.class);
        }
    }

    static final class EcnOption implements ITypeConverter<Marking> {
        @Override
        public Marking convert(String text) {
            String[] parts = text.split(",", -1);
            if (parts.length == 3) {
                int from = new Threshold().convert(parts[0]).intValue();
                int all = new Threshold().convert(parts[1]).intValue();
                if (from <= all) {
                    double most = new Numbers.Percent().convert(parts[2]);
                    return new Marking(from, all, most, false);
                }
            }
            throw new TypeConversionException(
                    "'" + text + "' is not KMIN,KMAX,PMAX with KMIN up to KMAX: 50k,200k,10");
        }
    }

    private static final class Threshold extends Bytes {
        Threshold() {
            super(0, 1 << 30);
        }
    }
}
