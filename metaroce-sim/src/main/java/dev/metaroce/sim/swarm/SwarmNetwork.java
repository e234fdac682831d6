package dev.metaroce.sim.swarm;

import dev.metaroce.sim.fabric.Credits;
import dev.metaroce.sim.fabric.FabricConfig;
import dev.metaroce.sim.fabric.FlowControl;
import dev.metaroce.sim.fabric.Marking;
import dev.metaroce.sim.fabric.Pfc;
import dev.metaroce.sim.fabric.TrafficClass;
import dev.metaroce.sim.run.NicModel;
import dev.metaroce.sim.topology.Topologies;
import dev.metaroce.sim.topology.Topology;
import dev.metaroce.sim.topology.TopologySpec;
import dev.metaroce.sim.topology.TopologySpec.Kind;
import dev.metaroce.util.Rng;

/** The network of one swarm run: a small topology of a random kind, with random queues. */
final class SwarmNetwork {
    private static final long NS = 1_000;
    private static final long US = 1_000 * NS;
    private static final long GIGABIT = 1_000_000_000;
    private static final double BUFFER_UNIT_RATE = 100e9;
    private static final int MAX_HOSTS = 24;
    private static final int MARKS_NOTHING = 1 << 30;

    /** A port that is stopped for so long is drained. */
    private static final long STUCK_PS = 1_000 * US;

    /** A packet that waits for a slow NIC waits no longer than this. */
    private static final long NIC_PS = 5_000 * US;

    private final Rng rng;
    private final TopologySpec spec;
    final Topology topology;
    final FabricConfig config;
    final NicModel nic;

    SwarmNetwork(Rng rng, int mtu) {
        this.rng = rng;
        spec = spec();
        topology = Topologies.build(spec);
        config = config(mtu);
        nic = nic();
    }

    private long pick(long... choices) {
        return choices[rng.nextInt(choices.length)];
    }

    private TopologySpec spec() {
        Kind kind = Kind.values()[rng.nextInt(Kind.values().length)];
        long rate = GIGABIT * pick(1, 10, 25, 100, 100, 400);
        TopologySpec.Builder builder =
                TopologySpec.builder(kind)
                        .hosts(kind == Kind.PAIR ? 2 : hosts(kind))
                        .hostRate(rate)
                        .delayPs(rng.chance(0.1) ? 200 * US : NS * pick(50, 300, 1_000, 5_000))
                        .planes(rng.chance(0.3) ? 2 : 1);
        if (kind != Kind.STAR) {
            builder.parallel(rng.chance(0.7) ? 1 : 2 + rng.nextInt(2));
        }
        if (kind != Kind.STAR && kind != Kind.PAIR && rng.chance(0.5)) {
            builder.linkRate(rate * pick(1, 2, 5, 10) / 5);
        }
        if (kind == Kind.RING) {
            builder.switches(3 + rng.nextInt(4));
        }
        if (kind == Kind.LEAF_SPINE) {
            builder.leaves(1 + rng.nextInt(4)).spines(1 + rng.nextInt(3));
        }
        return builder.build();
    }

    private int hosts(Kind kind) {
        if (kind == Kind.FAT_TREE) {
            return 3 + rng.nextInt(14);
        }
        return rng.chance(0.3) ? 2 + rng.nextInt(3) : 2 + rng.nextInt(MAX_HOSTS - 1);
    }

    private FabricConfig config(int mtu) {
        int markFrom = rng.chance(0.2) ? MARKS_NOTHING : 1000 * (int) pick(5, 20, 50, 200);
        int markAll = rng.chance(0.5) ? markFrom : (int) Math.min(MARKS_NOTHING, 4L * markFrom);
        FabricConfig.Builder builder =
                FabricConfig.defaults().toBuilder()
                        .marking(new Marking(markFrom, markAll, pick(1, 5, 10) / 10.0, false))
                        .adaptiveRouting(rng.chance(0.2))
                        .sameHashSeed(rng.chance(0.1));
        TrafficClass data = TrafficClass.strict("data").withAlpha((double) pick(1, 2, 8));
        if (rng.chance(0.5)) {
            builder.classes(rng.chance(0.1) ? data.withoutEcn() : data);
            return builder.bufferBytesPer100G(buffer(mtu)).build();
        }
        if (rng.chance(0.3)) {
            data = data.asLossless();
            FlowControl credits = new Credits(0, STUCK_PS, true);
            builder.flowControl(rng.chance(0.3) ? credits : Pfc.defaults().withWatchdog(STUCK_PS));
        } else {
            builder.trimming(rng.chance(0.5));
        }
        TrafficClass control = TrafficClass.strict(TrafficClass.CONTROL);
        int ports = data.lossless() ? headroom(mtu) : 0;
        return builder.classes(control, data).bufferBytesPer100G(ports + buffer(mtu)).build();
    }

    /** A switch holds some packets for each of its ports at least, slow ones too. */
    private int buffer(int mtu) {
        double slowest = slowestRate() / BUFFER_UNIT_RATE;
        int least = (int) Math.min(1 << 29, 6 * (mtu + 200) / slowest);
        return Math.max(least, 1024 * (int) pick(8, 32, 128, 512, 1024));
    }

    /** More than what lossless classes need for each port. */
    private int headroom(int mtu) {
        double fastest = Math.max(spec.hostRateBitsPerSecond(), spec.linkRateBitsPerSecond());
        double onCable = 2.0 * spec.delayPs() * fastest / 8e12;
        double bytes = 8_192 + 4.0 * (mtu + 400) + onCable;
        return (int) Math.min(1 << 29, 2 * bytes * BUFFER_UNIT_RATE / slowestRate());
    }

    private NicModel nic() {
        return rng.chance(0.8)
                ? NicModel.NONE
                : new NicModel(
                        NS * pick(0, 20, 200),
                        NS * pick(0, 20, 200),
                        NS * pick(0, 300, 1_000),
                        (int) pick(0, 1, 8),
                        NS * pick(100, 500));
    }

    private long slowestRate() {
        long slowest = Long.MAX_VALUE;
        for (int link = 0; link < topology.links(); link++) {
            slowest = Math.min(slowest, topology.rateAbBitsPerSecond(link));
        }
        return slowest;
    }

    /** A bound of the time that a packet can spend in this network. */
    long longestWayPs() {
        double[] buffers = new double[topology.nodes()];
        double all = 0;
        for (int link = 0; link < topology.links(); link++) {
            double bytes =
                    config.bufferBytesPer100G()
                            * (topology.rateAbBitsPerSecond(link) / BUFFER_UNIT_RATE);
            buffers[topology.linkA(link)] += bytes;
            buffers[topology.linkB(link)] += bytes;
            all += 2 * bytes;
        }
        double largest = 0;
        for (int node = topology.hosts(); node < topology.nodes(); node++) {
            largest = Math.max(largest, buffers[node]);
        }
        int hops = spec.kind() == Kind.FAT_TREE || spec.kind() == Kind.RING ? 6 : 4;
        // Where senders are stopped, one queue can wait for all others.
        boolean stops = config.classes().getLast().lossless();
        double bytes = stops ? all : hops * largest;
        long queuePs = (long) (8e12 * bytes / slowestRate()) + (stops ? 2 * STUCK_PS : 0);
        return hops * spec.delayPs() + queuePs + (nic.equals(NicModel.NONE) ? 0 : NIC_PS);
    }

    /** Bits per second of a port of a host. */
    long hostRate() {
        return spec.hostRateBitsPerSecond();
    }

    @Override
    public String toString() {
        return "%s of %d hosts and %d switches, %d planes, %d and %d Mb/s, %d ns per link; %s; %s"
                .formatted(
                        spec.kind(),
                        topology.hosts(),
                        topology.switches(),
                        topology.planes(),
                        spec.hostRateBitsPerSecond() / 1_000_000,
                        spec.linkRateBitsPerSecond() / 1_000_000,
                        spec.delayPs() / NS,
                        config,
                        nic);
    }
}
