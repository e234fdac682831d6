package dev.metaroce.sim.study;

import dev.metaroce.event.CounterId;
import dev.metaroce.sim.fabric.FabricConfig;
import dev.metaroce.sim.fabric.LinkFaults;
import dev.metaroce.sim.run.Connections;
import dev.metaroce.sim.run.NicModel;
import dev.metaroce.sim.run.SimConfig;
import dev.metaroce.sim.run.Simulation;
import dev.metaroce.sim.run.Summary;
import dev.metaroce.sim.topology.Topologies;
import dev.metaroce.sim.topology.TopologySpec;
import dev.metaroce.sim.workload.FlowList;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.transport.Mechanisms;
import dev.metaroce.util.Rng;
import dev.metaroce.wire.Profile;

import java.util.function.BooleanSupplier;

/**
 * Traffic on a leaf-spine network with full bisection whose packets get lost: on the link from a
 * host to its leaf, so that every packet crosses exactly one place of loss, data at its sender's
 * link and acknowledgements at their own sender's. Connections are open at time 0.
 */
public final class LossStudy {
    /** Host, leaf, spine, leaf, host, and back. */
    private static final int LINKS_THERE_AND_BACK = 8;

    private static final LinkFaults.Rates NO_LOSS = LinkFaults.Rates.ofLoss(0);

    /** What is sent. */
    public enum Traffic {
        /** One flow, from the first host to the last. */
        TRANSFER(16),

        /** {@link CollectiveTraffic#ringAllReduce}: bytes are what each rank reduces. */
        RING(64),

        /** {@link CollectiveTraffic#allToAll}: bytes are what each rank sends in all. */
        ALL_TO_ALL(64);

        private final int usualHosts;

        Traffic(int usualHosts) {
            this.usualHosts = usualHosts;
        }

        /** Hosts that the claims are about; leaves have the square root of it. */
        public int usualHosts() {
            return usualHosts;
        }
    }

    /**
     * What is measured.
     *
     * @param hosts a square number, from 4 up
     * @param profile of all leases
     * @param paths of a lease, 1..64
     * @param rateBitsPerSecond of every link
     * @param roundTripPs of the links alone, there and back
     * @param bytes in the sense of the traffic
     * @param dataLoss of a transfer's data; with other traffic every packet of every host
     * @param answerLoss of a transfer's acknowledgements; with other traffic the same as dataLoss
     */
    public record Setup(
            long seed,
            Traffic traffic,
            int hosts,
            Profile profile,
            int paths,
            long rateBitsPerSecond,
            long roundTripPs,
            long bytes,
            LinkFaults.Rates dataLoss,
            LinkFaults.Rates answerLoss,
            Mechanisms mechanisms) {

        /** The same on whole links. */
        public Setup withoutLoss() {
            return new Setup(
                    seed,
                    traffic,
                    hosts,
                    profile,
                    paths,
                    rateBitsPerSecond,
                    roundTripPs,
                    bytes,
                    NO_LOSS,
                    NO_LOSS,
                    mechanisms);
        }

        private DeviceLimits limits() {
            return SimConfig.limits(rateBitsPerSecond).toBuilder()
                    .profiles(profile.code())
                    .maxPaths(paths)
                    .mechanisms(mechanisms)
                    .build();
        }

        private FlowList flows() {
            return switch (traffic) {
                case TRANSFER -> {
                    FlowList.Builder one = FlowList.builder("transfer", hosts);
                    one.add(0, hosts - 1, 0, bytes);
                    yield one.build();
                }
                case RING -> CollectiveTraffic.ringAllReduce(hosts, Math.ceilDiv(bytes, hosts));
                case ALL_TO_ALL ->
                        CollectiveTraffic.allToAll(hosts, Math.ceilDiv(bytes, hosts - 1));
            };
        }
    }

    /**
     * What came of it.
     *
     * @param durationUs from time 0 to the last completion; what was done by then, if stopped
     * @param goodputGbps payload of all flows by that time
     * @param share of the reference
     * @param sentPerNeeded data packets sent, per packet of the payload
     * @param resent data packets sent again
     * @param spurious of these, whose first copy arrived
     * @param timeouts that expired, tail probes not counted
     * @param probes sent
     * @param reroutes of paths
     * @param ended false: flows were open when it stopped
     * @param failed flows
     */
    public record Outcome(
            Setup setup,
            double durationUs,
            double goodputGbps,
            double share,
            double sentPerNeeded,
            long resent,
            long spurious,
            long timeouts,
            long probes,
            long reroutes,
            boolean ended,
            int failed) {}

    private final Setup setup;
    private final Simulation simulation;

    private LossStudy(Setup setup) {
        this.setup = setup;
        int perLeaf = (int) Math.round(Math.sqrt(setup.hosts()));
        simulation =
                new Simulation(
                        new SimConfig(
                                setup.seed(),
                                setup.limits(),
                                FabricConfig.defaults(),
                                NicModel.NONE,
                                Connections.WARM),
                        Topologies.build(
                                TopologySpec.builder(TopologySpec.Kind.LEAF_SPINE)
                                        .hosts(setup.hosts())
                                        .leaves(setup.hosts() / perLeaf)
                                        .spines(perLeaf)
                                        .hostRate(setup.rateBitsPerSecond())
                                        .delayPs(setup.roundTripPs() / LINKS_THERE_AND_BACK)
                                        .build()));
        simulation.add(setup.flows());
        boolean transfer = setup.traffic() == Traffic.TRANSFER;
        Rng rng = new Rng(setup.seed()).fork("loss");
        for (int host = 0; host < setup.hosts(); host++) {
            boolean sends = !transfer || host == 0;
            for (int uplink : simulation.routes().ports(host)) {
                LinkFaults.Rates rates = sends ? setup.dataLoss() : setup.answerLoss();
                simulation.fabric().fault(uplink, rates, rng);
            }
        }
    }

    /**
     * The goodput without loss.
     *
     * @param mayGoOn asked several times a second; what was seen until it says no counts
     */
    public static double referenceGbps(Setup setup, BooleanSupplier mayGoOn) {
        return run(setup.withoutLoss(), mayGoOn, Double.NaN).goodputGbps();
    }

    /**
     * Runs the traffic.
     *
     * @param mayGoOn asked several times a second; what was seen until it says no counts
     * @param referenceGbps goodput to compare with
     */
    public static Outcome run(Setup setup, BooleanSupplier mayGoOn, double referenceGbps) {
        return new LossStudy(setup).measure(mayGoOn, referenceGbps);
    }

    private Outcome measure(BooleanSupplier mayGoOn, double referenceGbps) {
        Delivery all = Delivery.of(simulation, mayGoOn);
        return new Outcome(
                setup,
                all.lastPs() / 1e6,
                all.gbps(),
                all.gbps() / referenceGbps,
                all.sentPerNeeded(),
                all.resent(),
                Summary.sum(simulation, CounterId.SPURIOUS_RESENDS),
                Summary.sum(simulation, CounterId.RTO_FIRED),
                Summary.sum(simulation, CounterId.PROBES_SENT),
                Summary.sum(simulation, CounterId.REROUTES),
                all.ended(),
                simulation.flows().failed());
    }
}
