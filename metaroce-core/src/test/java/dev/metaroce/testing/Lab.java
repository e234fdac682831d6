package dev.metaroce.testing;

import dev.metaroce.engine.Engine;
import dev.metaroce.event.CounterId;
import dev.metaroce.event.EventSink;
import dev.metaroce.rocev2.RoceProtocol;
import dev.metaroce.rocev2.RoceSettings;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.transport.EndpointIdentity;
import dev.metaroce.util.Rng;
import dev.metaroce.util.TimerTable;
import dev.metaroce.verbs.Driver;
import dev.metaroce.verbs.RdmaDevice;
import dev.metaroce.wire.Ecn;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.PacketMemory;
import dev.metaroce.wire.PacketView;
import dev.metaroce.wire.TxBatch;
import dev.metaroce.wire.roce.Bth;
import dev.metaroce.wire.roce.RcOpcode;
import dev.metaroce.wire.roce.RoceUdp;

import org.jspecify.annotations.Nullable;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.function.BooleanSupplier;
import java.util.function.IntSupplier;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Any number of real engines in virtual time, joined by a network whose every packet a test may
 * drop, copy, hold back or change. One thread; the same seed gives the same run, packet for packet.
 */
public final class Lab {
    /** One packet on its way. */
    public static final class Packet {
        public final Node from;
        public final NetAddress source;
        public final NetAddress destination;
        public final int route;
        public byte[] bytes;

        /** Payload bytes that count but do not travel. */
        public int elided;

        public Ecn ecn = Ecn.ECT;
        public long delayNs;
        private long dueNs;
        private long order;

        private Packet(Node from, NetAddress source, NetAddress to, int route, byte[] bytes) {
            this.from = from;
            this.source = source;
            this.destination = to;
            this.route = route;
            this.bytes = bytes;
        }

        private Packet(Packet other) {
            this(other.from, other.source, other.destination, other.route, other.bytes.clone());
            elided = other.elided;
            ecn = other.ecn;
            delayNs = other.delayNs;
        }

        /** Bytes of the packet, whether they travel or not. */
        public int length() {
            return bytes.length + elided;
        }

        /** Operation, queue pair and PSN of a RoCEv2 packet. */
        private String roceText() {
            PacketMemory m = new PacketMemory(bytes.length);
            m.bytes().put(0, bytes);
            return "%s QP 0x%06x PSN 0x%06x%s %d bytes"
                    .formatted(
                            RcOpcode.of(Bth.opcode(m, 0)),
                            Bth.destQp(m, 0),
                            Bth.psn(m, 0),
                            Bth.ackReq(m, 0) ? " A" : "",
                            length());
        }

        public PacketView view() {
            PacketMemory memory = new PacketMemory(bytes.length);
            memory.bytes().put(0, bytes);
            memory.elide(elided);
            return PacketView.parse(memory, 0, length());
        }
    }

    /** What happens to packets; called in sending order. */
    @FunctionalInterface
    public interface Fault {
        /** Returns how many copies arrive: 0 drops the packet; may change delay, mark and bytes. */
        int onPacket(Packet packet);
    }

    /** One endpoint. */
    public final class Node implements Driver {
        public final Engine engine;
        public final RdmaDevice device;

        /** The first one. */
        public final NetAddress address;

        private final List<NetAddress> addresses = new ArrayList<>();
        private final int number;
        private final List<Integer> sourcePorts;
        private final TxBatch batch;
        private final ArrayDeque<Integer> forcedKeys = new ArrayDeque<>();
        private final boolean gathers;
        private final @Nullable UnaryOperator<RoceSettings> roce;
        private final List<Packet> unread = new ArrayList<>();
        private long stoppedNs = -1;
        private boolean dead;

        private Node(
                int number,
                DeviceLimits limits,
                @Nullable UnaryOperator<RoceSettings> roce,
                EventSink events) {
            this.number = number;
            this.roce = roce;
            gathers = gathering;
            batch = new TxBatch(new PacketMemory(BATCH_BYTES), BATCH_RUNS, 64, gathers);
            int port = roce == null ? METAROCE_PORT : RoceUdp.PORT;
            for (int plane = 0; plane < planes; plane++) {
                addresses.add(NetAddress.ofIpv4(FIRST + (plane << PLANE_SHIFT) + number, port));
            }
            address = addresses.getFirst();
            sourcePorts = IntStream.range(0, ROUTES).mapToObj(route -> port + route).toList();
            Rng own = rng.fork("node " + number + " process " + ++incarnations);
            Rng keys = own.fork("keys");
            EndpointIdentity identity =
                    new EndpointIdentity(
                            own.nextLong(), incarnations, planes > 1 ? addresses : List.of());
            IntSupplier keySource = () -> forcedKeys.isEmpty() ? keys.nextInt() : forcedKeys.poll();
            engine =
                    roce == null
                            ? new Engine(limits, identity, own, keySource, events)
                            : new Engine(
                                    new RoceProtocol(limits, settings(roce), keySource, events),
                                    keySource);
            device = new RdmaDevice(engine, this);
        }

        private RoceSettings settings(UnaryOperator<RoceSettings> changes) {
            RoceSettings plain = RoceSettings.at(address);
            return changes.apply(
                    plain.toBuilder().addresses(addresses).sourcePorts(sourcePorts).build());
        }

        /**
         * What the key source gives next: the key of the next region registered, or the first PSN
         * of the next grant.
         */
        public void forceKey(int key) {
            forcedKeys.add(key);
        }

        public boolean isDead() {
            return dead;
        }

        /** The process dies: it neither receives nor sends from now on. */
        public void kill() {
            dead = true;
            deadlines.cancel(number);
        }

        /** The process is stopped: it does nothing, and what arrives waits in its sockets. */
        public void stop() {
            stoppedNs = nowNs;
            deadlines.cancel(number);
        }

        /** The process goes on, and finds that it was late. */
        public void goOn() {
            engine.notePause(nowNs, nowNs - stoppedNs);
            stoppedNs = -1;
            unread.forEach(packet -> deliver(packet, this));
            unread.clear();
            pump();
        }

        public long count(CounterId id) {
            return engine.counters().get(id);
        }

        private void pump() {
            if (dead || stoppedNs >= 0) {
                return;
            }
            engine.drainPosted(nowNs);
            if (engine.nextDeadlineNs() - nowNs <= 0) {
                engine.onTimeout(nowNs);
            }
            int sent = 1;
            for (int i = 0; i < MAX_BATCHES_PER_TURN && sent > 0; i++) {
                batch.clear();
                sent = engine.pollTransmit(nowNs, batch);
                sendBatch();
            }
            if (sent > 0) {
                rung.add(this);
            }
            deadlines.set(number, engine.nextDeadlineNs());
        }

        private void sendBatch() {
            for (int run = 0; run < batch.runs(); run++) {
                int at = batch.offset(run);
                int end = at + batch.bytes(run);
                int route = batch.route(run);
                NetAddress to = batch.destination(run);
                NetAddress own = addresses.get(to.plane());
                int port = sourcePorts.get(route);
                NetAddress source = new NetAddress(own.high(), own.low(), port, 0, arrival(to));
                for (int number = batch.firstPacket(run); at < end; number++) {
                    int size = Math.min(batch.segmentBytes(run), end - at);
                    int elided = gathers ? batch.lentBytes(number) : 0;
                    byte[] bytes = new byte[size - elided];
                    int head = elided > 0 ? batch.lentAt(number) : bytes.length;
                    batch.memory().bytes().get(at, bytes, 0, head);
                    batch.memory()
                            .bytes()
                            .get(at + head + elided, bytes, head, size - elided - head);
                    at += size;
                    Packet packet = new Packet(this, source, to, route, bytes);
                    packet.elided = elided;
                    packet.ecn = batch.ect(run) ? Ecn.ECT : Ecn.NOT_ECT;
                    launch(packet);
                }
            }
        }

        @Override
        public int progress() {
            return step() ? 1 : 0;
        }

        @Override
        public void idle(long maxNs) {}

        @Override
        public void wake() {
            rung.add(this);
        }

        @Override
        public boolean await(BooleanSupplier condition, long timeoutNs) {
            return driveUntil(condition, timeoutNs);
        }

        @Override
        public void handlerFailed(RuntimeException cause) {
            throw cause;
        }

        @Override
        public void close() {
            kill();
        }
    }

    private record Note(long atNs, String what, Packet packet) {
        @Override
        public String toString() {
            Object view =
                    packet.destination.port() == RoceUdp.PORT ? packet.roceText() : packet.view();
            return atNs + " " + what + " " + packet.source + " " + view;
        }
    }

    private static final int METAROCE_PORT = 50_791;
    private static final int FIRST = 0x0A00_0000;
    private static final int PLANE_SHIFT = 20;
    private static final int ROUTES = 64;
    private static final int BATCH_BYTES = 1 << 20;
    private static final int BATCH_RUNS = 256;
    private static final int MAX_DATAGRAMS_PER_TURN = 64;
    private static final int MAX_BATCHES_PER_TURN = 64;
    private static final int MAX_STEPS_AT_ONE_TIME = 100_000;

    private final Rng rng;
    private final List<Node> nodes = new ArrayList<>();
    private final ArrayDeque<Node> rung = new ArrayDeque<>();
    private final List<Fault> faults = new ArrayList<>();
    private final ArrayDeque<Note> recent = new ArrayDeque<>();
    private final TimerTable deadlines = new TimerTable(16);
    private final PriorityQueue<Packet> wire =
            new PriorityQueue<>(
                    Comparator.<Packet>comparingLong(p -> p.dueNs).thenComparingLong(p -> p.order));
    private final PacketMemory inbox = new PacketMemory(1 << 16);
    private long nowNs = 1_000_000_000L;
    private long lastStepNs;
    private int standing;
    private long order;
    private long latencyNs = 5_000;
    private long bitsPerSecond;
    private long coalesceNs = -1;
    private boolean gathering;
    private int planes = 1;
    private long[] portFreeNs = new long[1];
    private long markAboveNs = Long.MAX_VALUE;
    private long dropAboveNs = Long.MAX_VALUE;
    private int incarnations;

    public Lab(long seed) {
        rng = new Rng(seed);
    }

    public Rng rng(String label) {
        return rng.fork(label);
    }

    public Node add(DeviceLimits limits) {
        return add(limits, EventSink.NONE);
    }

    public Node add(DeviceLimits limits, EventSink events) {
        DeviceLimits routed = limits.toBuilder().routes(Math.min(limits.routes(), ROUTES)).build();
        return add(new Node(nodes.size(), routed, null, events));
    }

    /** A node that speaks RoCEv2, with changes to the default settings. */
    public Node addRoce(DeviceLimits limits, UnaryOperator<RoceSettings> changes) {
        return add(new Node(nodes.size(), limits, changes, EventSink.NONE));
    }

    private Node add(Node node) {
        nodes.add(node);
        portFreeNs = java.util.Arrays.copyOf(portFreeNs, nodes.size());
        return node;
    }

    /** A new process at the address of a dead one. */
    public Node replace(Node old, DeviceLimits limits) {
        int number = old.number;
        old.kill();
        Node node = new Node(number, limits, old.roce, EventSink.NONE);
        nodes.set(number, node);
        return node;
    }

    public void latencyNs(long oneWayNs) {
        latencyNs = oneWayNs;
    }

    /** Gives every node an inbound link of this rate, which marks and drops above these queues. */
    public void link(long rateBitsPerSecond, long markAboveQueueNs, long dropAboveQueueNs) {
        bitsPerSecond = rateBitsPerSecond;
        markAboveNs = markAboveQueueNs;
        dropAboveNs = dropAboveQueueNs;
    }

    /**
     * A node takes all datagrams that arrive within this time before it answers any, as a driver
     * does that receives in batches. Negative, the default: it answers each.
     */
    public void coalesceNs(long ns) {
        coalesceNs = ns;
    }

    /** Nodes added from now on have so many addresses. */
    public void planes(int count) {
        planes = count;
    }

    /** Nodes added from now on send from virtual regions, and only from such. */
    public void gather() {
        gathering = true;
    }

    public void addFault(Fault fault) {
        faults.add(fault);
    }

    public void heal() {
        faults.clear();
    }

    public long nowNs() {
        return nowNs;
    }

    private void launch(Packet packet) {
        packet.delayNs = latencyNs;
        int copies = 1;
        for (Fault fault : faults) {
            copies = Math.min(copies, 1) * fault.onPacket(packet);
            if (copies == 0) {
                note("drop", packet);
                return;
            }
        }
        for (int i = 0; i < copies; i++) {
            inject(i == 0 ? packet : new Packet(packet));
        }
    }

    /** Puts a packet on the wire, also one a test held back or made up. */
    public void inject(Packet packet) {
        Node to = nodeAt(packet.destination);
        if (to == null) {
            return;
        }
        packet.dueNs = nowNs + packet.delayNs;
        if (bitsPerSecond > 0) {
            int port = to.number;
            long queueNs = Math.max(0, portFreeNs[port] - nowNs);
            if (queueNs > dropAboveNs) {
                note("tail-drop", packet);
                return;
            }
            if (queueNs > markAboveNs && packet.ecn == Ecn.ECT) {
                packet.ecn = Ecn.CE;
            }
            long wireNs = (packet.length() + 60) * 8L * 1_000_000_000L / bitsPerSecond;
            portFreeNs[port] = nowNs + queueNs + wireNs;
            packet.dueNs = portFreeNs[port] + packet.delayNs;
        }
        packet.order = order++;
        wire.add(packet);
    }

    /** A packet as this one was sent, with other bytes. */
    public Packet copy(Packet pattern, byte[] bytes) {
        Packet copy = new Packet(pattern);
        copy.bytes = bytes;
        return copy;
    }

    /** Makes up a datagram from a stranger or an impostor. */
    public void inject(NetAddress source, Node to, byte[] bytes) {
        Packet packet = new Packet(to, source, to.address, 0, bytes);
        packet.delayNs = latencyNs;
        inject(packet);
    }

    /** Hands a datagram to a node past the network, at once. */
    public void deliverNow(NetAddress source, Node to, byte[] bytes) {
        inbox.bytes().put(0, bytes);
        inbox.elide(0);
        to.engine.onDatagram(nowNs, inbox, 0, bytes.length, source, Ecn.UNKNOWN);
        to.pump();
    }

    /** The plane that an address is in. */
    public static int planeOf(NetAddress address) {
        return (int) ((address.low() & 0xFFFF_FFFFL) - FIRST) >> PLANE_SHIFT;
    }

    /** By which of its addresses a node is reached there. */
    private int arrival(NetAddress destination) {
        Node to = nodeAt(destination);
        return to == null || to.addresses.size() == 1 ? 0 : planeOf(destination);
    }

    private Node nodeAt(NetAddress destination) {
        long number = (destination.low() & 0xFFFF_FFFFL) - FIRST & (1 << PLANE_SHIFT) - 1;
        return number >= 0 && number < nodes.size() ? nodes.get((int) number) : null;
    }

    private void note(String what, Packet packet) {
        if (recent.size() == 40) {
            recent.removeFirst();
        }
        recent.addLast(new Note(nowNs, what, packet));
    }

    /** One event: posted work, one packet or one deadline. False when nothing is left to happen. */
    public boolean step() {
        standing = nowNs == lastStepNs ? standing + 1 : 0;
        lastStepNs = nowNs;
        if (standing > MAX_STEPS_AT_ONE_TIME) {
            throw new AssertionError(
                    "time stands still: an engine asks to be called for ever" + dump());
        }
        while (!rung.isEmpty()) {
            rung.poll().pump();
        }
        Packet next = wire.peek();
        long deadline = deadlines.nextDeadlineNs();
        if (next != null && next.dueNs <= deadline) {
            nowNs = Math.max(nowNs, next.dueNs);
            long turnNs = nowNs;
            Node to = nodeAt(next.destination);
            deliver(wire.poll(), to);
            for (int i = 1; i < MAX_DATAGRAMS_PER_TURN && coalesceNs >= 0; i++) {
                next = wire.peek();
                if (next == null
                        || nodeAt(next.destination) != to
                        || next.dueNs > turnNs + coalesceNs) {
                    break;
                }
                nowNs = Math.max(nowNs, next.dueNs);
                deliver(wire.poll(), to);
            }
            if (to != null) {
                to.pump();
            }
            return true;
        }
        if (deadline == Long.MAX_VALUE) {
            return false;
        }
        nowNs = Math.max(nowNs, deadline);
        nodes.get(deadlines.pollExpired(nowNs)).pump();
        return true;
    }

    private void deliver(Packet packet, Node to) {
        if (to == null || to.dead) {
            return;
        }
        if (to.stoppedNs >= 0) {
            to.unread.add(packet);
            return;
        }
        inbox.bytes().put(0, packet.bytes);
        inbox.elide(packet.elided);
        note("recv", packet);
        to.engine.onDatagram(nowNs, inbox, 0, packet.length(), packet.source, packet.ecn);
    }

    /**
     * Runs until the condition holds; false when the virtual time ran out or nothing can happen in
     * it.
     */
    public boolean driveUntil(BooleanSupplier condition, long maxNs) {
        long end = nowNs + maxNs;
        while (!condition.getAsBoolean()) {
            if (nextEventNs() - end > 0 || !step()) {
                return condition.getAsBoolean();
            }
        }
        return true;
    }

    /** When the next packet arrives, or the next deadline is; now, when work was posted. */
    private long nextEventNs() {
        if (!rung.isEmpty()) {
            return nowNs;
        }
        Packet next = wire.peek();
        long deadlineNs = deadlines.nextDeadlineNs();
        return next == null ? deadlineNs : Math.min(next.dueNs, deadlineNs);
    }

    /** As {@link #driveUntil}, but a test fails with the last packets when it does not hold. */
    public void expect(String what, BooleanSupplier condition, long maxNs) {
        if (!driveUntil(condition, maxNs)) {
            throw new AssertionError(
                    "not within " + maxNs / 1_000_000 + " ms of virtual time: " + what + dump());
        }
    }

    /** Lets virtual time pass, no more and no less. */
    public void advance(long ns) {
        long end = nowNs + ns;
        while (nextEventNs() <= end && step()) {
            // Each step is one event; those after the end stay for later.
        }
        nowNs = Math.max(nowNs, end);
    }

    /** The last packets of the run, oldest first. */
    public String dump() {
        return "\nlast packets, time in ns:\n"
                + recent.stream().map(Note::toString).collect(Collectors.joining("\n"));
    }
}
