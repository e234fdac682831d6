package dev.metaroce.sim.study;

import dev.metaroce.sim.fabric.FabricConfig;
import dev.metaroce.sim.run.Connections;
import dev.metaroce.sim.run.NicModel;
import dev.metaroce.sim.run.SimConfig;
import dev.metaroce.sim.run.Simulation;
import dev.metaroce.sim.topology.Topologies;
import dev.metaroce.sim.topology.TopologySpec;
import dev.metaroce.sim.workload.FlowList;
import dev.metaroce.util.Rng;

import java.util.function.BooleanSupplier;

/**
 * Many hosts send small messages to one, at random, each over a queue pair of its own: what the
 * receiver's NIC could take per second, from how often it finds the context at hand.
 */
public final class ContextStudy {
    private static final int MESSAGE_BYTES = 64;

    /** Messages per queue pair while misses are counted; one of each comes before. */
    private static final int COUNTED = 10;

    /** Part of what the NIC could take if it always missed. */
    private static final double LOAD = 0.5;

    private static final double PS_PER_SECOND = 1e12;

    /**
     * What is measured.
     *
     * @param queuePairs from 1 up
     * @param nic of the receiver
     */
    public record Setup(long seed, int queuePairs, NicModel nic) {
        /** What the NIC takes when contexts are asked for at random, and those used last kept. */
        public double law() {
            double missing = Math.max(0, 1 - (double) nic.contexts() / queuePairs);
            return PS_PER_SECOND / (nic.rxPacketPs() + missing * nic.missPs());
        }
    }

    /**
     * What came of it.
     *
     * @param missShare part of the requests for which the context had to be fetched
     * @param requestsPerSecond that the NIC could take at that share
     * @param tableBytes of the queue pairs at the receiver
     */
    public record Outcome(
            Setup setup, double missShare, double requestsPerSecond, long tableBytes) {}

    private ContextStudy() {}

    /**
     * Runs all messages.
     *
     * @param mayGoOn asked several times a second; what was seen until it says no counts
     */
    public static Outcome run(Setup setup, BooleanSupplier mayGoOn) {
        int n = setup.queuePairs();
        Simulation simulation =
                new Simulation(
                        new SimConfig(
                                        setup.seed(),
                                        SimConfig.limits(0),
                                        FabricConfig.roce(false),
                                        setup.nic(),
                                        Connections.WARM)
                                .with(SimConfig.roce(400_000_000_000L)),
                        Topologies.build(
                                TopologySpec.builder(TopologySpec.Kind.STAR)
                                        .hosts(n + 1)
                                        .hostRate(400_000_000_000L)
                                        .delayPs(500_000)
                                        .build()));
        FlowList.Builder flows = FlowList.builder("small messages", n + 1);
        Rng rng = new Rng(setup.seed()).fork("messages");
        double gapPs = (setup.nic().rxPacketPs() + setup.nic().missPs()) / LOAD;
        double atPs = 0;
        long countPs = 0;
        for (int i = 0; i < n * (1 + COUNTED); i++) {
            atPs -= gapPs * Math.log(1 - rng.nextDouble());
            countPs = i == n ? (long) atPs : countPs;
            flows.add(1 + (i < n ? i : rng.nextInt(n)), 0, (long) atPs, MESSAGE_BYTES);
        }
        simulation.add(flows.build());
        simulation.pauseAt(countPs);
        advance(simulation, mayGoOn);
        long hits = simulation.contextHits(0);
        long misses = simulation.contextMisses(0);
        advance(simulation, mayGoOn);
        hits = simulation.contextHits(0) - hits;
        misses = simulation.contextMisses(0) - misses;
        double missShare = (double) misses / (hits + misses);
        return new Outcome(
                setup,
                missShare,
                PS_PER_SECOND / (setup.nic().rxPacketPs() + missShare * setup.nic().missPs()),
                simulation.engine(0).contextTableBytes());
    }

    private static void advance(Simulation simulation, BooleanSupplier mayGoOn) {
        while (mayGoOn.getAsBoolean()
                && simulation.advance(1 << 16) == Simulation.Stop.EVENTS_DONE) {}
    }
}
