package dev.metaroce.sim.study;

import dev.metaroce.congestion.DcqcnSettings;
import dev.metaroce.event.CounterId;
import dev.metaroce.sim.fabric.Fabric;
import dev.metaroce.sim.fabric.FabricConfig;
import dev.metaroce.sim.fabric.Port;
import dev.metaroce.sim.fabric.TrafficClass;
import dev.metaroce.sim.run.Application;
import dev.metaroce.sim.run.Connections;
import dev.metaroce.sim.run.NicModel;
import dev.metaroce.sim.run.SimConfig;
import dev.metaroce.sim.run.Simulation;
import dev.metaroce.sim.run.Summary;
import dev.metaroce.sim.topology.Topology;
import dev.metaroce.sim.workload.FlowList;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.util.Rng;

import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;

/**
 * An endless incast by RoCEv2 on a leaf-spine network: many hosts send to one, as fast as they may,
 * and a victim sends from a leaf of theirs to another host of the receiver's leaf. No link that the
 * victim needs is a bottleneck for it; what it loses it loses to others' congestion.
 */
public final class PfcStudy {
    private static final int SENDERS_OF_A_LEAF = 16;
    private static final int SPINES = 16;
    private static final int CLOCK_PPM = 200;
    private static final int RECEIVER = 0;
    private static final int VICTIM_RECEIVER = 1;
    private static final long ENDLESS = 1L << 31;

    /** How the network is run. */
    public enum Operation {
        /** Switches drop when they must; Go-Back-N repairs it. */
        LOSSY(false, false),

        /** The same, and marks slow senders down. */
        LOSSY_DCQCN(false, true),

        /** Pause frames instead of loss. */
        PFC(true, false),

        /** Pause frames, which DCQCN is to make rare: what operators run. */
        PFC_DCQCN(true, true),

        /** Both, but the victim's data are in a lossy class with the same weight. */
        MIXED(true, true);

        private final boolean lossless;
        private final boolean dcqcn;

        Operation(boolean lossless, boolean dcqcn) {
            this.lossless = lossless;
            this.dcqcn = dcqcn;
        }

        private FabricConfig fabric() {
            FabricConfig roce = FabricConfig.roce(lossless);
            if (this != MIXED) {
                return roce;
            }
            List<TrafficClass> classes = new ArrayList<>(roce.classes());
            classes.add(TrafficClass.weighted("lossy", 1));
            return roce.toBuilder().classes(classes.toArray(new TrafficClass[0])).build();
        }
    }

    /**
     * What is measured.
     *
     * @param senders of the incast, a multiple of 16
     * @param rateBitsPerSecond of every link
     * @param delayPs of every link
     * @param spanPs time for the start, and as long again to measure
     */
    public record Setup(
            long seed,
            Operation operation,
            int senders,
            long rateBitsPerSecond,
            long delayPs,
            long spanPs) {}

    /**
     * What came of it. Rates are payload.
     *
     * @param startGbps what the receiver accepted in the first span
     * @param startVictimGbps what the victim's receiver accepted then
     * @param gbps in the second span
     * @param victimGbps in the second span
     * @param dropped packets, in all
     * @param pauses of ports, in all
     * @param spinePausedShare part of both spans for which the ports of spines to the receiver's
     *     leaf were stopped, the mean of them
     * @param leafPausedShare the same of the ports of other leaves to spines
     * @param hostPausedShare the same of senders
     * @param cnps sent by the receiver
     * @param timeouts of all hosts
     */
    public record Outcome(
            Setup setup,
            double startGbps,
            double startVictimGbps,
            double gbps,
            double victimGbps,
            long dropped,
            long pauses,
            double spinePausedShare,
            double leafPausedShare,
            double hostPausedShare,
            long cnps,
            long resent,
            long timeouts,
            long queueBytesMax,
            int deadlocks) {}

    private final Setup setup;
    private final Simulation simulation;
    private final int leaves;

    private PfcStudy(Setup setup) {
        this.setup = setup;
        leaves = 1 + setup.senders() / SENDERS_OF_A_LEAF;
        // On each leaf 16 hosts that send, and one more: the victim is that of the last.
        int hosts = leaves * (SENDERS_OF_A_LEAF + 1);
        Topology topology = topology(hosts);
        Operation operation = setup.operation();
        FabricConfig fabric = operation.fabric();
        int lossyClass = fabric.classes().size() - 1;
        Application classes =
                new Application() {
                    @Override
                    public int dataClass(int host, int common) {
                        // Both ends of a queue pair have its class.
                        boolean victim = host == hosts - 1 || host == VICTIM_RECEIVER;
                        return operation == Operation.MIXED && victim ? lossyClass : common;
                    }
                };
        DeviceLimits limits = SimConfig.limits(0);
        simulation =
                new Simulation(
                        new SimConfig(setup.seed(), limits, fabric, NicModel.NONE, Connections.WARM)
                                .with(
                                        SimConfig.roce(setup.rateBitsPerSecond()).toBuilder()
                                                .dcqcn(
                                                        operation.dcqcn
                                                                ? DcqcnSettings.published()
                                                                : null)
                                                .build()),
                        topology,
                        classes);
        FlowList.Builder flows = FlowList.builder("incast", hosts);
        for (int leaf = 1; leaf < leaves; leaf++) {
            for (int i = 0; i < SENDERS_OF_A_LEAF; i++) {
                flows.add(leaf * (SENDERS_OF_A_LEAF + 1) + i, RECEIVER, 0, ENDLESS);
            }
        }
        flows.add(hosts - 1, VICTIM_RECEIVER, 0, ENDLESS);
        simulation.add(flows.build());
    }

    /** A leaf-spine network whose hosts have clocks of their own: equal ones lock into step. */
    private Topology topology(int hosts) {
        Topology.Builder builder = Topology.builder("leaf-spine", hosts, 1);
        int[] leaf = new int[leaves];
        for (int i = 0; i < leaves; i++) {
            leaf[i] = builder.addSwitch("leaf" + i, 1, 0);
        }
        Rng clocks = new Rng(setup.seed()).fork("clocks");
        for (int host = 0; host < hosts; host++) {
            long slower = setup.rateBitsPerSecond() * clocks.nextInt(CLOCK_PPM) / 1_000_000;
            long rate = setup.rateBitsPerSecond() - slower;
            builder.addLink(host, leaf[host / (SENDERS_OF_A_LEAF + 1)], rate, setup.delayPs(), 0);
        }
        for (int i = 0; i < SPINES; i++) {
            int spine = builder.addSwitch("spine" + i, 2, 0);
            for (int at : leaf) {
                builder.addLink(at, spine, setup.rateBitsPerSecond(), setup.delayPs(), 0);
            }
        }
        return builder.build();
    }

    /**
     * Runs both spans.
     *
     * @param mayGoOn asked several times a second; what was seen until it says no counts
     */
    public static Outcome run(Setup setup, BooleanSupplier mayGoOn) {
        return new PfcStudy(setup).measure(mayGoOn);
    }

    private Outcome measure(BooleanSupplier mayGoOn) {
        runTo(setup.spanPs(), mayGoOn);
        long bytes = payload(RECEIVER);
        long victimBytes = payload(VICTIM_RECEIVER);
        runTo(2 * setup.spanPs(), mayGoOn);
        Fabric fabric = simulation.fabric();
        long dropped = 0;
        long pauses = 0;
        for (int id = 0; id < fabric.ports(); id++) {
            dropped += fabric.port(id).drops();
            pauses += fabric.port(id).pauses();
        }
        return new Outcome(
                setup,
                Summary.gbps(bytes, setup.spanPs()),
                Summary.gbps(victimBytes, setup.spanPs()),
                Summary.gbps(payload(RECEIVER) - bytes, setup.spanPs()),
                Summary.gbps(payload(VICTIM_RECEIVER) - victimBytes, setup.spanPs()),
                dropped,
                pauses,
                pausedShare(Tier.SPINE),
                pausedShare(Tier.LEAF),
                pausedShare(Tier.HOST),
                simulation.engine(RECEIVER).counters().get(CounterId.CNPS_SENT),
                Summary.sum(simulation, CounterId.DATA_RESENT),
                Summary.sum(simulation, CounterId.RTO_FIRED),
                fabric.port(2 * RECEIVER + 1).queueBytesMax(),
                fabric.deadlocks().size());
    }

    private void runTo(long atPs, BooleanSupplier mayGoOn) {
        simulation.pauseAt(atPs);
        while (mayGoOn.getAsBoolean()
                && simulation.advance(1 << 16) == Simulation.Stop.EVENTS_DONE) {}
    }

    private long payload(int host) {
        return simulation.engine(host).counters().get(CounterId.PAYLOAD_BYTES);
    }

    /** Where ports are that may be stopped, by their distance from the receiver. */
    private enum Tier {
        SPINE,
        LEAF,
        HOST
    }

    private double pausedShare(Tier tier) {
        Topology topology = simulation.topology();
        int firstLeaf = topology.hosts();
        int firstSpine = firstLeaf + leaves;
        double paused = 0;
        int count = 0;
        for (int id = 0; id < simulation.fabric().ports(); id++) {
            Port port = simulation.fabric().port(id);
            int from = simulation.fabric().sender(id);
            int to = simulation.fabric().sender(id ^ 1);
            boolean counts =
                    switch (tier) {
                        case SPINE -> from >= firstSpine && to == firstLeaf;
                        case LEAF -> from > firstLeaf && from < firstSpine && to >= firstSpine;
                        case HOST -> from < firstLeaf && from > SENDERS_OF_A_LEAF && sends(from);
                    };
            if (counts) {
                paused += port.pausedPs();
                count++;
            }
        }
        return paused / count / simulation.nowPs();
    }

    private static boolean sends(int host) {
        return host % (SENDERS_OF_A_LEAF + 1) < SENDERS_OF_A_LEAF;
    }
}
