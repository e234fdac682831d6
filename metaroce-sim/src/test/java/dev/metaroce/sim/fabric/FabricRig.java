package dev.metaroce.sim.fabric;

import dev.metaroce.sim.event.EventQueue;
import dev.metaroce.sim.event.Events;
import dev.metaroce.sim.topology.Routes;
import dev.metaroce.sim.topology.Topology;
import dev.metaroce.util.Rng;

import java.util.ArrayList;
import java.util.List;

/** A fabric with hosts that take what arrives and note it. */
final class FabricRig implements Fabric.Hosts {
    static final long GBPS = 1_000_000_000L;
    static final long US = 1_000_000L;

    private static final int HEADER_BYTES = 60;
    private static final int OVERHEAD_BYTES = 66;

    record Arrival(
            long atPs,
            int host,
            int source,
            int flowHash,
            int datagramBytes,
            boolean ce,
            int trafficClass) {}

    final EventQueue events = new EventQueue();
    final List<Arrival> arrivals = new ArrayList<>();
    final Fabric fabric;
    private final Routes routes;
    private long nowPs;

    FabricRig(Topology topology, FabricConfig config) {
        this(topology, config, 1);
    }

    FabricRig(Topology topology, FabricConfig config, long seed) {
        routes = Routes.of(topology);
        fabric =
                new Fabric(events, topology, routes, config, 2 * HEADER_BYTES, new Rng(seed), this);
    }

    /** Hosts on one switch. */
    static Topology star(int hosts, long rateBitsPerSecond, long delayPs) {
        Topology.Builder builder = Topology.builder("star", hosts, 1);
        int hub = builder.addSwitch("hub", 1, 0);
        for (int host = 0; host < hosts; host++) {
            builder.addLink(host, hub, rateBitsPerSecond, delayPs, 0);
        }
        return builder.build();
    }

    long nowPs() {
        return nowPs;
    }

    /** Sends a packet of so many bytes on the wire, at once, in its own class. */
    int send(int source, int destination, int wireBytes, int flowHash) {
        return send(source, destination, wireBytes, flowHash, 0);
    }

    int send(int source, int destination, int wireBytes, int flowHash, int trafficClass) {
        int packet =
                fabric.packet(
                        source,
                        destination,
                        flowHash,
                        wireBytes - OVERHEAD_BYTES,
                        Math.min(HEADER_BYTES, wireBytes - OVERHEAD_BYTES),
                        true);
        fabric.classify(packet, trafficClass);
        fabric.enqueue(nowPs, routes.ports(source)[0], packet);
        return packet;
    }

    void run() {
        runUntil(Long.MAX_VALUE);
    }

    /** Handles all that happens up to a time. */
    void runUntil(long untilPs) {
        while (events.nextTimePs() <= untilPs && events.next()) {
            nowPs = events.timePs();
            long event = events.event();
            int a = Events.a(event);
            switch (Events.kind(event)) {
                case Events.ARRIVE -> fabric.onArrive(nowPs, a, Events.b(event));
                case Events.PORT_FREE -> fabric.onPortFree(nowPs, a);
                default -> fabric.onEvent(nowPs, event);
            }
        }
        nowPs = untilPs == Long.MAX_VALUE ? nowPs : untilPs;
    }

    @Override
    public void onArrival(int host, int port, int packet) {
        arrivals.add(
                new Arrival(
                        nowPs,
                        host,
                        fabric.source(packet),
                        fabric.packets().get(packet, Packets.FLOW_HASH),
                        fabric.datagramBytes(packet),
                        fabric.isCe(packet),
                        fabric.packets().get(packet, Packets.TRAFFIC_CLASS)));
        fabric.give(packet);
    }

    @Override
    public void onPortFree(int host, int port) {}

    /** Bytes on the wire that arrived in a class. */
    long bytes(int trafficClass) {
        return arrivals.stream()
                .filter(a -> a.trafficClass() == trafficClass)
                .mapToLong(a -> a.datagramBytes() + OVERHEAD_BYTES)
                .sum();
    }

    long pauses() {
        long sum = 0;
        for (int port = 0; port < fabric.ports(); port++) {
            sum += fabric.port(port).pauses();
        }
        return sum;
    }

    /** Packets that were lost for whatever reason. */
    long losses() {
        long sum = 0;
        for (LossReason reason : LossReason.values()) {
            sum += losses(reason);
        }
        return sum;
    }

    long losses(LossReason reason) {
        long sum = 0;
        for (int port = 0; port < fabric.ports(); port++) {
            sum += fabric.port(port).losses(reason);
        }
        return sum;
    }
}
