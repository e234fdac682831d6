package dev.metaroce.rocev2;

import dev.metaroce.event.AsyncEventType;
import dev.metaroce.event.CounterId;
import dev.metaroce.event.EventId;
import dev.metaroce.ring.Reservation;
import dev.metaroce.ring.SharedReceives;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.transport.ConnectionState;
import dev.metaroce.transport.Notices;
import dev.metaroce.transport.ProtocolConnection;
import dev.metaroce.transport.SendingState;
import dev.metaroce.transport.StreamSettings;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.Profile;

import org.jspecify.annotations.Nullable;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Arrays;

/**
 * The relation of two endpoints: queue pairs that are connected one by one, each with one of the
 * peer. It is open when the first of them is.
 *
 * <p>Owner: the engine thread. The public queries may come from any thread.
 */
public final class RcConnection implements ProtocolConnection {
    private static final VarHandle STATE;
    private static final VarHandle QPS;
    private static final VarHandle HANDLE;

    static {
        try {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            STATE = lookup.findVarHandle(RcConnection.class, "state", ConnectionState.class);
            QPS = lookup.findVarHandle(RcConnection.class, "qps", RcQueuePair[].class);
            HANDLE = lookup.findVarHandle(RcConnection.class, "handle", Object.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /** Who makes the connection known to the peer. */
    enum Kind {
        /** We asked the peer. */
        DIALED,
        /** The peer asked. */
        ACCEPTED,
        /** The application tells both ends of each other. */
        BY_HAND
    }

    private static final String ECN_MISSING_TEXT =
            "packets of the peer come without ECN: cleared on the way, or not set by its system;"
                    + " loss alone tells of congestion";

    private static final int MAX_QPS = 1 << 16;
    static final byte[] NO_DATA = {};
    private static final RcQueuePair[] NO_QPS = {};

    private final RoceState device;
    final Kind kind;

    /** Chosen at random by who dialled; 0 for connections by hand. */
    final long connectionId;

    final long serviceId;

    /** Our own private data: of the request, or of the answer. */
    byte[] privateData = NO_DATA;

    /** Longest time until it is connected, in nanoseconds; 0 for no limit. */
    long connectNs;

    /** The messages about it; null when there are none. */
    @Nullable Exchange exchange;

    Notices notices;
    private volatile NetAddress peer;
    volatile byte[] peerPrivateData = NO_DATA;
    private volatile int mtu;
    private @Nullable Object handle;
    private ConnectionState state = ConnectionState.CONNECTING;
    private String failure = "";
    private boolean lacksEcn;
    private RcQueuePair[] qps = NO_QPS;

    RcConnection(RoceState device, Kind kind, long connectionId, NetAddress peer, long serviceId) {
        this.device = device;
        this.kind = kind;
        this.connectionId = connectionId;
        this.peer = peer;
        this.serviceId = serviceId;
        notices = device.notices;
    }

    @Override
    public @Nullable Object handle() {
        return HANDLE.getAcquire(this);
    }

    @Override
    public Object handle(Object fresh) {
        Object before = HANDLE.compareAndExchange(this, null, fresh);
        return before == null ? fresh : before;
    }

    @Override
    public ConnectionState state() {
        return (ConnectionState) STATE.getAcquire(this);
    }

    void state(ConnectionState next) {
        STATE.setRelease(this, next);
    }

    @Override
    public String failure() {
        state();
        return failure;
    }

    boolean isEnded() {
        return state == ConnectionState.CLOSED || state == ConnectionState.FAILED;
    }

    @Override
    public NetAddress peer() {
        return peer;
    }

    @Override
    public byte[] peerPrivateData() {
        return peerPrivateData.clone();
    }

    @Override
    public int payloadMtu() {
        return mtu;
    }

    /** One, when it is connected: a queue pair keeps its route. */
    @Override
    public int paths() {
        return mtu == 0 ? 0 : 1;
    }

    /** None: profiles are MetaRoCE's. */
    @Override
    public @Nullable Profile profile() {
        return null;
    }

    /** None: there are no context ids. */
    @Override
    public int cid() {
        return -1;
    }

    @Override
    public @Nullable SendingState sending() {
        RcQueuePair[] all = qps();
        if (state != ConnectionState.OPEN) {
            return null;
        }
        long open = 0;
        long rate = 0;
        for (RcQueuePair qp : all) {
            open += (long) qp.sending.outstanding() * mtu;
            rate += qp.rateBitsPerSecond();
        }
        long window = (long) device.settings.windowPackets() * mtu * all.length;
        return new SendingState(
                window, open, device.settings.dcqcn() == null ? Long.MAX_VALUE : rate, 1, 0);
    }

    @Override
    public String leaseText(long nowNs) {
        StringBuilder text = new StringBuilder();
        for (RcQueuePair qp : qps()) {
            text.append(text.isEmpty() ? "" : ", ").append(qp.stateText());
        }
        return text.isEmpty() ? "no queue pair" : text.toString();
    }

    /**
     * {@inheritDoc}
     *
     * @throws IllegalStateException when there are as many queue pairs as the device or a
     *     connection may have
     */
    @Override
    public RcQueuePair addSlot(
            StreamSettings settings, Reservation sendRoom, Reservation receiveRoom) {
        while (true) {
            RcQueuePair[] before = qps();
            int number = before.length;
            if (number == MAX_QPS) {
                throw new IllegalStateException(
                        "the connection has 65536 queue pairs: open another connection");
            }
            RcQueuePair made =
                    new RcQueuePair(device, this, number, settings, sendRoom, receiveRoom);
            RcQueuePair[] after = Arrays.copyOf(before, number + 1);
            after[number] = made;
            if (QPS.compareAndSet(this, before, after)) {
                SharedReceives shared = settings.shared();
                if (shared != null) {
                    shared.join();
                }
                return made;
            }
            device.qps.giveBack(made.qpn());
        }
    }

    /** Of all queue pairs by number, those that ended too. */
    RcQueuePair[] qps() {
        return (RcQueuePair[]) QPS.getAcquire(this);
    }

    // Engine thread

    /** The peer is there, and a queue pair is connected with one of it. */
    void open(NetAddress address, int agreedMtu) {
        if (state != ConnectionState.CONNECTING) {
            return;
        }
        peer = address;
        mtu = agreedMtu;
        state(ConnectionState.OPEN);
        notices.raise(AsyncEventType.ESTABLISHED, this, "");
    }

    /** True when no posted work waits to be finished, and no answer to be sent. */
    boolean isFinished() {
        for (RcQueuePair qp : qps()) {
            if (!qp.sending.isFinished() || qp.receiving.owes()) {
                return false;
            }
        }
        return true;
    }

    /** Data of the peer came without ECN; that is told once. */
    void noteMissingEcn() {
        if (!lacksEcn) {
            lacksEcn = true;
            notices.raise(AsyncEventType.ECN_MISSING, this, ECN_MISSING_TEXT);
        }
    }

    /** Ends it for a reason: one line without the name of the connection. */
    void fail(long nowNs, AsyncEventType type, String why) {
        if (isEnded()) {
            return;
        }
        device.count(CounterId.CONNECTIONS_FAILED);
        device.event(nowNs, EventId.CONNECTION_FAILED, connectionId, 0, 0);
        failure = this + ": " + why;
        end(ConnectionState.FAILED, WcStatus.RETRY_EXCEEDED_ERROR);
        notices.raise(type, this, failure);
    }

    /** Ends it in order. */
    void end() {
        boolean wasOpen = mtu != 0;
        if (isEnded()) {
            return;
        }
        end(ConnectionState.CLOSED, WcStatus.WR_FLUSH_ERROR);
        if (wasOpen) {
            notices.raise(AsyncEventType.DISCONNECTED, this, "");
        }
    }

    /** First the state, then the flush: who polls a flushed request can ask what it means. */
    private void end(ConnectionState last, WcStatus oldest) {
        state(last);
        drop(exchange);
        for (RcQueuePair qp : qps()) {
            drop(qp.exchange);
            qp.end(oldest);
        }
    }

    /** The connector is to see that messages about it are of no use any more. */
    private void drop(@Nullable Exchange messages) {
        if (messages != null) {
            device.exchanges.dropped.add(messages);
        }
    }

    @Override
    public String toString() {
        return "connection to " + peer;
    }
}
