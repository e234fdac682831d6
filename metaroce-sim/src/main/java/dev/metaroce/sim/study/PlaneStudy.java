package dev.metaroce.sim.study;

import dev.metaroce.event.CounterId;
import dev.metaroce.sim.fabric.FabricConfig;
import dev.metaroce.sim.run.SimConfig;
import dev.metaroce.sim.run.Simulation;
import dev.metaroce.sim.run.Summary;
import dev.metaroce.sim.topology.Topologies;
import dev.metaroce.sim.topology.Topology;
import dev.metaroce.sim.topology.TopologySpec;
import dev.metaroce.transport.DeviceLimits;

import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;

/**
 * Pairs of hosts that transfer without end over planes, each a leaf-spine of its own; one plane may
 * die meanwhile and come back. It dies between its switches, so that no host sees a link go down.
 */
public final class PlaneStudy {
    /** Host, leaf, spine, leaf, host, and back. */
    private static final int LINKS_THERE_AND_BACK = 8;

    private static final long EVENTS_PER_LOOK = 1 << 16;

    /** Payload of a flow, and enough of them to outlast every run. */
    private static final long FLOW_BYTES = 1L << 30;

    /** A rate is back when it is this much of the one before the failure, or more. */
    public static final double RECOVERED_SHARE = 0.85;

    /** The full rate is back when it is this much of the one before, or more. */
    public static final double FULL_SHARE = 0.97;

    private static final int AFTERWARDS = 20;

    /** Round trips that the paths of a dead plane have to find other planes. */
    public static final int RECOVERY_ROUND_TRIPS = 5;

    /**
     * What is measured.
     *
     * @param planes 1..64
     * @param pairs of hosts, each a sender and a receiver around different leaves
     * @param paths of a lease, 1..64
     * @param rateBitsPerSecond of every link; a host has one into each plane
     * @param roundTripPs of the links alone, there and back
     * @param warmUpPs time before anything is measured
     * @param healthyPs time that is measured with all planes
     * @param brokenPs time for which a plane is dead after that; 0: none dies
     * @param repairedPs time that is measured after the repair, at most: the study ends when the
     *     full rate was back for {@value #AFTERWARDS} round trips
     */
    public record Setup(
            long seed,
            int planes,
            int pairs,
            int paths,
            long rateBitsPerSecond,
            long roundTripPs,
            long warmUpPs,
            long healthyPs,
            long brokenPs,
            long repairedPs) {

        /** When the plane dies. */
        public long failPs() {
            return warmUpPs + healthyPs;
        }

        /** When it is repaired. */
        public long repairPs() {
            return failPs() + brokenPs;
        }

        private long endPs() {
            return brokenPs == 0 ? failPs() : repairPs() + repairedPs;
        }
    }

    /**
     * Payload that the receivers accepted in one round trip.
     *
     * @param us when the round trip was over
     */
    public record Sample(double us, double gbps) {}

    /**
     * What came of it. Where no plane dies all after the rate is 0.
     *
     * @param samples one for each round trip from the end of the warm-up on
     * @param healthyGbps payload of all pairs with all planes
     * @param lowestShare of that, in the worst round trip since the plane died
     * @param recoveryRoundTrips from the failure to the end of the first round trip with {@value
     *     #RECOVERED_SHARE} of the rate before; infinite when there is none
     * @param brokenShare of the rate before, from {@value #RECOVERY_ROUND_TRIPS} round trips after
     *     the failure to the repair
     * @param repairUs from the repair to the end of the first round trip with {@value #FULL_SHARE}
     *     of the rate before; infinite when there is none
     * @param reroutes of all senders
     * @param resent packets sent again, by all senders
     * @param errors flows that failed
     */
    public record Outcome(
            Setup setup,
            List<Sample> samples,
            double healthyGbps,
            double lowestShare,
            double recoveryRoundTrips,
            double brokenShare,
            double repairUs,
            long reroutes,
            long resent,
            int errors) {}

    private final Setup setup;
    private final Simulation simulation;
    private final List<Sample> samples = new ArrayList<>();

    private PlaneStudy(Setup setup) {
        this.setup = setup;
        DeviceLimits limits =
                SimConfig.limits(setup.planes() * setup.rateBitsPerSecond()).toBuilder()
                        .maxPaths(setup.paths())
                        .build();
        Topology topology =
                Topologies.build(
                        TopologySpec.builder(TopologySpec.Kind.LEAF_SPINE)
                                .hosts(2 * setup.pairs())
                                .leaves(2)
                                .spines(setup.pairs())
                                .planes(setup.planes())
                                .hostRate(setup.rateBitsPerSecond())
                                .delayPs(setup.roundTripPs() / LINKS_THERE_AND_BACK)
                                .build());
        simulation =
                new Simulation(
                        new SimConfig(setup.seed(), limits, FabricConfig.defaults()), topology);
    }

    /**
     * Runs the pairs.
     *
     * @param mayGoOn asked several times a second; what was seen until it says no counts
     */
    public static Outcome run(Setup setup, BooleanSupplier mayGoOn) {
        return new PlaneStudy(setup).measure(mayGoOn);
    }

    private Outcome measure(BooleanSupplier mayGoOn) {
        double mostBytes = setup.planes() * setup.rateBitsPerSecond() / 8e12 * setup.endPs();
        for (int sender = 0; sender < setup.pairs(); sender++) {
            for (double bytes = 0; bytes <= mostBytes; bytes += FLOW_BYTES) {
                simulation.addFlow(sender, sender + setup.pairs(), FLOW_BYTES, 0);
            }
        }
        if (setup.brokenPs() > 0) {
            simulation.plan(
                    PlaneOutage.of(
                            simulation.topology(),
                            setup.seed(),
                            setup.planes(),
                            setup.failPs(),
                            setup.repairPs()));
        }
        advanceTo(setup.warmUpPs(), mayGoOn);
        long bytes = received();
        for (long atPs = setup.warmUpPs() + setup.roundTripPs();
                atPs <= setup.endPs() && !isOver(atPs) && mayGoOn.getAsBoolean();
                atPs += setup.roundTripPs()) {
            advanceTo(atPs, mayGoOn);
            long now = received();
            samples.add(new Sample(atPs / 1e6, Summary.gbps(now - bytes, setup.roundTripPs())));
            bytes = now;
        }
        return outcome();
    }

    /** True when the full rate was back for a while. */
    private boolean isOver(long atPs) {
        double repairUs = setup.repairPs() / 1e6;
        double healthy = mean(0, setup.failPs() / 1e6);
        double awhileUs = AFTERWARDS * setup.roundTripPs() / 1e6;
        return setup.brokenPs() > 0
                && atPs / 1e6 - awhileUs > repairUs
                && firstUs(repairUs, FULL_SHARE * healthy) + awhileUs < atPs / 1e6;
    }

    private void advanceTo(long atPs, BooleanSupplier mayGoOn) {
        simulation.pauseAt(atPs);
        while (simulation.advance(EVENTS_PER_LOOK) == Simulation.Stop.EVENTS_DONE
                && mayGoOn.getAsBoolean()) {}
    }

    private long received() {
        long bytes = 0;
        for (int receiver = setup.pairs(); receiver < 2 * setup.pairs(); receiver++) {
            bytes += simulation.engine(receiver).counters().get(CounterId.PAYLOAD_BYTES);
        }
        return bytes;
    }

    private Outcome outcome() {
        double failUs = setup.failPs() / 1e6;
        double repairUs = setup.repairPs() / 1e6;
        double roundTripUs = setup.roundTripPs() / 1e6;
        double healthy = mean(0, failUs);
        boolean dies = setup.brokenPs() > 0;
        double settledUs = failUs + RECOVERY_ROUND_TRIPS * roundTripUs;
        double recovered = firstUs(failUs, RECOVERED_SHARE * healthy) - failUs;
        return new Outcome(
                setup,
                List.copyOf(samples),
                healthy,
                dies ? lowest(failUs) / healthy : 0,
                dies ? recovered / roundTripUs : 0,
                dies ? mean(settledUs, repairUs) / healthy : 0,
                dies ? firstUs(repairUs, FULL_SHARE * healthy) - repairUs : 0,
                Summary.sum(simulation, CounterId.REROUTES),
                Summary.sum(simulation, CounterId.DATA_RESENT),
                simulation.flows().failed());
    }

    /** Mean rate of the round trips between two times. */
    private double mean(double fromUs, double toUs) {
        return samples.stream()
                .filter(s -> s.us() > fromUs && s.us() <= toUs)
                .mapToDouble(Sample::gbps)
                .average()
                .orElse(0);
    }

    private double lowest(double fromUs) {
        return samples.stream()
                .filter(s -> s.us() > fromUs)
                .mapToDouble(Sample::gbps)
                .min()
                .orElse(0);
    }

    /** The end of the first whole round trip after a time with such a rate. */
    private double firstUs(double fromUs, double gbps) {
        double wholeUs = fromUs + setup.roundTripPs() / 1e6 - 1e-6;
        return samples.stream()
                .filter(s -> s.us() >= wholeUs && s.gbps() >= gbps)
                .mapToDouble(Sample::us)
                .findFirst()
                .orElse(Double.POSITIVE_INFINITY);
    }
}
