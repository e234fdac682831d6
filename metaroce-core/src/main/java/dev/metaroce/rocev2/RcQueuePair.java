package dev.metaroce.rocev2;

import dev.metaroce.congestion.DcqcnSettings;
import dev.metaroce.event.AsyncEventType;
import dev.metaroce.ring.DoorbellList;
import dev.metaroce.ring.Reservation;
import dev.metaroce.ring.SharedReceives;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkQueue;
import dev.metaroce.transport.ProtocolQueue;
import dev.metaroce.transport.QueueSlot;
import dev.metaroce.transport.StreamSettings;
import dev.metaroce.util.ReadyList;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.roce.RoceUdp;

import org.jspecify.annotations.Nullable;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Objects;

/**
 * A queue pair of a reliable connection: its number, its other end, its queues, and its life from
 * INIT to RESET. What it sends as requester is in {@link SendSide}, what it knows as responder in
 * {@link ReceiveSide}.
 *
 * <p>Applications touch the two work queues and the bell; all else belongs to the engine thread.
 */
public final class RcQueuePair extends ReadyList.Item<RcQueuePair>
        implements ProtocolQueue, QueueSlot {
    private static final VarHandle ERROR;

    static {
        try {
            ERROR = MethodHandles.lookup().findVarHandle(RcQueuePair.class, "error", boolean.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    final RoceState device;
    final RcConnection connection;
    private final int id;
    private final StreamSettings settings;
    private final Reservation sendRoom;
    private final Reservation receiveRoom;
    private final int qpn;
    private final int firstPsn;
    private final DoorbellList.Bell bell = new DoorbellList.Bell(this);
    private final WorkQueue sendQueue;
    private final WorkQueue receiveQueue;
    final SendSide sending;
    final ReceiveSide receiving;

    private QpState state = QpState.INIT;
    private boolean error;

    /** The application is done with it. */
    private volatile boolean closing;

    /** The messages about it alone; null when its connection has them, or there are none. */
    @Nullable Exchange exchange;

    // The other end, as soon as it is known
    int remoteQpn;
    int mtu;
    int route;

    /** Where packets go to, and where they leave from. */
    private @Nullable NetAddress remote;

    private @Nullable NetAddress source;

    /** READs and atomics that the other end serves at once. */
    int reads;

    /** Rate of what it sends; null without congestion control. */
    private final @Nullable FlowRate rate;

    RcQueuePair(
            RoceState device,
            RcConnection connection,
            int id,
            StreamSettings settings,
            Reservation sendRoom,
            Reservation receiveRoom) {
        this.device = device;
        this.connection = connection;
        this.id = id;
        this.settings = settings;
        this.sendRoom = sendRoom;
        this.receiveRoom = receiveRoom;
        qpn = device.qps.takeNumber();
        firstPsn = device.firstPsn();
        sendQueue = settings.sendQueue(this);
        receiveQueue = settings.receiveQueue(this);
        sending = new SendSide(this, firstPsn);
        receiving = new ReceiveSide(this);
        DcqcnSettings dcqcn = device.settings.dcqcn();
        rate =
                dcqcn == null
                        ? null
                        : new FlowRate(dcqcn, device.settings.lineBitsPerSecond(), device.mtu);
    }

    /** Number of the queue pair, 24 bits. */
    public int qpn() {
        return qpn;
    }

    /** A number of this end's choice, for the first packet of one end. */
    int firstPsn() {
        return firstPsn;
    }

    @Override
    public int id() {
        return id;
    }

    @Override
    public StreamSettings settings() {
        return settings;
    }

    @Override
    public Reservation sendRoom() {
        return sendRoom;
    }

    @Override
    public Reservation receiveRoom() {
        return receiveRoom;
    }

    @Override
    public void attach(Object pair) {
        sendQueue.owner(pair);
        receiveQueue.owner(pair);
    }

    @Override
    public RcQueuePair made() {
        return this;
    }

    @Override
    public RcQueuePair queue() {
        return this;
    }

    @Override
    public RcConnection connection() {
        return connection;
    }

    @Override
    public WorkQueue sendQueue() {
        return sendQueue;
    }

    @Override
    public WorkQueue receiveQueue() {
        return receiveQueue;
    }

    @Override
    public DoorbellList.Bell bell() {
        return bell;
    }

    @Override
    public boolean inError() {
        return (boolean) ERROR.getAcquire(this);
    }

    @Override
    public boolean missedFlush() {
        VarHandle.fullFence();
        return inError();
    }

    @Override
    public long unacknowledgedBytes(long wrId) {
        return sending.unacknowledgedBytes(wrId);
    }

    @Override
    public void close() {
        closing = true;
    }

    boolean isClosing() {
        return closing;
    }

    /** Where it is in its life. Engine thread. */
    public QpState state() {
        return state;
    }

    /**
     * What the other end has to know of this one. Any thread.
     *
     * @param peer where the other end is, as far as it is known
     */
    public RoceConnect localEnd(NetAddress peer) {
        return new RoceConnect(
                device.local(peer), qpn, firstPsn, device.mtu, device.settings.maxReadAtomic());
    }

    /** True when applications, and no messages, tell both ends of each other. */
    public boolean isByHand() {
        return connection.kind == RcConnection.Kind.BY_HAND;
    }

    /**
     * The other end is known: packets of it are taken from now on.
     *
     * @return false when it is not INIT any more, or about to end
     */
    boolean toReadyToReceive(RoceConnect end) {
        if (state != QpState.INIT || closing) {
            return false;
        }
        NetAddress to = RoceState.withPort(end.address(), RoceUdp.PORT);
        remote = to;
        remoteQpn = end.qpn();
        mtu = Math.min(device.mtu, end.mtu());
        reads = Math.min(device.settings.maxReadAtomic(), end.reads());
        int label = RoceUdp.flowLabel(qpn, remoteQpn);
        route = RoceUdp.sourcePort(label) % device.routes();
        source = device.source(to, route);
        receiving.start(end.psn());
        state = QpState.RTR;
        device.qps.put(this);
        return true;
    }

    /**
     * {@link #toReadyToReceive(RoceConnect)}, when the other end said what this one starts with.
     *
     * @param psn number of the first packet that this end sends, instead of its own choice
     */
    boolean toReadyToReceive(RoceConnect end, int psn) {
        if (!toReadyToReceive(end)) {
            return false;
        }
        sending.start(psn);
        return true;
    }

    /** The other end knows of this one: posted work is sent from now on. */
    void toReadyToSend() {
        NetAddress to = remote;
        if (state == QpState.RTR && to != null) {
            state = QpState.RTS;
            connection.open(to, mtu);
            device.sending.add(sending);
        }
    }

    /** Where packets go to, when it is connected. */
    NetAddress remote() {
        return Objects.requireNonNull(remote);
    }

    /** Where packets leave from, when it is connected. */
    NetAddress source() {
        return Objects.requireNonNull(source);
    }

    /** True for packets from the host of the other end, once that is known. */
    boolean isPeer(NetAddress from) {
        NetAddress to = remote;
        return to != null && from.sameHost(to);
    }

    // Congestion control

    /** What it may send now; the rate of the line without congestion control. */
    long rateBitsPerSecond() {
        FlowRate flow = rate;
        return flow == null ? device.settings.lineBitsPerSecond() : flow.bitsPerSecond();
    }

    /** True when its rate lets it send; otherwise it will be woken. */
    boolean mayByRate(long nowNs) {
        FlowRate flow = rate;
        long nextNs = flow == null ? nowNs : flow.nextSendNs(nowNs);
        if (nextNs - nowNs <= 0) {
            return true;
        }
        device.armBy(device.timer(this, RoceState.WAKE_TIMER), nextNs);
        return false;
    }

    /** A packet of so many bytes was sent. */
    void onSent(long nowNs, int bytes) {
        FlowRate flow = rate;
        if (flow != null) {
            flow.onSent(nowNs, bytes);
        }
    }

    /** The other end tells of congestion on the way there. */
    void onNotice(long nowNs) {
        FlowRate flow = rate;
        if (flow != null) {
            flow.onNotice(nowNs);
            device.timers.set(device.timer(this, RoceState.RATE_TIMER), flow.deadlineNs());
        }
    }

    /** The rate may rise. */
    void onRateTimer(long nowNs) {
        FlowRate flow = rate;
        if (flow != null) {
            flow.onTimer(nowNs);
            device.timers.set(device.timer(this, RoceState.RATE_TIMER), flow.deadlineNs());
        }
    }

    // The end

    /**
     * A request failed, or the other end's did, or that end is gone: see {@link #flush}. Nothing
     * happens after {@link #end}.
     */
    void fail(WcStatus oldest) {
        if (state == QpState.RESET) {
            return;
        }
        boolean isNew = !error && !connection.isEnded();
        state = QpState.ERROR;
        flush(oldest);
        if (isNew) {
            WcStatus spoilt = receiving.spoiltStatus();
            WcStatus why = spoilt == WcStatus.SUCCESS ? oldest : spoilt;
            connection.notices.raise(AsyncEventType.QP_FATAL, this, why.toString());
        }
    }

    /**
     * The oldest request ends with {@code oldest}, all others are flushed, in post order. Flushes
     * what was posted since, when that was done before.
     */
    private void flush(WcStatus oldest) {
        WcStatus status = error ? WcStatus.WR_FLUSH_ERROR : oldest;
        ERROR.setVolatile(this, true);
        // Whoever posted before it could see the error is seen here, and the other way round.
        VarHandle.fullFence();
        device.timers.cancel(device.timer(this, RoceState.ACK_TIMER));
        device.timers.cancel(device.timer(this, RoceState.WAKE_TIMER));
        device.timers.cancel(device.timer(this, RoceState.RATE_TIMER));
        if (sendRoom.resume()) {
            sending.flush(status);
        }
        if (receiveRoom.resume()) {
            receiving.flush();
        }
        if (state == QpState.RESET) {
            sendRoom.end();
            if (settings.shared() == null) {
                receiveRoom.end();
            }
        }
    }

    /** The connection or the queue pair ended: flushes what is left, and gives the number back. */
    void end(WcStatus oldest) {
        boolean first = state != QpState.RESET;
        state = QpState.RESET;
        flush(oldest);
        SharedReceives shared = settings.shared();
        if (first) {
            device.qps.remove(this);
            device.qps.giveBack(qpn);
            if (shared != null) {
                shared.leave();
            }
        }
    }

    /** Where it stands, for reports. */
    String stateText() {
        return "QP 0x%06x %s, %s".formatted(qpn, state, sending.stateText());
    }

    @Override
    public String toString() {
        return "QP 0x%06x of %s".formatted(qpn, connection);
    }
}
