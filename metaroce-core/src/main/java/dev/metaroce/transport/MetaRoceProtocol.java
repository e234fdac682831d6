package dev.metaroce.transport;

import dev.metaroce.event.CounterId;
import dev.metaroce.event.Counters;
import dev.metaroce.memory.RegionTable;
import dev.metaroce.util.TimerTable;
import dev.metaroce.wire.CommonHeader;
import dev.metaroce.wire.ControlOpcode;
import dev.metaroce.wire.Ecn;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.Opcode;
import dev.metaroce.wire.PacketDoor;
import dev.metaroce.wire.PacketMemory;
import dev.metaroce.wire.PacketType;
import dev.metaroce.wire.Profile;
import dev.metaroce.wire.TxBatch;

import org.jspecify.annotations.Nullable;

/**
 * The MetaRoCE machines of one device, put together: requester, responder, completer, and both
 * sides of leases. The engine hands it datagrams, timers that expired and room to send.
 *
 * <p>Owner: the engine thread.
 */
public final class MetaRoceProtocol implements Protocol {
    /** Packets of one connection per turn, so that many connections share the line. */
    private static final int CONNECTION_BUDGET = 64;

    private final DeviceState device;
    private final RxContexts contexts;
    private final CidPool pool;
    private final ConnectionTable connections;
    private final AckBuilder acks;
    private final LeaseServer server;
    private final LeaseClient client;
    private final Responder responder;
    private final Requester requester;
    private final Completer completer;
    private final ControlWriter control;
    private boolean answersMissed;
    private boolean pullersTurn;

    public MetaRoceProtocol(DeviceState device) {
        this.device = device;
        DeviceLimits limits = device.limits();
        contexts = new RxContexts(limits);
        //= MR-3.1-9
        pool =
                new CidPool(
                        limits.contexts(),
                        limits.maxWaiters(),
                        limits.maxWaitersPerPeer(),
                        limits.packetLifetimeNs(),
                        limits.policy(),
                        device.keySource.getAsInt() & 0xFF,
                        limits.shortSlots());
        connections = new ConnectionTable(device);
        ReceiverShares shares = new ReceiverShares(device, contexts);
        acks = new AckBuilder(device, contexts, shares, pool);
        server = new LeaseServer(device, connections, contexts, pool, shares);
        client = new LeaseClient(device, connections, server);
        responder = new Responder(device, server, acks);
        requester = new Requester(device, shares);
        completer = new Completer(device, client);
        control = new ControlWriter(device, server, client);
    }

    @Override
    public RegionTable regions() {
        return device.regions();
    }

    @Override
    public Counters counters() {
        return device.counters();
    }

    @Override
    public TimerTable timers() {
        return device.timers();
    }

    @Override
    public DeviceLimits limits() {
        return device.limits();
    }

    @Override
    public void notices(Notices notices) {
        device.notices(notices);
    }

    // Application

    @Override
    public TransportConnection dialed(
            long id, NetAddress target, long serviceId, byte[] privateData, long connectNs) {
        TransportConnection connection =
                TransportConnection.dialed(id, target, serviceId, privateData);
        connection.connectWithin(connectNs);
        return connection;
    }

    @Override
    public void dial(long nowNs, ProtocolConnection dialed) {
        TransportConnection connection = (TransportConnection) dialed;
        if (device.add(connection)) {
            client.dial(nowNs, connection);
        } else {
            connection.failure(
                    connection
                            + ": the device holds "
                            + device.limits().maxConnections()
                            + " connections, its limit maxConnections");
            connection.state(ConnectionState.FAILED);
        }
    }

    @Override
    public void listen(long serviceId, Acceptor acceptor) {
        connections.listen(serviceId, acceptor);
    }

    @Override
    public void unlisten(long serviceId) {
        connections.unlisten(serviceId);
    }

    @Override
    public void onAnswer(long nowNs, Offer offer) {
        LeaseOffer answered = (LeaseOffer) offer;
        server.onAnswer(nowNs, answered);
        client.onAccepted(nowNs, answered.connection());
    }

    @Override
    public void close(long nowNs, ProtocolConnection connection) {
        client.closer().close(nowNs, (TransportConnection) connection);
    }

    @Override
    public void onWork(long nowNs, ProtocolQueue stream) {
        client.onWork(nowNs, (Stream) stream);
    }

    // Packets in

    @Override
    public void onDatagram(
            long nowNs, PacketMemory m, int at, int bytes, NetAddress source, Ecn ecn) {
        Counters counters = device.counters();
        //= MR-2.1-8, MR-2.1-9
        switch (PacketDoor.check(m, at, bytes)) {
            case OK -> onPacket(nowNs, m, at, bytes, source, ecn);
            case TOO_SHORT, MALFORMED -> counters.increment(CounterId.MALFORMED);
            case BAD_CRC -> counters.increment(CounterId.BAD_CRC);
            case BAD_VERSION -> {
                counters.increment(CounterId.BAD_VERSION);
                if (PacketDoor.isForeignRequest(m, at, bytes)) {
                    // Refused with the versions that we speak.
                    server.denyVersion(nowNs, m, at, source);
                }
            }
        }
    }

    private void onPacket(
            long nowNs, PacketMemory m, int at, int bytes, NetAddress source, Ecn ecn) {
        PacketType type = PacketType.of(CommonHeader.type(m, at));
        if (type == null) {
            return;
        }
        switch (type) {
            case DATA -> {
                if (Opcode.ofValid(CommonHeader.opcode(m, at)).isReply()) {
                    completer.onReply(nowNs, m, at, bytes, source, ecn);
                } else {
                    responder.onData(nowNs, m, at, bytes, source, ecn);
                }
            }
            case ACK -> completer.onAck(nowNs, m, at, source);
            case NAK -> completer.onNak(nowNs, m, at, source);
            case PROBE -> responder.onProbe(nowNs, m, at, source);
            case CTRL -> onControl(nowNs, m, at, bytes, source);
        }
    }

    private void onControl(long nowNs, PacketMemory m, int at, int bytes, NetAddress source) {
        ControlOpcode opcode = ControlOpcode.of(CommonHeader.opcode(m, at));
        if (opcode == null) {
            return;
        }
        switch (opcode) {
            case REQUEST -> {
                int cid = server.onRequest(nowNs, m, at, source);
                if (cid >= 0) {
                    responder.onEarly(nowNs, cid, m, at, bytes);
                }
            }
            case GRANT -> client.onGrant(nowNs, m, at, source);
            case QUEUED -> client.onQueued(nowNs, m, at, source);
            case DENY -> client.onDeny(nowNs, m, at, source);
            case RELEASE -> server.returns().onRelease(nowNs, m, at, source);
            case RELEASE_ACK -> client.onReleaseAck(nowNs, m, at, source);
            case RECLAIM -> client.onReclaim(nowNs, m, at, source);
            case KEEPALIVE -> client.onKeepalive(m, at, source);
            case KEEPALIVE_ACK -> server.returns().onKeepaliveAck(nowNs, m, at, source);
            case RESET -> client.onReset(nowNs, m, at, source);
            case DISCONNECT -> client.closer().onDisconnect(nowNs, m, at, source);
            case DISCONNECT_ACK -> client.closer().onDisconnectAck(nowNs, m, at);
        }
    }

    @Override
    public void onUnsent(NetAddress to, String why) {
        for (int i = 0; i < device.connectionSlots(); i++) {
            TransportConnection c = device.connection(i);
            if (c != null && !c.established && c.peer.sameHost(to)) {
                c.unsent = why;
            }
        }
    }

    // Time

    @Override
    public void notePause(long nowNs, long lateNs) {
        device.notePause(nowNs, lateNs);
    }

    @Override
    public void onTimer(long nowNs, int timer) {
        int number = DeviceState.timerNumber(timer);
        switch (DeviceState.timerRole(timer)) {
            case DeviceState.ACK_TIMER -> acks.onDelayOver(number);
            case DeviceState.LIFE_TIMER -> server.returns().onLifeTimer(nowNs, number);
            case DeviceState.CONNECTION_TIMER -> {
                TransportConnection c = device.connection(number);
                if (c != null) {
                    client.onTimer(nowNs, c);
                }
            }
            default -> {
                switch (number) {
                    case DeviceState.POOL -> server.returns().onPoolTimer(nowNs);
                    case DeviceState.LINE -> server.returns().onLineTimer(nowNs);
                    case DeviceState.PULLS -> device.pulls.resume();
                    case DeviceState.HINTS -> acks.hints().refresh(nowNs);
                    default -> server.onOfferTimer(nowNs);
                }
            }
        }
    }

    // Packets out

    @Override
    public boolean isQuiet() {
        return device.outbox.isEmpty()
                && device.ready.isEmpty()
                && !acks.isOwing()
                && device.pulls.wakeable() == 0;
    }

    /**
     * Appends what may be sent now: control, data in turns, then answers. An application waits for
     * data sooner than a sender for acknowledgements; those that find no room are first next time.
     */
    @Override
    public int pollTransmit(long nowNs, TxBatch batch) {
        int sent = answersMissed ? acks.pollTransmit(nowNs, batch) : 0;
        sent += control.pollTransmit(nowNs, batch);
        while (batch.hasRoom(largestPacket())) {
            TransportConnection c = nextSender();
            if (c == null) {
                break;
            }
            sent += serve(nowNs, c, batch);
        }
        sent += acks.pollTransmit(nowNs, batch);
        answersMissed = acks.isOwing();
        return sent;
    }

    /** Those that waited to ask for replies, and all others, take turns. */
    private @Nullable TransportConnection nextSender() {
        pullersTurn = !pullersTurn;
        TransportConnection puller =
                pullersTurn || device.ready.isEmpty() ? client.wakePuller() : null;
        return puller == null ? device.ready.poll() : puller;
    }

    private int largestPacket() {
        return device.limits().payloadMtu() + 64;
    }

    private int serve(long nowNs, TransportConnection c, TxBatch batch) {
        if (!c.pendingFailure.isEmpty()) {
            client.closer().fail(nowNs, c, c.pendingFailure);
            return 0;
        }
        int sent = requester.pollTransmit(nowNs, c, batch, CONNECTION_BUDGET);
        Stream faulted = c.faultedStream();
        if (faulted != null) {
            c.wish().faultedStream = null;
            completer.fail(c, faulted, c.wish().faultedSeq, c.wish().faultedStatus);
            client.afterProgress(nowNs, c);
        }
        if (sent > 0) {
            client.arm(nowNs, c);
        }
        if (sent >= CONNECTION_BUDGET || !batch.hasRoom(largestPacket())) {
            device.ready.add(c);
        }
        return sent;
    }

    // State for reports

    @Override
    public int contextsInUse() {
        return pool.inUse();
    }

    /** Connections that have a source context: they hold a lease, want one, or say goodbye. */
    public int sourceContextsInUse() {
        return device.sources.inUse();
    }

    public CidPool pool() {
        return pool;
    }

    /** For tests that look inside. */
    DeviceState device() {
        return device;
    }

    /** Bytes of one receive context in use with so many paths; profile S has no path rows. */
    public static int contextBytes(Profile profile, int paths) {
        return RxContexts.contextBytes(profile == Profile.M, paths);
    }

    /**
     * The most bytes that all tables that serve senders take; depends on the limits only. They are
     * allocated as contexts, waiters and peers come.
     */
    @Override
    public long contextTableBytes() {
        //= MR-1.2-5
        return contexts.bytes()
                + pool.bytes()
                + PeerTable.bytes()
                + WaitingLine.bytes(device.limits().maxWaiters())
                + StaleTokens.bytes(device.limits().contexts());
    }

    /** Bytes of one context in use. */
    public static int contextBytes(boolean selective, int paths) {
        return RxContexts.contextBytes(selective, paths);
    }
}
