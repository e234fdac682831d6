package dev.metaroce.sim.study;

import dev.metaroce.sim.fabric.FabricConfig;
import dev.metaroce.sim.run.Flows;
import dev.metaroce.sim.run.SimConfig;
import dev.metaroce.sim.run.Simulation;
import dev.metaroce.sim.topology.Topologies;
import dev.metaroce.sim.topology.TopologySpec;
import dev.metaroce.transport.DeviceLimits;

import java.util.List;

/**
 * What a lease costs a single small WRITE between two hosts around a switch that do nothing else,
 * from its posting to the completion at its sender.
 */
public final class LeaseLatency {
    private static final int LINKS_THERE_AND_BACK = 4;

    /** Longer than a lease lingers and its context rests. */
    private static final long PAUSE_PS = 100_000_000_000L;

    /**
     * What is measured.
     *
     * @param rateBitsPerSecond of every link
     * @param roundTripPs of the links alone, there and back
     * @param bytes of the WRITE
     */
    public record Setup(long seed, long rateBitsPerSecond, long roundTripPs, long bytes) {}

    /**
     * One kind of WRITE.
     *
     * @param what finds what
     * @param latencyUs from posting to completion
     * @param roundTrips that it takes longer than with a lease at hand, in terms of {@link
     *     Setup#roundTripPs}
     */
    public record Row(String what, double latencyUs, double roundTrips) {}

    private final Setup setup;
    private final Simulation simulation;

    private LeaseLatency(Setup setup, boolean earlyData) {
        this.setup = setup;
        DeviceLimits limits =
                SimConfig.limits(setup.rateBitsPerSecond()).toBuilder()
                        .earlyData(earlyData)
                        .build();
        simulation =
                new Simulation(
                        new SimConfig(setup.seed(), limits, FabricConfig.defaults()),
                        Topologies.build(
                                TopologySpec.builder(TopologySpec.Kind.STAR)
                                        .hosts(2)
                                        .hostRate(setup.rateBitsPerSecond())
                                        .delayPs(setup.roundTripPs() / LINKS_THERE_AND_BACK)
                                        .build()));
    }

    /** The rows, the slowest kind first. */
    public static List<Row> measure(Setup setup) {
        LeaseLatency hosts = new LeaseLatency(setup, false);
        double newUs = hosts.writeUs(0);
        double coldUs = hosts.writeUs(PAUSE_PS);
        double warmUs = hosts.writeUs(0);
        LeaseLatency early = new LeaseLatency(setup, true);
        early.writeUs(0);
        double earlyUs = early.writeUs(PAUSE_PS);
        return List.of(
                hosts.row("new connection", newUs, warmUs),
                hosts.row("cold: no lease", coldUs, warmUs),
                hosts.row("0-RTT: no lease", earlyUs, warmUs),
                hosts.row("warm: a lease", warmUs, warmUs));
    }

    private Row row(String what, double us, double warmUs) {
        return new Row(what, us, (us - warmUs) * 1e6 / setup.roundTripPs());
    }

    private double writeUs(long pausePs) {
        Flows flows = simulation.flows();
        long atPs = simulation.nowPs() + pausePs;
        int flow = simulation.addFlow(0, 1, setup.bytes(), atPs);
        while (flows.isOpen(flow)) {
            if (!simulation.run(1)) {
                throw new IllegalStateException("a WRITE without end");
            }
        }
        if (!flows.failure(flow).isEmpty()) {
            throw new IllegalStateException("a WRITE failed: " + flows.failure(flow));
        }
        return (flows.endPs(flow) - atPs) / 1e6;
    }
}
