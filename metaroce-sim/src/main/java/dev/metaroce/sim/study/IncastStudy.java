package dev.metaroce.sim.study;

import dev.metaroce.event.CounterId;
import dev.metaroce.sim.fabric.Fabric;
import dev.metaroce.sim.fabric.FabricConfig;
import dev.metaroce.sim.fabric.Marking;
import dev.metaroce.sim.fabric.Port;
import dev.metaroce.sim.run.Connections;
import dev.metaroce.sim.run.Flows;
import dev.metaroce.sim.run.JainIndex;
import dev.metaroce.sim.run.NicModel;
import dev.metaroce.sim.run.SimConfig;
import dev.metaroce.sim.run.Simulation;
import dev.metaroce.sim.topology.Topologies;
import dev.metaroce.sim.topology.Topology;
import dev.metaroce.sim.topology.TopologySpec;
import dev.metaroce.sim.workload.FlowList;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.util.Rng;

import java.util.function.BooleanSupplier;

/**
 * Many senders, drawn by seed, start at once with a message each for one receiver on a leaf-spine
 * network with full bisection. Leases are open, unless there are more senders than contexts. Beside
 * it a victim: an endless flow between two others, to a host on the leaf of the receiver.
 */
public final class IncastStudy {
    /** Hosts of a leaf, and spines. */
    private static final int LEAF_HOSTS = 32;

    /** Links to a host of another leaf and back. */
    private static final int LINKS_THERE_AND_BACK = 8;

    private static final int RECEIVER = 0;
    private static final int VICTIM = 1;
    private static final long ENDLESS = 1L << 31;
    private static final long EVENTS_PER_LOOK = 1 << 16;

    /** What a full packet and an answer have on the wire beside the payload. */
    private static final int OVERHEAD_BYTES = 118;

    private static final double PS_PER_US = 1e6;

    /**
     * What is measured.
     *
     * @param senders from 1 up
     * @param bytes that each of them sends
     * @param rateBitsPerSecond of every link
     * @param delayPs of every link
     * @param limits of every endpoint; without an inbound rate there are no hints
     * @param marks false: switches never mark packets
     */
    public record Setup(
            long seed,
            int senders,
            long bytes,
            long rateBitsPerSecond,
            long delayPs,
            DeviceLimits limits,
            boolean marks) {
        private static final long RATE = 400_000_000_000L;
        private static final long DELAY_PS = 1_200_000;

        /** 1 MiB from each sender at 400 Gb/s, with a round trip of 10 us. */
        public static Setup of(long seed, int senders, boolean hints) {
            DeviceLimits limits = SimConfig.limits(hints ? RATE : 0);
            return new Setup(seed, senders, 1 << 20, RATE, DELAY_PS, limits, true);
        }

        /** The same in a fabric that does not mark packets. */
        public Setup withoutMarks() {
            return new Setup(seed, senders, bytes, rateBitsPerSecond, delayPs, limits, false);
        }

        /** A full packet to another leaf, and its answer. */
        public long roundTripPs() {
            long wire = limits.payloadMtu() + 2L * OVERHEAD_BYTES;
            long bitPs = wire * 8 * 1_000_000_000_000L / rateBitsPerSecond;
            return LINKS_THERE_AND_BACK * delayPs + LINKS_THERE_AND_BACK / 2 * bitPs;
        }

        /** All payload at the rate of a link, and a round trip. */
        public double boundUs() {
            return senders * bytes * 8e6 / rateBitsPerSecond + roundTripPs() / PS_PER_US;
        }
    }

    /**
     * What came of it.
     *
     * @param lastUs from the start to the last finish
     * @param overBound the same as a multiple of {@link Setup#boundUs}
     * @param jainIndex of the rates of the senders, each over its own time
     * @param queueBytesMax longest queue of the port to the receiver
     * @param markedUs from the first arrival until that queue is below the marking threshold for
     *     good, 0: it never reached it
     * @param lostEarly packets lost up to a round trip after the first arrival
     * @param lostLater packets lost after that
     * @param failed senders
     */
    public record Outcome(
            Setup setup,
            double lastUs,
            double overBound,
            double jainIndex,
            long queueBytesMax,
            double markedUs,
            long lostEarly,
            long lostLater,
            int failed) {}

    private final Setup setup;
    private final Simulation simulation;

    private IncastStudy(Setup setup, boolean incast, boolean victim) {
        this.setup = setup;
        int leaves = 1 + Math.ceilDiv(setup.senders() + 2, LEAF_HOSTS);
        Topology topology =
                Topologies.build(
                        TopologySpec.builder(TopologySpec.Kind.LEAF_SPINE)
                                .hosts(leaves * LEAF_HOSTS)
                                .leaves(leaves)
                                .spines(LEAF_HOSTS)
                                .hostRate(setup.rateBitsPerSecond())
                                .linkRate(setup.rateBitsPerSecond())
                                .delayPs(setup.delayPs())
                                .build());
        FabricConfig.Builder fabric = FabricConfig.defaults().toBuilder();
        if (!setup.marks()) {
            fabric.marking(Marking.step(Integer.MAX_VALUE));
        }
        simulation =
                new Simulation(
                        new SimConfig(
                                setup.seed(),
                                setup.limits(),
                                fabric.build(),
                                NicModel.NONE,
                                Connections.WARM),
                        topology);
        int hosts = topology.hosts();
        FlowList.Builder flows = FlowList.builder("incast", hosts);
        if (incast) {
            addSenders(flows, hosts);
        }
        if (victim) {
            flows.add(hosts - 1, VICTIM, 0, ENDLESS);
        }
        simulation.add(flows.build());
    }

    /** Senders are hosts of any leaf, but neither receiver nor victim. */
    private void addSenders(FlowList.Builder flows, int hosts) {
        Rng chance = new Rng(setup.seed()).fork("senders");
        int[] others = new int[hosts - 3];
        for (int i = 0; i < others.length; i++) {
            int other = chance.nextInt(i + 1);
            others[i] = others[other];
            others[other] = i + 2;
        }
        for (int i = 0; i < setup.senders(); i++) {
            flows.add(others[i], RECEIVER, 0, setup.bytes());
        }
    }

    /**
     * Runs an incast without a victim.
     *
     * @param mayGoOn asked several times a second; what was seen until it says no counts
     */
    public static Outcome run(Setup setup, BooleanSupplier mayGoOn) {
        return new IncastStudy(setup, true, false).measure(mayGoOn);
    }

    /**
     * What the victim carries during an incast, as part of what it carries alone in that time.
     *
     * @param mayGoOn asked several times a second; what was seen until it says no counts
     */
    public static double victimShare(Setup setup, BooleanSupplier mayGoOn) {
        IncastStudy beside = new IncastStudy(setup, true, true);
        while (mayGoOn.getAsBoolean() && !beside.runEvents(EVENTS_PER_LOOK)) {}
        IncastStudy alone = new IncastStudy(setup, false, true);
        long endPs = beside.simulation.nowPs();
        while (mayGoOn.getAsBoolean() && alone.simulation.nextEventPs() <= endPs) {
            alone.simulation.run(1);
        }
        return (double) beside.victimBytes() / alone.victimBytes();
    }

    private long victimBytes() {
        return simulation.engine(VICTIM).counters().get(CounterId.PAYLOAD_BYTES);
    }

    /** True when all senders are done. */
    private boolean runEvents(long events) {
        for (long i = 0; i < events && simulation.flows().ended() < setup.senders(); i++) {
            simulation.run(1);
        }
        return simulation.flows().ended() >= setup.senders();
    }

    private Outcome measure(BooleanSupplier mayGoOn) {
        Fabric fabric = simulation.fabric();
        Port bottleneck = fabric.port(2 * RECEIVER + 1);
        double scale = setup.rateBitsPerSecond() / 100e9;
        double markBytes = FabricConfig.defaults().marking().fromBytes() * scale;
        long sentBefore = bottleneck.txPackets();
        long firstPs = Long.MAX_VALUE;
        long earlyEndPs = Long.MAX_VALUE;
        long lastMarkedPs = Long.MIN_VALUE;
        long queueMax = 0;
        long lostEarly = 0;
        long lostBefore = fabric.lostPackets();
        long events = 0;
        boolean over = simulation.flows().ended() >= setup.senders();
        while (!over && (events++ % EVENTS_PER_LOOK != 0 || mayGoOn.getAsBoolean())) {
            over = runEvents(1);
            long nowPs = simulation.nowPs();
            if (firstPs == Long.MAX_VALUE && bottleneck.txPackets() > sentBefore) {
                firstPs = nowPs;
                earlyEndPs = nowPs + setup.roundTripPs();
            }
            if (nowPs > earlyEndPs) {
                lostEarly = fabric.lostPackets() - lostBefore;
                earlyEndPs = Long.MAX_VALUE;
            }
            if (bottleneck.queueBytes() >= markBytes) {
                lastMarkedPs = nowPs;
            }
            queueMax = Math.max(queueMax, bottleneck.queueBytes());
        }
        long markedPs = lastMarkedPs == Long.MIN_VALUE ? 0 : Math.max(0, lastMarkedPs - firstPs);
        long lostAll = fabric.lostPackets() - lostBefore;
        return outcome(queueMax, markedPs / PS_PER_US, lostEarly, lostAll - lostEarly);
    }

    private Outcome outcome(long queueMax, double markedUs, long lostEarly, long lostLater) {
        Flows flows = simulation.flows();
        JainIndex rates = new JainIndex();
        double lastUs = 0;
        for (int flow = 0; flow < flows.count(); flow++) {
            boolean well = !flows.isOpen(flow) && flows.failure(flow).isEmpty();
            double us = (flows.endPs(flow) - flows.startPs(flow)) / PS_PER_US;
            rates.add(well ? 1 / us : 0);
            lastUs = well ? Math.max(lastUs, us) : lastUs;
        }
        return new Outcome(
                setup,
                lastUs,
                lastUs / setup.boundUs(),
                rates.value(),
                queueMax,
                markedUs,
                lostEarly,
                lostLater,
                flows.failed());
    }
}
