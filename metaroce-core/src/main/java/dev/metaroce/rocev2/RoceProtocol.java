package dev.metaroce.rocev2;

import dev.metaroce.event.CounterId;
import dev.metaroce.event.Counters;
import dev.metaroce.event.EventId;
import dev.metaroce.event.EventSink;
import dev.metaroce.memory.RegionTable;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.transport.Acceptor;
import dev.metaroce.transport.ConnectionState;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.transport.Notices;
import dev.metaroce.transport.Offer;
import dev.metaroce.transport.Protocol;
import dev.metaroce.transport.ProtocolConnection;
import dev.metaroce.transport.ProtocolQueue;
import dev.metaroce.util.TimerTable;
import dev.metaroce.wire.Ecn;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.PacketMemory;
import dev.metaroce.wire.TxBatch;
import dev.metaroce.wire.roce.Bth;
import dev.metaroce.wire.roce.Icrc;
import dev.metaroce.wire.roce.RcOpcode;
import dev.metaroce.wire.roce.RoceDoor;

import java.util.function.IntSupplier;

/**
 * The RoCEv2 machines of one device, put together: packets go to the queue pair they name, queue
 * pairs with something to send take turns. See docs/rocev2.md.
 *
 * <p>Owner: the engine thread.
 */
public final class RoceProtocol implements Protocol {
    /** Packets of one queue pair in a row, so that many share the line. */
    private static final int TURN_PACKETS = 32;

    /** The queue pair of connection management. */
    private static final int MANAGEMENT_QPN = 1;

    /** The bits of a partition key that name the partition; the other says full member. */
    private static final int PARTITION = 0x7FFF;

    private static final int FULL_MEMBER = 0x8000;

    private final RoceState device;
    private final Connector connector;
    private final RoceRequester requester;
    private final RoceResponder responder;
    private final RoceCompleter completer;

    /**
     * @param keySource keys and first sequence numbers; a secure source outside tests and
     *     simulation. Called by the engine thread, and by those that make queue pairs
     * @param events receives what happens, on the engine's thread
     */
    public RoceProtocol(
            DeviceLimits limits, RoceSettings settings, IntSupplier keySource, EventSink events) {
        device = new RoceState(limits, settings, keySource, events);
        connector = new Connector(device);
        requester = new RoceRequester(device);
        responder = new RoceResponder(device);
        completer = new RoceCompleter(device);
    }

    @Override
    public RegionTable regions() {
        return device.regions;
    }

    @Override
    public Counters counters() {
        return device.counters;
    }

    @Override
    public TimerTable timers() {
        return device.timers;
    }

    @Override
    public DeviceLimits limits() {
        return device.limits;
    }

    @Override
    public void notices(Notices notices) {
        device.notices = notices;
    }

    // Application

    @Override
    public ProtocolConnection dialed(
            long id, NetAddress target, long serviceId, byte[] privateData, long connectNs) {
        if (privateData.length > Connector.MOST_PRIVATE_BYTES) {
            throw new IllegalArgumentException(
                    "private data of %d bytes: at most %d with RoCEv2"
                            .formatted(privateData.length, Connector.MOST_PRIVATE_BYTES));
        }
        RcConnection c = new RcConnection(device, RcConnection.Kind.DIALED, id, target, serviceId);
        c.privateData = privateData.clone();
        c.connectNs = connectNs;
        return c;
    }

    /** Any thread: a connection whose queue pairs are to be connected by {@link #connect}. */
    public ProtocolConnection byHand() {
        NetAddress unknown = new NetAddress(0, 0, 0, 0, 0);
        return new RcConnection(device, RcConnection.Kind.BY_HAND, 0, unknown, 0);
    }

    /**
     * Tells a queue pair of a connection by hand where its other end is; nothing happens when it
     * was told before, or has ended.
     */
    public void connect(long nowNs, ProtocolQueue queue, RoceConnect other) {
        RcQueuePair qp = (RcQueuePair) queue;
        if (qp.toReadyToReceive(other)) {
            qp.toReadyToSend();
        }
    }

    @Override
    public void dial(long nowNs, ProtocolConnection connection) {
        connector.dial(nowNs, (RcConnection) connection);
    }

    @Override
    public void listen(long serviceId, Acceptor acceptor) {
        connector.listen(serviceId, acceptor);
    }

    @Override
    public void unlisten(long serviceId) {
        connector.unlisten(serviceId);
    }

    @Override
    public void onAnswer(long nowNs, Offer offer) {
        connector.onAnswer(nowNs, offer);
    }

    @Override
    public void close(long nowNs, ProtocolConnection connection) {
        RcConnection c = (RcConnection) connection;
        switch (c.state()) {
            case CONNECTING -> connector.abandon(nowNs, c);
            case OPEN -> {
                c.state(ConnectionState.CLOSING);
                disconnectIfFinished(nowNs, c);
            }
            case CLOSING, CLOSED, FAILED -> {
                // It ends, or has ended, already.
            }
        }
    }

    private void disconnectIfFinished(long nowNs, RcConnection c) {
        if (c.state() == ConnectionState.CLOSING && c.isFinished()) {
            connector.disconnect(nowNs, c);
        }
    }

    @Override
    public void onWork(long nowNs, ProtocolQueue queue) {
        RcQueuePair qp = (RcQueuePair) queue;
        if (qp.isClosing() || qp.connection.isEnded()) {
            qp.end(WcStatus.WR_FLUSH_ERROR);
            connector.onClosed(nowNs, qp);
        }
        switch (qp.state()) {
            case RTS -> device.sending.add(qp.sending);
            case INIT -> connector.onUnconnected(nowNs, qp);
            case ERROR -> qp.fail(WcStatus.WR_FLUSH_ERROR);
            case RTR, RESET -> {
                // It is sent when the other end is heard, or was flushed.
            }
        }
    }

    // Packets in

    @Override
    public void onDatagram(
            long nowNs, PacketMemory m, int at, int bytes, NetAddress source, Ecn ecn) {
        NetAddress here = device.local(source);
        if (here.isIpv4() != source.isIpv4()) {
            device.count(CounterId.WRONG_SOURCE);
            return;
        }
        switch (RoceDoor.check(device.receivedIcrc, m, at, bytes, source, here)) {
            case OK -> onPacket(nowNs, m, at, bytes, source, ecn);
            case BAD_SIZE, UNKNOWN_OPCODE, MALFORMED -> device.count(CounterId.MALFORMED);
            case BAD_VERSION -> device.count(CounterId.BAD_VERSION);
            case BAD_ICRC -> device.count(CounterId.ICRC_ERRORS);
        }
    }

    private void onPacket(
            long nowNs, PacketMemory m, int at, int bytes, NetAddress source, Ecn ecn) {
        RcOpcode opcode = RcOpcode.of(Bth.opcode(m, at));
        if (opcode == null) {
            return;
        }
        if (!isSamePartition(Bth.pkey(m, at))) {
            device.count(CounterId.BAD_PKEY);
            return;
        }
        int qpn = Bth.destQp(m, at);
        if (qpn == MANAGEMENT_QPN) {
            connector.onDatagram(nowNs, m, at, bytes, source);
            return;
        }
        RcQueuePair qp = device.qps.find(qpn);
        if (qp == null || qp.state() == QpState.INIT || opcode.isDatagram()) {
            device.count(CounterId.UNKNOWN_QP);
        } else if (!qp.isPeer(source)) {
            device.count(CounterId.WRONG_SOURCE);
        } else {
            if (qp.state() == QpState.RTR) {
                connector.onFirstPacket(nowNs, qp);
            }
            toQueuePair(nowNs, qp, opcode, m, at, bytes, ecn);
        }
    }

    private void toQueuePair(
            long nowNs,
            RcQueuePair qp,
            RcOpcode opcode,
            PacketMemory m,
            int at,
            int bytes,
            Ecn ecn) {
        responder.noteEcn(nowNs, qp, opcode, ecn);
        if (opcode.isRequest()) {
            responder.onRequest(nowNs, qp, opcode, m, at, bytes);
        } else if (opcode.isResponse()) {
            completer.onResponse(nowNs, qp, opcode, m, at, bytes);
            disconnectIfFinished(nowNs, qp.connection);
        } else {
            device.count(CounterId.CNPS_RECEIVED);
            qp.onNotice(nowNs);
        }
    }

    private boolean isSamePartition(int other) {
        int own = device.settings.pKey();
        return ((own ^ other) & PARTITION) == 0 && ((own | other) & FULL_MEMBER) != 0;
    }

    @Override
    public void onUnsent(NetAddress to, String why) {
        connector.onUnsent(to, why);
    }

    // Time

    @Override
    public void notePause(long nowNs, long lateNs) {
        device.count(CounterId.PAUSES);
        device.event(nowNs, EventId.PAUSED, lateNs / 1_000_000, 0, 0);
    }

    @Override
    public void onTimer(long nowNs, int timer) {
        int number = RoceState.timerNumber(timer);
        int role = RoceState.timerRole(timer);
        if (role == RoceState.CONNECTOR_TIMER) {
            connector.onTimer(nowNs, number);
            return;
        }
        RcQueuePair qp = device.qps.at(number);
        if (qp == null) {
            return;
        }
        switch (role) {
            case RoceState.ACK_TIMER -> {
                completer.onAckTimer(nowNs, qp);
                disconnectIfFinished(nowNs, qp.connection);
            }
            case RoceState.WAKE_TIMER -> {
                device.sending.add(qp.sending);
                device.answering.add(qp.receiving);
            }
            default -> qp.onRateTimer(nowNs);
        }
    }

    // Packets out

    @Override
    public boolean isQuiet() {
        return device.noticing.isEmpty()
                && device.answering.isEmpty()
                && device.sending.isEmpty()
                && connector.isQuiet();
    }

    @Override
    public int pollNotices(long nowNs, TxBatch batch) {
        return responder.pollNotices(nowNs, batch);
    }

    /**
     * Appends what may be sent now: congestion notices, connection management, then answers and
     * requests in turns of one queue pair each.
     */
    @Override
    public int pollTransmit(long nowNs, TxBatch batch) {
        int sent = pollNotices(nowNs, batch);
        sent += connector.pollTransmit(nowNs, batch);
        while (batch.hasRoom(Icrc.MAX_PACKET_BYTES)) {
            ReceiveSide answering = device.answering.poll();
            if (answering != null) {
                sent += answer(nowNs, answering, batch);
            }
            SendSide sending = device.sending.poll();
            if (sending != null) {
                sent += send(nowNs, sending, batch);
            }
            if (answering == null && sending == null) {
                break;
            }
        }
        return sent;
    }

    private int answer(long nowNs, ReceiveSide r, TxBatch batch) {
        int sent = responder.pollTransmit(nowNs, r, batch, TURN_PACKETS);
        if (r.owes() && isOut(sent, batch)) {
            device.answering.add(r);
        }
        disconnectIfFinished(nowNs, r.qp.connection);
        return sent;
    }

    private int send(long nowNs, SendSide s, TxBatch batch) {
        int sent = requester.pollTransmit(nowNs, s, batch, TURN_PACKETS);
        if (s.hasWork() && isOut(sent, batch)) {
            device.sending.add(s);
        }
        disconnectIfFinished(nowNs, s.qp.connection);
        return sent;
    }

    /** True when a turn ended for want of packets or of room, and not for want of work. */
    private static boolean isOut(int sent, TxBatch batch) {
        return sent >= TURN_PACKETS || !batch.hasRoom(Icrc.MAX_PACKET_BYTES);
    }

    // Reports

    /** Queue pairs, connected or not. */
    @Override
    public int contextsInUse() {
        return device.qps.inUse();
    }

    @Override
    public long contextTableBytes() {
        return device.qps.mostBytes();
    }
}
