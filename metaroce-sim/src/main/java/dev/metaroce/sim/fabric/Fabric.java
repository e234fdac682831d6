package dev.metaroce.sim.fabric;

import dev.metaroce.sim.ConfigException;
import dev.metaroce.sim.event.EventQueue;
import dev.metaroce.sim.event.Events;
import dev.metaroce.sim.topology.Routes;
import dev.metaroce.sim.topology.Topology;
import dev.metaroce.util.Invariant;
import dev.metaroce.util.Rng;
import dev.metaroce.wire.Ecn;
import dev.metaroce.wire.PacketMemory;

import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;

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

    /** A byte that every packet has and every checksum covers; the ICRC leaves out the fifth. */
    private static final int CORRUPTED_AT = 9;

    private final EventQueue events;
    private final Topology topology;
    private final Routes routes;
    private final FabricConfig config;
    private final Packets packets;
    private final int dataClass;
    private final int controlClass;

    /** By class. */
    private final double[] alphas;

    private final boolean[] ecn;
    private final BitSet clearsEcn = new BitSet();
    private final boolean[] lossless;

    /** Null when no class is lossless. */
    private final @Nullable LosslessControl control;

    private final DeadlockFinder deadlocks;
    private final Port[] ports;
    private final @Nullable Switch[] switches;
    private final int hostCount;
    private final Hosts hosts;
    private int portsDown;
    private long watchdogs;
    private final List<LinkChange> plan = new ArrayList<>();
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
        dataClass = config.dataClass();
        controlClass = config.controlClass();
        alphas = config.classes().stream().mapToDouble(TrafficClass::alpha).toArray();
        ecn = new boolean[alphas.length];
        lossless = new boolean[alphas.length];
        for (int c = 0; c < ecn.length; c++) {
            ecn[c] = config.classes().get(c).ecn();
            lossless[c] = config.classes().get(c).lossless();
        }
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
        control = config.hasLossless() ? control() : null;
        deadlocks = new DeadlockFinder(topology, routes, ports, packets);
    }

    private LosslessControl control() {
        return switch (config.flowControl()) {
            case Pfc pfc -> new PauseControl(events, topology, config, pfc, ports);
            case Credits credits -> new CreditControl(events, topology, config, credits, ports);
        };
    }

    private Port port(int id, int to, @Nullable Switch owner, long rate, int link) {
        if (owner != null && config.switchBufferBytes() == 0) {
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
            known = new Switch(node, plane, seed);
            known.bufferBytes = config.switchBufferBytes();
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

    /** Packets that found no room, or got lost on their way, so far. */
    public long lostPackets() {
        long sum = 0;
        for (int id = 0; id < ports(); id++) {
            sum += port(id).drops() + port(id).lost();
        }
        return sum;
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
        int wireBytes = datagramBytes + config.overheadBytes();
        Invariant.check(
                control == null || wireBytes <= config.mtuBytes(),
                "headroom is for packets as large as this",
                wireBytes,
                config.mtuBytes());
        int packet = packets.take(storedBytes);
        int row = Packets.row(packet);
        int[] rows = packets.rows;
        rows[row + Packets.WIRE_BYTES] = wireBytes;
        rows[row + Packets.DESTINATION] = destination;
        rows[row + Packets.SOURCE] = source;
        rows[row + Packets.FLOW_HASH] = flowHash;
        rows[row + Packets.ELIDED_BYTES] = datagramBytes - storedBytes;
        rows[row + Packets.FLAGS] = ect ? Packets.ECT : 0;
        rows[row + Packets.TRAFFIC_CLASS] = ect ? dataClass : controlClass;
        return packet;
    }

    /** Makes a second packet like this one. */
    public int copy(int packet) {
        int copy = packets.copy(packet);
        int stored = packets.get(packet, Packets.STORED_BYTES);
        memory(copy).bytes().put(offset(copy), memory(packet).bytes(), offset(packet), stored);
        return copy;
    }

    /** Puts a packet into another class than it has by itself, before it is enqueued. */
    public void classify(int packet, int trafficClass) {
        Invariant.check(
                trafficClass >= 0 && trafficClass < alphas.length,
                "the class exists",
                trafficClass,
                alphas.length);
        packets.set(packet, Packets.TRAFFIC_CLASS, trafficClass);
    }

    /** Notes the UDP source port that a packet comes from, for its receiver to ask. */
    public void sourcePort(int packet, int port) {
        packets.set(packet, Packets.SOURCE_PORT, port);
    }

    public int sourcePort(int packet) {
        return packets.get(packet, Packets.SOURCE_PORT);
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

    /** Bytes that the packet takes on a wire. */
    public int wireBytes(int packet) {
        return packets.get(packet, Packets.WIRE_BYTES);
    }

    /** Bytes of the UDP payload. */
    public int datagramBytes(int packet) {
        return packets.get(packet, Packets.STORED_BYTES) + elidedBytes(packet);
    }

    public int elidedBytes(int packet) {
        return packets.get(packet, Packets.ELIDED_BYTES);
    }

    /** True for DATA and PROBE, which switches may mark; false for answers and control. */
    public boolean isEct(int packet) {
        return packets.has(packet, Packets.ECT);
    }

    public boolean isCe(int packet) {
        return packets.has(packet, Packets.CE);
    }

    /** What the engine of its destination sees. */
    public Ecn ecn(int packet) {
        if (!isEct(packet) || clearsEcn.get(packets.get(packet, Packets.DESTINATION))) {
            return Ecn.NOT_ECT;
        }
        return isCe(packet) ? Ecn.CE : Ecn.ECT;
    }

    /** A host is done with a packet. */
    public void give(int packet) {
        packets.give(packet);
    }

    /** True when the port could start a packet at once. */
    public boolean isIdle(int port, long nowPs) {
        return ports[port].isIdle(nowPs);
    }

    public boolean isDown(int port) {
        return ports[port].down;
    }

    // Events

    /** A packet reached the far end of a port. */
    public void onArrive(long nowPs, int port, int packet) {
        Port p = ports[port];
        if (nowPs <= p.lostUntilPs) {
            lose(p, packet, LossReason.LINK_DOWN);
            return;
        }
        if (p.toNode < hostCount) {
            hosts.onArrival(p.toNode, port, packet);
            return;
        }
        packets.set(packet, Packets.IN_PORT, port);
        int out = nextPort(nowPs, p.toNode, packet);
        if (out == Port.NONE) {
            turnAway(nowPs, p, packet);
            lose(p, packet, LossReason.NO_ROUTE);
        } else {
            enqueue(nowPs, out, packet);
        }
    }

    private int nextPort(long nowPs, int node, int packet) {
        int destination = packets.get(packet, Packets.DESTINATION);
        int hashed = hashedWay(node, destination, packets.get(packet, Packets.FLOW_HASH));
        return config.adaptiveRouting() && hashed != Port.NONE
                ? leastLoaded(nowPs, node, destination, hashed)
                : hashed;
    }

    /** The port of a switch that packets of a flow take; {@link Port#NONE} when none leads on. */
    int hashedWay(int node, int destination, int flowHash) {
        Switch s = switches[node];
        if (s == null) {
            return Port.NONE;
        }
        int[] ways = routes.nextPorts(node, destination, s.plane);
        if (portsDown == 0 && ways.length > 0) {
            return ways[s.choose(flowHash, ways.length)];
        }
        int up = 0;
        for (int way : ways) {
            up += ports[way].down ? 0 : 1;
        }
        if (up == 0) {
            return Port.NONE;
        }
        int choice = s.choose(flowHash, up);
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

    /** The way whose port will be free first; of several such, that of the hash. */
    private int leastLoaded(long nowPs, int node, int destination, int hashed) {
        int best = hashed;
        double bestWaitPs = ports[hashed].waitPs(nowPs);
        for (int way : routes.nextPorts(node, destination, topology.planeOfSwitch(node))) {
            double waitPs = ports[way].waitPs(nowPs);
            if (!ports[way].down && waitPs < bestWaitPs) {
                best = way;
                bestWaitPs = waitPs;
            }
        }
        return best;
    }

    /** Gives a packet to a port; it is sent, waits, or is dropped. */
    public void enqueue(long nowPs, int port, int packet) {
        Port p = ports[port];
        Switch owner = p.owner;
        if (p.down) {
            if (owner != null) {
                turnAway(nowPs, ports[packets.get(packet, Packets.IN_PORT)], packet);
            }
            lose(p, packet, LossReason.LINK_DOWN);
            return;
        }
        if (p.isIdle(nowPs) && passes(p, owner, packet)) {
            send(nowPs, p, packet);
            return;
        }
        if (owner != null && !enter(nowPs, p, owner, packet)) {
            return;
        }
        p.append(packets, packet);
        kick(nowPs, p);
    }

    /** True when a packet that need not wait is neither marked nor dropped, nor held to credits. */
    private boolean passes(Port p, @Nullable Switch owner, int packet) {
        if (owner == null || control != null || p.markFromBytes == 0) {
            return owner == null && control == null;
        }
        int bytes = packets.get(packet, Packets.WIRE_BYTES);
        return owner.admits(0, bytes, alphas[packets.get(packet, Packets.TRAFFIC_CLASS)]);
    }

    /** Finds room in the switch for a packet, which may be marked, or trims or loses it. */
    private boolean enter(long nowPs, Port p, Switch owner, int packet) {
        int trafficClass = packets.get(packet, Packets.TRAFFIC_CLASS);
        long ahead = p.queue(trafficClass).bytes();
        LossReason refused = refusal(nowPs, p, owner, ahead, packet);
        if (refused == null) {
            if (ahead >= p.markFromBytes && ecn[trafficClass]) {
                mark(p, ahead, packet);
            }
            return true;
        }
        if (refused == LossReason.QUEUE_FULL && config.trimming() && trafficClass != controlClass) {
            trim(p, packet);
            return enter(nowPs, p, owner, packet);
        }
        lose(p, packet, refused);
        return false;
    }

    private void trim(Port p, int packet) {
        p.countLoss(LossReason.TRIMMED);
        packets.cut(packet, config.overheadBytes());
        packets.set(packet, Packets.TRAFFIC_CLASS, controlClass);
        // What is left must not pass for a whole packet without payload.
        corrupt(packet);
    }

    /** Takes room for a packet; when there is none, the reason. */
    private @Nullable LossReason refusal(long nowPs, Port p, Switch owner, long ahead, int packet) {
        int trafficClass = packets.get(packet, Packets.TRAFFIC_CLASS);
        int bytes = packets.get(packet, Packets.WIRE_BYTES);
        if (control != null && lossless[trafficClass]) {
            Port in = ports[packets.get(packet, Packets.IN_PORT)];
            if (p.scheduler != null && p.scheduler.isDraining(trafficClass)) {
                turnAway(nowPs, in, packet);
                return LossReason.WATCHDOG;
            }
            return control.admit(nowPs, in, trafficClass, bytes) ? null : LossReason.LOSSLESS;
        }
        if (!owner.admits(ahead, bytes, alphas[trafficClass])) {
            return LossReason.QUEUE_FULL;
        }
        owner.take(bytes);
        return null;
    }

    /** A packet that was sent on a link does not get into the switch at its end. */
    private void turnAway(long atPs, Port in, int packet) {
        int trafficClass = packets.get(packet, Packets.TRAFFIC_CLASS);
        if (control != null && lossless[trafficClass]) {
            control.onTurnedAway(atPs, in, trafficClass, packets.get(packet, Packets.WIRE_BYTES));
        }
    }

    /** A packet is no longer in the buffer of a switch. */
    private void release(long nowPs, Port p, int packet) {
        Switch owner = p.owner;
        if (owner == null) {
            return;
        }
        int trafficClass = packets.get(packet, Packets.TRAFFIC_CLASS);
        int bytes = packets.get(packet, Packets.WIRE_BYTES);
        if (control != null && lossless[trafficClass]) {
            Port in = ports[packets.get(packet, Packets.IN_PORT)];
            control.release(nowPs, in, trafficClass, bytes);
        } else {
            owner.usedBytes -= bytes;
        }
    }

    /** Sends what may be sent, now or when the port will be free. */
    private void kick(long nowPs, Port p) {
        if (p.armed || !p.hasNext()) {
            // An event may be due at this very time: that one starts the packet, and only that.
            return;
        }
        if (p.freeAtPs <= nowPs) {
            startNext(nowPs, p);
        } else {
            arm(p);
        }
    }

    private void mark(Port p, long ahead, int packet) {
        if (!packets.has(packet, Packets.ECT)) {
            return;
        }
        if (ahead < p.markAllBytes) {
            double part = (double) (ahead - p.markFromBytes) / (p.markAllBytes - p.markFromBytes);
            if (!marking.chance(part * config.marking().probabilityMax())) {
                return;
            }
        }
        packets.flag(packet, Packets.CE);
        p.marks++;
    }

    private void lose(Port p, int packet, LossReason reason) {
        if (!packets.has(packet, Packets.TRIMMED)) {
            p.countLoss(reason);
        }
        packets.give(packet);
    }

    private void arm(Port p) {
        p.armed = true;
        events.add(p.freeAtPs, Events.of(Events.PORT_FREE, p.id, 0));
    }

    /** A port has sent its packet. */
    public void onPortFree(long nowPs, int port) {
        Port p = ports[port];
        p.armed = false;
        if (p.freeAtPs > nowPs) {
            // A frame of flow control went ahead.
            arm(p);
        } else if (p.hasNext()) {
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
        release(nowPs, p, packet);
        if (control != null && lossless[packets.get(packet, Packets.TRAFFIC_CLASS)]) {
            int bytes = packets.get(packet, Packets.WIRE_BYTES);
            control.onSent(nowPs, p, packets.get(packet, Packets.TRAFFIC_CLASS), bytes);
        }
        send(nowPs, p, packet);
    }

    private void send(long nowPs, Port p, int packet) {
        int bytes = packets.get(packet, Packets.WIRE_BYTES);
        p.freeAtPs = nowPs + p.serializationPs(bytes);
        p.txPackets++;
        p.txBytes += bytes;
        launch(p, packet);
        if (p.hasNext() || p.owner == null) {
            arm(p);
        }
    }

    private void launch(Port p, int packet) {
        LinkFaults faults = p.faults;
        LinkFaults.Fate fate = faults == null ? LinkFaults.Fate.ARRIVES : faults.next();
        if (fate == LinkFaults.Fate.LOST) {
            turnAway(p.freeAtPs + p.delayPs, p, packet);
            lose(p, packet, LossReason.WIRE);
            return;
        }
        if (fate == LinkFaults.Fate.CORRUPTED) {
            corrupt(packet);
        }
        events.add(p.freeAtPs + p.delayPs, Events.of(Events.ARRIVE, p.id, packet));
    }

    /** Flips a bit that checksums cover; never twice, which would heal the packet. */
    private void corrupt(int packet) {
        if (packets.has(packet, Packets.CORRUPT)) {
            return;
        }
        packets.flag(packet, Packets.CORRUPT);
        int at = packets.offset(packet) + CORRUPTED_AT;
        PacketMemory memory = packets.memory(packet);
        memory.put8(at, memory.u8(at) ^ 1);
    }

    /** Handles an event of any other kind. */
    public void onEvent(long nowPs, long event) {
        int a = Events.a(event);
        switch (Events.kind(event)) {
            case Events.LINK_CHANGE -> {
                LinkChange change = plan.get(a);
                setDown(nowPs, change.link(), change.down());
            }
            case Events.FLOW_CONTROL -> onFlowControl(nowPs, ports[a], Events.b(event));
            case Events.STUCK -> onStuck(nowPs, ports[a], Events.b(event));
            default -> throw new IllegalStateException("event " + event);
        }
    }

    private void onFlowControl(long nowPs, Port by, int content) {
        if (control != null && nowPs > by.lostUntilPs && control.onFrame(nowPs, by, content)) {
            kick(nowPs, ports[by.id ^ 1]);
        }
    }

    /** A port may have been stopped in a class for as long as is thought bad. */
    private void onStuck(long nowPs, Port p, int trafficClass) {
        long sincePs = nowPs - config.flowControl().stuckAfterPs();
        Scheduler scheduler = p.scheduler;
        if (scheduler == null || !scheduler.isPausedSince(trafficClass, sincePs)) {
            return;
        }
        deadlocks.look(p, trafficClass, sincePs);
        if (config.flowControl().drainStuck()) {
            watchdogs++;
            scheduler.drain(trafficClass);
            while (!scheduler.queue(trafficClass).isEmpty()) {
                int packet = p.take(packets, trafficClass);
                release(nowPs, p, packet);
                lose(p, packet, LossReason.WATCHDOG);
            }
        }
    }

    /** Circles of ports that wait for each other, each as {@code a->b->c->a}. */
    public List<String> deadlocks() {
        return deadlocks.found();
    }

    /** How often the watchdog emptied a port that was stopped for too long. */
    public long watchdogs() {
        return watchdogs;
    }

    /** What happened so far at all ports. */
    public FabricReport report(long nowPs) {
        return FabricReport.of(this, topology, nowPs);
    }

    /** What happened so far and should not; one line each. */
    public List<String> warnings() {
        return FabricReport.warnings(this, topology);
    }

    /** Counts how flows would spread over equal ways. */
    public EcmpCensus census() {
        return new EcmpCensus(this, topology, routes);
    }

    // Faults

    /** Makes one direction of a link lose or corrupt packets from now on. */
    public void fault(int port, LinkFaults.Rates rates, Rng rng) {
        ports[port].faults = new LinkFaults(rates, rng.fork("port " + port));
    }

    /** Makes a port mark each packet that finds so many bytes before it; 0: every packet. */
    public void markFrom(int port, long bytes) {
        ports[port].markFromBytes = bytes;
        ports[port].markAllBytes = bytes;
    }

    /** The ECN field of all that goes to a host is cleared right before it. */
    public void clearEcnTo(int host) {
        clearsEcn.set(host);
    }

    /** Plans link failures and repairs, none of them before now. */
    public void plan(List<LinkChange> changes) {
        for (LinkChange change : changes) {
            if (change.link() < 0 || 2 * change.link() >= ports.length || change.atPs() < 0) {
                throw new ConfigException(
                        "%s: there are the links 0 to %d, and times from 0"
                                .formatted(change, ports.length / 2 - 1));
            }
            events.add(change.atPs(), Events.of(Events.LINK_CHANGE, plan.size(), 0));
            plan.add(change);
        }
    }

    /** Takes a link down, with all that waits for it and is on it, or up. */
    public void setDown(long nowPs, int link, boolean down) {
        if (ports[2 * link].down == down) {
            return;
        }
        for (int port = 2 * link; port <= 2 * link + 1; port++) {
            Port p = ports[port];
            p.down = down;
            portsDown += down ? 1 : -1;
            if (down) {
                p.lostUntilPs = Math.max(nowPs, p.freeAtPs) + p.delayPs;
            }
        }
        for (int port = 2 * link; port <= 2 * link + 1; port++) {
            Port p = ports[port];
            if (down) {
                flush(nowPs, p);
                continue;
            }
            if (control != null) {
                control.onLinkUp(nowPs, p);
            }
            if (p.owner == null) {
                hosts.onPortFree(sender(port), port);
            }
        }
    }

    private void flush(long nowPs, Port p) {
        if (p.scheduler != null) {
            p.scheduler.resumeAll(nowPs);
        }
        while (!p.isEmpty()) {
            int packet = p.take(packets);
            release(nowPs, p, packet);
            lose(p, packet, LossReason.LINK_DOWN);
        }
    }
}
