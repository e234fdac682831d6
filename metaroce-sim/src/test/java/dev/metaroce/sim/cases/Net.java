package dev.metaroce.sim.cases;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.CounterId;
import dev.metaroce.sim.fabric.FabricConfig;
import dev.metaroce.sim.fabric.Port;
import dev.metaroce.sim.run.Application;
import dev.metaroce.sim.run.Flows;
import dev.metaroce.sim.run.SimConfig;
import dev.metaroce.sim.run.Simulation;
import dev.metaroce.sim.topology.Topologies;
import dev.metaroce.sim.topology.Topology;
import dev.metaroce.sim.topology.TopologySpec;
import dev.metaroce.transport.DeviceLimits;

import java.util.function.LongPredicate;

/** A simulated network and what a case asks of it. Times are picoseconds. */
final class Net {
    static final long NS = 1_000;
    static final long US = 1_000 * NS;
    static final long MS = 1_000 * US;
    static final long SECOND = 1_000 * MS;
    static final long GIGABIT = 1_000_000_000L;
    static final long RATE = 100 * GIGABIT;

    /** Payload of a full packet. */
    static final int MTU = 4096;

    /** What a DATA packet of a WRITE has on the wire beside its payload: 66 + 48 + 4. */
    static final int DATA_OVERHEAD = 118;

    /** An ACK of one path on the wire: 66 + 48 + 4. */
    static final int ACK_BYTES = 118;

    final Topology topology;
    final Simulation simulation;
    final Flows flows;

    Net(long seed, Topology topology, DeviceLimits limits) {
        this(topology, new SimConfig(seed, limits, FabricConfig.defaults()));
    }

    Net(Topology topology, SimConfig config) {
        this(topology, config, Application.NONE);
    }

    Net(Topology topology, SimConfig config, Application application) {
        this.topology = topology;
        simulation = new Simulation(config, topology, application);
        flows = simulation.flows();
    }

    /** Limits of the simulator at 100 Gb/s, as the start of a change. */
    static DeviceLimits.Builder limits() {
        return SimConfig.limits(RATE).toBuilder();
    }

    /** Limits without any hint: rates follow from windows alone. */
    static DeviceLimits.Builder withoutHints() {
        return limits().inboundRateBitsPerSecond(0);
    }

    /** Two hosts with so many links between them, switches in between. */
    static Topology chain(int links, long rate, long delayPs) {
        Topology.Builder builder = Topology.builder("chain", 2, 1);
        int last = 0;
        for (int i = 1; i < links; i++) {
            int next = builder.addSwitch("s" + i, 1, 0);
            builder.addLink(last, next, rate, delayPs, 0);
            last = next;
        }
        builder.addLink(last, 1, rate, delayPs, 0);
        return builder.build();
    }

    /** Hosts around a switch of each plane; link {@code plane * hosts + host} is the host's. */
    static Topology star(int hosts, int planes, long rate, long delayPs) {
        return Topologies.build(
                TopologySpec.builder(TopologySpec.Kind.STAR)
                        .hosts(hosts)
                        .planes(planes)
                        .hostRate(rate)
                        .delayPs(delayPs)
                        .build());
    }

    /**
     * Senders 0..n-1 and receivers n..2n-1 on two switches; link 2n, from the senders' switch to
     * the receivers', is as fast as one host.
     */
    static Topology dumbbell(int pairs, long rate, long delayPs) {
        return Topologies.build(
                TopologySpec.builder(TopologySpec.Kind.DUMBBELL)
                        .hosts(2 * pairs)
                        .hostRate(rate)
                        .delayPs(delayPs)
                        .build());
    }

    /** Link {@code hosts + leaf * spines + spine} joins a leaf and a spine. */
    static Topology leafSpine(int leaves, int spines, int perLeaf, long rate, long delayPs) {
        return Topologies.build(
                TopologySpec.builder(TopologySpec.Kind.LEAF_SPINE)
                        .hosts(leaves * perLeaf)
                        .leaves(leaves)
                        .spines(spines)
                        .hostRate(rate)
                        .delayPs(delayPs)
                        .build());
    }

    /** Time on the wire at 100 Gb/s. */
    static long wirePs(long bytes) {
        return bytes * 80;
    }

    /** Bytes on the wire of a flow of so many payload bytes, nothing sent twice. */
    static long wireBytes(long bytes) {
        return bytes + (bytes + MTU - 1) / MTU * DATA_OVERHEAD;
    }

    /** Runs all events up to a time. */
    Net runUntil(long atPs) {
        while (simulation.nextEventPs() <= atPs) {
            simulation.run(1);
        }
        return this;
    }

    /** Runs until all flows ended; fails when one ends in error, or none is left to wait for. */
    Net runToEnd() {
        while (flows.ended() < flows.count() && flows.failed() == 0) {
            if (!simulation.run(1)) {
                break;
            }
        }
        assertThat(flows.failed()).as("flows that failed").isZero();
        assertThat(flows.ended()).as("flows that ended").isEqualTo(flows.count());
        return this;
    }

    /** Runs a flow to its end; returns the time that it took. */
    long timePs(int source, int destination, long bytes) {
        int flow = simulation.addFlow(source, destination, bytes, simulation.nowPs());
        runToEnd();
        return durationPs(flow);
    }

    long durationPs(int flow) {
        return flows.endPs(flow) - flows.startPs(flow);
    }

    /** Payload that a host accepts in the time to come, bits per second. */
    double rate(int host, long spanPs) {
        long fromPs = simulation.nowPs();
        long before = count(host, CounterId.PAYLOAD_BYTES);
        runUntil(fromPs + spanPs);
        return (count(host, CounterId.PAYLOAD_BYTES) - before) * 8.0 * SECOND / spanPs;
    }

    /** When the last flow ended. */
    long lastEndPs() {
        long last = 0;
        for (int flow = 0; flow < flows.count(); flow++) {
            last = Math.max(last, flows.endPs(flow));
        }
        return last;
    }

    long count(int host, CounterId id) {
        return simulation.engine(host).counters().get(id);
    }

    long countAll(CounterId id) {
        long sum = 0;
        for (int host = 0; host < topology.hosts(); host++) {
            sum += count(host, id);
        }
        return sum;
    }

    Port port(int id) {
        return simulation.fabric().port(id);
    }

    /** Packets that ports which satisfy the condition dropped or lost. */
    long lost(LongPredicate which) {
        long sum = 0;
        for (int id = 0; id < simulation.fabric().ports(); id++) {
            sum += which.test(id) ? port(id).drops() + port(id).lost() : 0;
        }
        return sum;
    }

    /** Jain's index of fairness: 1 when all are equal, 1/n when one has all. */
    static double jain(double[] values) {
        double sum = 0;
        double squares = 0;
        for (double value : values) {
            sum += value;
            squares += value * value;
        }
        return sum * sum / (values.length * squares);
    }
}
