package dev.metaroce.sim.study;

import dev.metaroce.congestion.CongestionAlgorithm;
import dev.metaroce.path.PathStrategy;
import dev.metaroce.sim.fabric.Fabric;
import dev.metaroce.sim.fabric.FabricConfig;
import dev.metaroce.sim.fabric.LinkFaults;
import dev.metaroce.sim.run.Connections;
import dev.metaroce.sim.run.Flows;
import dev.metaroce.sim.run.NicModel;
import dev.metaroce.sim.run.SimConfig;
import dev.metaroce.sim.run.Simulation;
import dev.metaroce.sim.topology.Topologies;
import dev.metaroce.sim.topology.Topology;
import dev.metaroce.sim.topology.TopologySpec;
import dev.metaroce.sim.workload.FlowList;
import dev.metaroce.sim.workload.WorkloadSpec;
import dev.metaroce.sim.workload.Workloads;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.transport.Mechanisms;
import dev.metaroce.transport.ResendRoute;
import dev.metaroce.transport.SequenceSpace;
import dev.metaroce.util.Rng;

import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;

/**
 * The same few tasks again and again, each time with another mechanism left out or replaced: what
 * is lost without it is what it earns. Networks are leaf-spine with full bisection; connections are
 * open at time 0.
 */
public final class AblationStudy {
    /** Host, leaf, spine, leaf, host, and back. */
    private static final int LINKS_THERE_AND_BACK = 8;

    /** A task. */
    public enum Scenario {
        /** One flow; each of its packets, and each that answers, gets lost with 1 %. */
        LOSS(16, 1, 0.01, 64 << 20),

        /** The same with 10 %. */
        HEAVY_LOSS(16, 1, 0.1, 64 << 20),

        /** All hosts but one send to that one. */
        INCAST(65, 1, 0, 1 << 20),

        /** Each host sends to one other, and each is sent to by one. */
        PERMUTATION(64, 1, 0, 2 << 20),

        /** Pairs of hosts on eight planes, one of which dies a third of the way. */
        PLANE(4, 8, 0, 64 << 20);

        private final int hosts;
        private final int planes;
        private final double loss;
        private final long usualBytes;

        Scenario(int hosts, int planes, double loss, long usualBytes) {
            this.hosts = hosts;
            this.planes = planes;
            this.loss = loss;
            this.usualBytes = usualBytes;
        }

        /** Bytes of each flow, enough to see what a mechanism does. */
        public long usualBytes() {
            return usualBytes;
        }
    }

    /**
     * What is different.
     *
     * @param name of the row
     * @param hints receivers say how fast they may be sent to
     * @param paths of a lease, 1..64
     */
    public record Variant(String name, Mechanisms mechanisms, boolean hints, int paths) {
        private static final int USUAL_PATHS = 8;

        /** Everything as specified. */
        public static final Variant BASE =
                new Variant("as specified", Mechanisms.DEFAULT, true, USUAL_PATHS);

        /** True when it differs in no more than the number of paths. */
        public boolean isOnlyOfPaths() {
            return hints && mechanisms.equals(Mechanisms.DEFAULT);
        }

        private static Variant of(String name, Mechanisms mechanisms) {
            return new Variant(name, mechanisms, true, USUAL_PATHS);
        }
    }

    /**
     * What is measured.
     *
     * @param rateBitsPerSecond of every link
     * @param roundTripPs of the links alone, there and back
     * @param bytes of each flow
     */
    public record Setup(
            long seed,
            Scenario scenario,
            Variant variant,
            long rateBitsPerSecond,
            long roundTripPs,
            long bytes) {

        /** How long the narrowest place takes for the payload alone. */
        private long payloadPs() {
            int flows = scenario == Scenario.INCAST ? scenario.hosts - 1 : 1;
            double bits = 8.0 * bytes * flows;
            return (long) (bits / scenario.planes / rateBitsPerSecond * 1e12);
        }
    }

    /**
     * What came of it.
     *
     * @param goodputGbps payload that arrived, to the last completion or where it was stopped
     * @param share of what the narrowest place carries; nothing of a flow that failed
     * @param lastUs the last completion; NaN when flows were open at the end, or failed
     * @param queueBytesMax the longest queue of a switch
     * @param sentPerNeeded data packets sent, per packet of the payload
     * @param resent data packets sent again
     * @param failed flows
     */
    public record Outcome(
            Setup setup,
            double goodputGbps,
            double share,
            double lastUs,
            long queueBytesMax,
            double sentPerNeeded,
            long resent,
            int failed) {}

    private final Setup setup;
    private final Simulation simulation;

    private AblationStudy(Setup setup) {
        this.setup = setup;
        Scenario scenario = setup.scenario();
        Topology topology = topology();
        simulation = new Simulation(config(), topology);
        FlowList flows = flows(topology);
        simulation.add(flows);
        if (scenario.loss > 0) {
            Rng rng = new Rng(setup.seed()).fork("loss");
            LinkFaults.Rates rates = LinkFaults.Rates.ofLoss(scenario.loss);
            for (int host = 0; host < scenario.hosts; host++) {
                for (int uplink : simulation.routes().ports(host)) {
                    simulation.fabric().fault(uplink, rates, rng);
                }
            }
        }
        if (scenario == Scenario.PLANE) {
            long diesPs = setup.payloadPs() / 3;
            simulation.plan(
                    PlaneOutage.of(
                            topology, setup.seed(), scenario.planes, diesPs, PlaneOutage.NEVER));
        }
    }

    private SimConfig config() {
        Variant variant = setup.variant();
        long inbound = setup.scenario().planes * setup.rateBitsPerSecond();
        DeviceLimits limits =
                SimConfig.limits(variant.hints() ? inbound : 0).toBuilder()
                        .maxPaths(variant.paths())
                        .mechanisms(variant.mechanisms())
                        .build();
        return new SimConfig(
                setup.seed(), limits, FabricConfig.defaults(), NicModel.NONE, Connections.WARM);
    }

    private Topology topology() {
        return Topologies.build(
                TopologySpec.builder(TopologySpec.Kind.LEAF_SPINE)
                        .hosts(setup.scenario().hosts)
                        .planes(setup.scenario().planes)
                        .hostRate(setup.rateBitsPerSecond())
                        .delayPs(setup.roundTripPs() / LINKS_THERE_AND_BACK)
                        .build());
    }

    private FlowList flows(Topology topology) {
        int hosts = setup.scenario().hosts;
        return switch (setup.scenario()) {
            case LOSS, HEAVY_LOSS -> {
                FlowList.Builder one = FlowList.builder("transfer", hosts);
                one.add(0, hosts - 1, 0, setup.bytes());
                yield one.build();
            }
            case INCAST -> workload(WorkloadSpec.Kind.INCAST, topology);
            case PERMUTATION -> workload(WorkloadSpec.Kind.PERMUTATION, topology);
            case PLANE -> {
                FlowList.Builder pairs = FlowList.builder("pairs", hosts);
                for (int host = 0; host < hosts / 2; host++) {
                    pairs.add(host, host + hosts / 2, 0, setup.bytes());
                }
                yield pairs.build();
            }
        };
    }

    private FlowList workload(WorkloadSpec.Kind kind, Topology topology) {
        WorkloadSpec spec = WorkloadSpec.builder(kind).bytes(setup.bytes()).build(topology.hosts());
        return Workloads.build(spec, topology, new Rng(setup.seed()));
    }

    /** The base first, then all that differ from it in one thing. */
    public static List<Variant> variants() {
        List<Variant> variants = new ArrayList<>();
        Mechanisms usual = Mechanisms.DEFAULT;
        variants.add(Variant.BASE);
        variants.add(new Variant("no hints", usual, false, Variant.USUAL_PATHS));
        variants.add(Variant.of("no ECN", usual.withEcn(false)));
        variants.add(
                new Variant("no hints, no ECN", usual.withEcn(false), false, Variant.USUAL_PATHS));
        variants.add(Variant.of("NSCC", usual.with(CongestionAlgorithm.NSCC)));
        variants.add(
                new Variant(
                        "NSCC, no hints",
                        usual.with(CongestionAlgorithm.NSCC),
                        false,
                        Variant.USUAL_PATHS));
        variants.add(Variant.of("SACK of 64 bits", usual.withSackBits(64)));
        variants.add(Variant.of("no SACK", usual.withSackBits(0)));
        variants.add(Variant.of("sequence per lease", usual.with(SequenceSpace.LEASE)));
        variants.add(Variant.of("resend elsewhere", usual.with(ResendRoute.OTHER_PATH)));
        variants.add(Variant.of("paths by bitmap", usual.with(PathStrategy.BITMAP)));
        variants.add(Variant.of("recycled paths", usual.with(PathStrategy.RECYCLED)));
        for (int paths = 1; paths <= DeviceLimits.MAX_PATHS; paths *= 2) {
            if (paths != Variant.USUAL_PATHS) {
                String name = paths == 1 ? "1 path" : paths + " paths";
                variants.add(new Variant(name, usual, true, paths));
            }
        }
        return List.copyOf(variants);
    }

    /**
     * Runs a task.
     *
     * @param mayGoOn asked several times a second; what was seen until it says no counts
     */
    public static Outcome run(Setup setup, BooleanSupplier mayGoOn) {
        return new AblationStudy(setup).measure(mayGoOn);
    }

    private Outcome measure(BooleanSupplier mayGoOn) {
        Delivery all = Delivery.of(simulation, mayGoOn);
        Flows flows = simulation.flows();
        long wanted = 0;
        for (int flow = 0; flow < flows.count(); flow++) {
            wanted += flows.bytes(flow);
        }
        return new Outcome(
                setup,
                all.gbps(),
                (double) all.bytes() / wanted * setup.payloadPs() / all.lastPs(),
                all.ended() && flows.failed() == 0 ? all.lastPs() / 1e6 : Double.NaN,
                longestQueueBytes(),
                all.sentPerNeeded(),
                all.resent(),
                flows.failed());
    }

    private long longestQueueBytes() {
        Fabric fabric = simulation.fabric();
        long longest = 0;
        for (int port = 0; port < fabric.ports(); port++) {
            if (!simulation.topology().isHost(fabric.sender(port))) {
                longest = Math.max(longest, fabric.port(port).queueBytesMax());
            }
        }
        return longest;
    }
}
