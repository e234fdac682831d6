package dev.metaroce.rocev2;

import dev.metaroce.event.CounterId;
import dev.metaroce.event.Counters;
import dev.metaroce.event.EventId;
import dev.metaroce.event.EventSink;
import dev.metaroce.memory.RegionTable;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.transport.Notices;
import dev.metaroce.util.ReadyList;
import dev.metaroce.util.TimerTable;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.roce.AckTimeout;
import dev.metaroce.wire.roce.Icrc;
import dev.metaroce.wire.roce.PathMtu;
import dev.metaroce.wire.roce.Psn24;
import dev.metaroce.wire.roce.RoceUdp;

import java.util.function.IntSupplier;

/**
 * What the RoCEv2 machines of one device share: limits, counters, timers, queue pairs, and who has
 * something to send. Holds no behaviour of the protocol. Owner: the engine thread, but for what is
 * marked otherwise.
 *
 * <p>A timer id is a number and a role: the place of a queue pair with its three timers, or a
 * number of the connector's.
 */
final class RoceState {
    /** Nothing was acknowledged for too long. */
    static final int ACK_TIMER = 0;

    /** The queue pair may send again: after an RNR, or as its rate allows. */
    static final int WAKE_TIMER = 1;

    /** The rate of the queue pair rises. */
    static final int RATE_TIMER = 2;

    /** A timer of the connector. */
    static final int CONNECTOR_TIMER = 3;

    private static final int ROLE_BITS = 2;
    private static final long LOCAL_GUID = 0x0200_00FF_0000_0000L;

    final DeviceLimits limits;
    final RoceSettings settings;
    final IntSupplier keySource;
    final EventSink events;
    final Counters counters = new Counters();
    final RegionTable regions;
    final TimerTable timers = new TimerTable(0);
    final QpTable qps;
    final Exchanges exchanges;

    /** For packets that are sent, and for those that are received: each keeps its latest flow. */
    final Icrc sentIcrc = new Icrc();

    final Icrc receivedIcrc = new Icrc();

    /** Who has a congestion notice to send. */
    final ReadyList<RcQueuePair> noticing = new ReadyList<>();

    /** Who has acknowledgements and responses to send, and who has requests. */
    final ReadyList<ReceiveSide> answering = new ReadyList<>();

    final ReadyList<SendSide> sending = new ReadyList<>();

    final long ackTimeoutNs;

    /** Packets after which one asks for an acknowledgement; no window is full without one. */
    final int packetsPerAck;

    /** Most responses that one READ request asks for. */
    final int partPackets;

    /** The largest path MTU that this device can use. */
    final int mtu;

    /** By plane: where packets come to. */
    private final NetAddress[] local;

    /** By plane and route: where packets come from. */
    private final NetAddress[][] sources;

    Notices notices = Notices.NONE;

    RoceState(DeviceLimits limits, RoceSettings settings, IntSupplier keySource, EventSink events) {
        this.limits = limits;
        this.settings = settings;
        this.keySource = keySource;
        this.events = events;
        regions = new RegionTable(keySource);
        qps = new QpTable(settings.maxQps(), keySource.getAsInt());
        exchanges = new Exchanges(settings.maxQps(), keySource.getAsInt());
        ackTimeoutNs = AckTimeout.ns(settings.ackTimeout());
        packetsPerAck = Math.min(settings.packetsPerAck(), settings.windowPackets());
        partPackets = Math.max(1, settings.windowPackets() / 2);
        mtu = PathMtu.atMost(limits.payloadMtu());
        int planes = settings.addresses().size();
        int routes = settings.sourcePorts().size();
        local = new NetAddress[planes];
        sources = new NetAddress[planes][routes];
        for (int plane = 0; plane < planes; plane++) {
            NetAddress own = settings.addresses().get(plane);
            local[plane] = withPort(own, RoceUdp.PORT);
            for (int route = 0; route < routes; route++) {
                sources[plane][route] = withPort(own, settings.sourcePorts().get(route));
            }
        }
    }

    /** The same address with another port. */
    static NetAddress withPort(NetAddress address, int port) {
        return new NetAddress(
                address.high(), address.low(), port, address.scopeId(), address.plane());
    }

    /** Own address that a peer is reached from, with the port that packets come to. Any thread. */
    NetAddress local(NetAddress peer) {
        return local[Math.min(peer.plane(), local.length - 1)];
    }

    /** Own address that packets of a route to a peer leave from. Any thread. */
    NetAddress source(NetAddress peer, int route) {
        return sources[Math.min(peer.plane(), local.length - 1)][route];
    }

    /** What stands for the device in messages: locally given, with the end of its address. */
    long guid() {
        return LOCAL_GUID | (local[0].low() & 0xFFFF_FFFFL);
    }

    int routes() {
        return settings.sourcePorts().size();
    }

    /** A random sequence number to start with. Any thread, if the key source allows. */
    int firstPsn() {
        return keySource.getAsInt() & Psn24.MASK;
    }

    void count(CounterId id) {
        counters.increment(id);
    }

    void event(long nowNs, EventId id, long a, long b, long c) {
        events.onEvent(nowNs, id, a, b, c);
    }

    /** The id of a timer. */
    static int timer(int number, int role) {
        return number << ROLE_BITS | role;
    }

    /** The number in the id of a timer. */
    static int timerNumber(int timer) {
        return timer >>> ROLE_BITS;
    }

    /** The role in the id of a timer. */
    static int timerRole(int timer) {
        return timer & (1 << ROLE_BITS) - 1;
    }

    /** The id of a timer of a queue pair. */
    int timer(RcQueuePair qp, int role) {
        return timer(qps.place(qp), role);
    }

    /** Sets a timer only when it is earlier than what is armed. */
    void armBy(int timer, long deadlineNs) {
        if (!timers.isArmed(timer) || timers.deadlineNs(timer) - deadlineNs > 0) {
            timers.set(timer, deadlineNs);
        }
    }
}
