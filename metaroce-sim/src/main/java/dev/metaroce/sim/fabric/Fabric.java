package dev.metaroce.sim.fabric;

import dev.metaroce.sim.event.EventQueue;
import dev.metaroce.sim.event.Events;
import dev.metaroce.sim.topology.Routes;
import dev.metaroce.sim.topology.Topology;
import dev.metaroce.util.Rng;
import dev.metaroce.wire.PacketMemory;

import org.jspecify.annotations.Nullable;

/**
 * The network: output-queued switches, store and forward, joined by links. A packet costs one event
 * per link it takes, and one more where it has to wait. Owned by the simulation's thread; allocates
 * only to grow.
 */
public final class Fabric {
    /** What hosts do. */
    public interface Hosts {
        /** A packet reached a host; it belongs to the host from now on. */
        void onArrival(int host, int port, int packet);

        /** A port of a host has nothing to send. */
        void onPortFree(int host, int port);
    }

    private final EventQueue events;
    private final Topology topology;
    private final Routes routes;
    private final FabricConfig config;
    private final Packets packets;
    private final Port[] ports;
    private final @Nullable Switch[] switches;
    private final int hostCount;
    private final Hosts hosts;
    private final Rng marking;

    /**
     * @param largestStoredBytes of any packet, elided payload not counted
     */
    public Fabric(
            EventQueue events,
            Topology topology,
            Routes routes,
            FabricConfig config,
            int largestStoredBytes,
            Rng rng,
            Hosts hosts) {
        this.events = events;
        this.topology = topology;
        this.routes = routes;
        this.config = config;
        this.hosts = hosts;
        packets = new Packets(largestStoredBytes);
        hostCount = topology.hosts();
        switches = new Switch[topology.nodes()];
        marking = rng.fork("marking");
        Rng seeds = rng.fork("switch hash");
        long common = seeds.nextLong();
        ports = new Port[2 * topology.links()];
        for (int link = 0; link < topology.links(); link++) {
            int a = topology.linkA(link);
            int b = topology.linkB(link);
            int plane = topology.plane(link);
            Switch at = switchAt(a, plane, seeds, common);
            Switch bt = switchAt(b, plane, seeds, common);
            ports[2 * link] = port(2 * link, b, at, topology.rateAbBitsPerSecond(link), link);
            ports[2 * link + 1] =
                    port(2 * link + 1, a, bt, topology.rateBaBitsPerSecond(link), link);
        }
    }

    private Port port(int id, int to, @Nullable Switch owner, long rate, int link) {
        if (owner != null) {
            owner.bufferBytes += (long) (config.bufferBytesPer100G() * (rate / 100e9));
        }
        return new Port(id, to, owner, rate, topology.delayPs(link), config);
    }

    private @Nullable Switch switchAt(int node, int plane, Rng seeds, long common) {
        if (node < hostCount) {
            return null;
        }
        Switch known = switches[node];
        if (known == null) {
            long seed = config.sameHashSeed() ? common : seeds.nextLong();
            known = new Switch(node, plane, seed, config.alpha());
            switches[node] = known;
        }
        return known;
    }

    public Packets packets() {
        return packets;
    }

    public Port port(int id) {
        return ports[id];
    }

    public int ports() {
        return ports.length;
    }

    // Packets from and to hosts

    /**
     * Makes a packet; the caller writes its bytes to {@link #memory} at {@link #offset}.
     *
     * @param datagramBytes of the UDP payload, elided bytes included
     * @param storedBytes of them that have room
     * @param flowHash what switches choose ways by: from addresses and source port
     */
    public int packet(
            int source,
            int destination,
            int flowHash,
            int datagramBytes,
            int storedBytes,
            boolean ect) {
        int packet = packets.take(storedBytes);
        int row = Packets.row(packet);
        int[] rows = packets.rows;
        rows[row + Packets.WIRE_BYTES] = datagramBytes + config.overheadBytes();
        rows[row + Packets.DESTINATION] = destination;
        rows[row + Packets.SOURCE] = source;
        rows[row + Packets.FLOW_HASH] = flowHash;
        rows[row + Packets.ELIDED_BYTES] = datagramBytes - storedBytes;
        rows[row + Packets.FLAGS] = ect ? Packets.ECT : 0;
        return packet;
    }

    public PacketMemory memory(int packet) {
        return packets.memory(packet);
    }

    public int offset(int packet) {
        return packets.offset(packet);
    }

    public int source(int packet) {
        return packets.get(packet, Packets.SOURCE);
    }

    /** Bytes of the UDP payload. */
    public int datagramBytes(int packet) {
        return packets.get(packet, Packets.STORED_BYTES) + elidedBytes(packet);
    }

    public int elidedBytes(int packet) {
        return packets.get(packet, Packets.ELIDED_BYTES);
    }

    public boolean isCe(int packet) {
        return packets.has(packet, Packets.CE);
    }

    /** A host is done with a packet. */
    public void give(int packet) {
        packets.give(packet);
    }

    /** True when the port could start a packet at once. */
    public boolean isIdle(int port, long nowPs) {
        Port p = ports[port];
        return p.isEmpty() && p.freeAtPs <= nowPs && !p.armed;
    }

    public boolean isDown(int port) {
        return ports[port].down;
    }

    // Events

    /** A packet reached the far end of a port. */
    public void onArrive(long nowPs, int port, int packet) {
        Port p = ports[port];
        if (p.down || p.downAtPs > nowPs - p.delayPs) {
            p.lost++;
            packets.give(packet);
            return;
        }
        if (p.toNode < hostCount) {
            hosts.onArrival(p.toNode, port, packet);
            return;
        }
        int out = nextPort(p.toNode, packet);
        if (out == Port.NONE) {
            p.lost++;
            packets.give(packet);
        } else {
            enqueue(nowPs, out, packet);
        }
    }

    private int nextPort(int node, int packet) {
        Switch s = switches[node];
        if (s == null) {
            return Port.NONE;
        }
        int[] ways = routes.nextPorts(node, packets.get(packet, Packets.DESTINATION), s.plane);
        int up = 0;
        for (int way : ways) {
            up += ports[way].down ? 0 : 1;
        }
        if (up == 0) {
            return Port.NONE;
        }
        int choice = s.choose(packets.get(packet, Packets.FLOW_HASH), up);
        if (up == ways.length) {
            return ways[choice];
        }
        for (int way : ways) {
            if (!ports[way].down && choice-- == 0) {
                return way;
            }
        }
        return Port.NONE;
    }

    /** Gives a packet to a port; it is sent, waits, or is dropped. */
    public void enqueue(long nowPs, int port, int packet) {
        Port p = ports[port];
        int bytes = packets.get(packet, Packets.WIRE_BYTES);
        Switch owner = p.owner;
        if (p.down || (owner != null && !owner.admits(p.queueBytes(), bytes))) {
            p.drops++;
            packets.give(packet);
            return;
        }
        if (owner != null) {
            owner.take(bytes);
            mark(p, packet);
        }
        p.append(packets, packet);
        if (p.armed) {
            return;
        }
        if (p.freeAtPs <= nowPs) {
            startNext(nowPs, p);
        } else {
            arm(p);
        }
    }

    private void mark(Port p, int packet) {
        long queue = p.queueBytes();
        if (queue < p.markFromBytes || !packets.has(packet, Packets.ECT)) {
            return;
        }
        if (queue < p.markAllBytes) {
            double part = (double) (queue - p.markFromBytes) / (p.markAllBytes - p.markFromBytes);
            if (!marking.chance(part * config.markProbabilityMax())) {
                return;
            }
        }
        packets.flag(packet, Packets.CE);
        p.marks++;
    }

    private void arm(Port p) {
        p.armed = true;
        events.add(p.freeAtPs, Events.of(Events.PORT_FREE, p.id, 0));
    }

    /** A port has sent its packet. */
    public void onPortFree(long nowPs, int port) {
        Port p = ports[port];
        p.armed = false;
        if (!p.isEmpty()) {
            startNext(nowPs, p);
        } else if (p.owner == null) {
            hosts.onPortFree(sender(port), port);
        }
    }

    /** The node that sends at a port. */
    public int sender(int port) {
        return (port & 1) == 0 ? topology.linkA(port >> 1) : topology.linkB(port >> 1);
    }

    private void startNext(long nowPs, Port p) {
        int packet = p.take(packets);
        int bytes = packets.get(packet, Packets.WIRE_BYTES);
        if (p.owner != null) {
            p.owner.usedBytes -= bytes;
        }
        p.freeAtPs = nowPs + p.serializationPs(bytes);
        p.txPackets++;
        p.txBytes += bytes;
        launch(p, packet);
        if (!p.isEmpty() || p.owner == null) {
            arm(p);
        }
    }

    private void launch(Port p, int packet) {
        LinkFaults faults = p.faults;
        LinkFaults.Fate fate = faults == null ? LinkFaults.Fate.ARRIVES : faults.next();
        if (fate == LinkFaults.Fate.LOST) {
            p.lost++;
            packets.give(packet);
            return;
        }
        if (fate == LinkFaults.Fate.CORRUPTED) {
            corrupt(packet);
        }
        events.add(p.freeAtPs + p.delayPs, Events.of(Events.ARRIVE, p.id, packet));
    }

    /** Flips a bit that the checksum covers. */
    private void corrupt(int packet) {
        int at = packets.offset(packet) + 4;
        PacketMemory memory = packets.memory(packet);
        memory.put8(at, memory.u8(at) ^ 1);
    }

    // Faults

    /** Makes one direction of a link lose or corrupt packets from now on. */
    public void fault(int port, LinkFaults.Rates rates, Rng rng) {
        ports[port].faults = new LinkFaults(rates, rng.fork("port " + port));
    }

    /** Takes a link down, with all that waits for it and is on it, or up. */
    public void setDown(long nowPs, int link, boolean down) {
        for (int port = 2 * link; port <= 2 * link + 1; port++) {
            Port p = ports[port];
            p.down = down;
            if (!down) {
                continue;
            }
            p.downAtPs = nowPs;
            while (!p.isEmpty()) {
                int packet = p.take(packets);
                if (p.owner != null) {
                    p.owner.usedBytes -= packets.get(packet, Packets.WIRE_BYTES);
                }
                p.lost++;
                packets.give(packet);
            }
        }
    }
}
