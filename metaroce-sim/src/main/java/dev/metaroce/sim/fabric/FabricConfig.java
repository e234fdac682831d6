package dev.metaroce.sim.fabric;

import dev.metaroce.sim.ConfigException;

import java.util.List;
import java.util.function.Predicate;

/**
 * How switches and wires behave.
 *
 * @param overheadBytes bytes of a packet on the wire beside its UDP payload: by default Ethernet
 *     with preamble and gap (38), IPv4 (20) and UDP (8)
 * @param mtuBytes largest packet on the wire, for which lossless classes keep room
 * @param bufferBytesPer100G buffer of a switch that its ports share, for each 100 Gb/s of a port
 * @param switchBufferBytes buffer of every switch whatever its ports; 0: by their rates
 * @param classes kinds of traffic, by default one lossy class; CNPs of RoCEv2 are of the class
 *     named {@link TrafficClass#CNP}, other packets that are not ECN-capable of {@link
 *     TrafficClass#CONTROL}, and all that is left of the first class beside these
 * @param flowControl of the lossless classes
 * @param adaptiveRouting true: each packet takes the equal way whose port will be free first, not
 *     that of its hash; packets of a flow overtake each other
 * @param trimming true: a packet that finds the queue full goes on without its payload in the class
 *     {@link TrafficClass#CONTROL}; its receiver sees a packet that is damaged
 * @param sameHashSeed true: all switches hash alike, which is a well-known mistake
 */
public record FabricConfig(
        int overheadBytes,
        int mtuBytes,
        int bufferBytesPer100G,
        long switchBufferBytes,
        Marking marking,
        List<TrafficClass> classes,
        FlowControl flowControl,
        boolean adaptiveRouting,
        boolean trimming,
        boolean sameHashSeed) {

    public FabricConfig {
        classes = List.copyOf(classes);
        if (classes.isEmpty() || classes.size() > TrafficClass.COUNT_MAX) {
            throw new ConfigException(
                    "%d traffic classes; there can be 1 to %d"
                            .formatted(classes.size(), TrafficClass.COUNT_MAX));
        }
        long names = classes.stream().map(TrafficClass::name).distinct().count();
        if (names < classes.size()) {
            throw new ConfigException("two traffic classes have one name: " + classes);
        }
        if (trimming && classes.stream().noneMatch(TrafficClass::isControl)) {
            throw new ConfigException(
                    "trimming needs a traffic class named %s".formatted(TrafficClass.CONTROL));
        }
    }

    /** A lossy Ethernet with ECN, as in today's data centres. */
    public static FabricConfig defaults() {
        return new Builder().build();
    }

    /**
     * A network as operators of RoCEv2 run it: marking by {@link Marking#red}, CNPs and behind them
     * control ahead of data in classes of their own, and data with their acknowledgements in a
     * class that PFC keeps from loss, with a dynamic threshold of an eighth of what is left (facts
     * of the reference model as above).
     *
     * @param lossless false: the same without PFC
     */
    public static FabricConfig roce(boolean lossless) {
        TrafficClass data = TrafficClass.weighted("data", 1);
        return new Builder()
                .marking(Marking.red())
                .classes(
                        TrafficClass.strict(TrafficClass.CNP),
                        TrafficClass.strict(TrafficClass.CONTROL),
                        lossless ? data.asLossless().withAlpha(1.0 / 8) : data)
                .build();
    }

    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.overheadBytes = overheadBytes;
        builder.mtuBytes = mtuBytes;
        builder.bufferBytesPer100G = bufferBytesPer100G;
        builder.switchBufferBytes = switchBufferBytes;
        builder.marking = marking;
        builder.classes = classes;
        builder.flowControl = flowControl;
        builder.adaptiveRouting = adaptiveRouting;
        builder.trimming = trimming;
        builder.sameHashSeed = sameHashSeed;
        return builder;
    }

    /** True when ports need no more than one queue that is never stopped. */
    boolean isPlain() {
        return classes.size() == 1 && !classes.getFirst().lossless();
    }

    boolean hasLossless() {
        return classes.stream().anyMatch(TrafficClass::lossless);
    }

    /** The class of data. */
    public int dataClass() {
        return first(c -> !c.isControl() && !c.isCnp(), 0);
    }

    /** The class of packets that are not ECN-capable. */
    public int controlClass() {
        return first(TrafficClass::isControl, dataClass());
    }

    /** The class of congestion notification packets. */
    public int cnpClass() {
        return first(TrafficClass::isCnp, controlClass());
    }

    private int first(Predicate<TrafficClass> which, int otherwise) {
        for (int c = 0; c < classes.size(); c++) {
            if (which.test(classes.get(c))) {
                return c;
            }
        }
        return otherwise;
    }

    /** Collects changes to a configuration. */
    public static final class Builder {
        private int overheadBytes = 66;
        private int mtuBytes = 4_352;
        private int bufferBytesPer100G = 512 << 10;
        private long switchBufferBytes;
        private Marking marking = Marking.step(50_000);
        private List<TrafficClass> classes = List.of(TrafficClass.strict("data"));
        private FlowControl flowControl = Pfc.defaults();
        private boolean adaptiveRouting;
        private boolean trimming;
        private boolean sameHashSeed;

        private Builder() {}

        public Builder overheadBytes(int bytes) {
            overheadBytes = bytes;
            return this;
        }

        /** Makes the largest packet as large at least. */
        public Builder mtuBytesAtLeast(int bytes) {
            mtuBytes = Math.max(mtuBytes, bytes);
            return this;
        }

        public Builder bufferBytesPer100G(int bytes) {
            bufferBytesPer100G = bytes;
            return this;
        }

        public Builder switchBufferBytes(long bytes) {
            switchBufferBytes = bytes;
            return this;
        }

        public Builder marking(Marking value) {
            marking = value;
            return this;
        }

        public Builder classes(TrafficClass... values) {
            classes = List.of(values);
            return this;
        }

        public Builder flowControl(FlowControl value) {
            flowControl = value;
            return this;
        }

        public Builder adaptiveRouting(boolean on) {
            adaptiveRouting = on;
            return this;
        }

        public Builder trimming(boolean on) {
            trimming = on;
            return this;
        }

        public Builder sameHashSeed(boolean same) {
            sameHashSeed = same;
            return this;
        }

        /** The configuration; throws a {@link ConfigException} for one that cannot be. */
        public FabricConfig build() {
            return new FabricConfig(
                    overheadBytes,
                    mtuBytes,
                    bufferBytesPer100G,
                    switchBufferBytes,
                    marking,
                    classes,
                    flowControl,
                    adaptiveRouting,
                    trimming,
                    sameHashSeed);
        }
    }
}
