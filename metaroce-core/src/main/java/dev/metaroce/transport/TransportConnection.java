package dev.metaroce.transport;

import dev.metaroce.ring.Reservation;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.util.ReadyList;
import dev.metaroce.wire.DenyReason;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.Profile;

import org.jspecify.annotations.Nullable;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;

/**
 * The lasting relation of two endpoints: its streams, and the state of the lease it holds, or
 * wants, at the peer. Between leases it is host memory and nothing else.
 *
 * <p>Owner: the engine thread. The public queries may come from any thread.
 */
public final class TransportConnection extends ReadyList.Item<TransportConnection>
        implements ProtocolConnection {
    private static final VarHandle STATE;
    private static final VarHandle STREAMS;
    private static final VarHandle SLOTS;
    private static final VarHandle HANDLE;

    static {
        try {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            STATE = lookup.findVarHandle(TransportConnection.class, "state", ConnectionState.class);
            HANDLE = lookup.findVarHandle(TransportConnection.class, "handle", Object.class);
            STREAMS = lookup.findVarHandle(TransportConnection.class, "streams", Stream[].class);
            SLOTS = lookup.findVarHandle(TransportConnection.class, "slots", StreamSlot[].class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private static final long MAX_DEMAND_BYTES = 64 << 20;

    static final byte[] NO_DATA = {};
    private static final Stream[] NO_STREAMS = {};
    private static final StreamSlot[] NO_SLOTS = {};

    final long connectionId;
    final boolean dialer;
    final long serviceId;
    byte[] privateData = NO_DATA;

    /** Index in the device's table. */
    int index;

    /** The source context to which the peer addresses answers; NONE between leases. */
    int srcCtx = SourceContexts.NONE;

    /** Who hears of what happens to it. */
    Notices notices = Notices.NONE;

    private @Nullable Object handle;

    /** Where the peer is; the table of connections has to know of changes. */
    NetAddress peer;

    /** The ways to the peer when there are several planes, else null. */
    @Nullable PeerPlanes planes;

    ConnectionIndex.@Nullable Entry peerEntry;
    ConnectionIndex.@Nullable Entry endpointEntry;
    long peerEndpointId;
    int peerIncarnation;

    /** A packet of the peer came without ECN, and that was told. */
    boolean lacksEcn;

    /** When the peer last asked for a context. */
    long peerHeardNs;

    /** The peer lost a context by silence and was not heard since. */
    boolean peerSilent;

    byte[] peerPrivateData = NO_DATA;
    private ConnectionState state = ConnectionState.CONNECTING;

    /** Both sides agreed to the connection. */
    boolean established;

    /** Until we answered the peer that asks for this connection. */
    @Nullable LeaseOffer offer;

    /** Why the system did not send to the peer; empty when it did. */
    String unsent = "";

    /** The peer answered the last request that it does not know the connection. */
    boolean askedInVain;

    private String failure = "";

    /** Queue pairs by number; and the streams of those that were used. */
    private StreamSlot[] slots = NO_SLOTS;

    private Stream[] streams = NO_STREAMS;

    // The lease, as initiator
    LeaseState leaseState = LeaseState.IDLE;
    private @Nullable LeaseWish wish;
    @Nullable TxLease lease;
    int leaseNumber;
    long nonce;
    long heardNs;
    boolean reclaimed;

    /** In the line of those that want to READ. */
    boolean awaitsPulls;

    private volatile int lastMtu;
    private volatile int lastPaths;
    private volatile @Nullable Profile lastProfile;
    private volatile int cid = -1;

    /** Why the connection is to be failed at the next turn; empty for no reason. */
    String pendingFailure = "";

    // As target: the context the peer holds, and the number of its present lease
    int rxCid = -1;
    int rxLease;

    /** The newest request of the peer for a lease of this connection; 0 before the first. */
    long rxNonce;

    /** The newest request of the peer whose message was executed; 0 for none. */
    long rxEarlyNonce;

    /** Of how many addresses the answer to that request may tell. */
    int rxAddressRoom;

    /** How often that request was repeated: its answers may be lost. */
    int rxRepeats;

    TransportConnection(long connectionId, boolean dialer, NetAddress peer, long serviceId) {
        this.connectionId = connectionId;
        this.dialer = dialer;
        this.peer = peer;
        this.serviceId = serviceId;
    }

    /** Private data, as received; all empty ones are one. */
    static byte[] data(byte[] from, int length) {
        return length == 0 ? NO_DATA : Arrays.copyOf(from, length);
    }

    /** A connection of ours, not yet known to any table. */
    public static TransportConnection dialed(
            long connectionId, NetAddress peer, long serviceId, byte[] privateData) {
        TransportConnection made = new TransportConnection(connectionId, true, peer, serviceId);
        made.privateData = data(privateData, privateData.length);
        return made;
    }

    /** Before it is dialled: how long connecting may take, in nanoseconds. */
    public void connectWithin(long ns) {
        wish().connectNs = ns;
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

    /** Set before the state becomes FAILED. */
    void failure(String why) {
        failure = why;
    }

    boolean isEnded() {
        return state == ConnectionState.CLOSED || state == ConnectionState.FAILED;
    }

    @Override
    public NetAddress peer() {
        return peer;
    }

    /** True when the peer has this address. */
    boolean isPeer(NetAddress source) {
        PeerPlanes several = planes;
        return source.sameHost(peer) || (several != null && several.has(source));
    }

    /** The peer was heard from one of its addresses. */
    void hear(NetAddress source) {
        PeerPlanes several = planes;
        if (several != null) {
            several.hear(source);
        }
    }

    /** A packet of a path of the peer's lease came. */
    void hear(int path, NetAddress source) {
        PeerPlanes several = planes;
        if (several != null) {
            //= MR-3.10-6
            several.hear(path, source);
        }
    }

    /** Where a message of our own goes that was sent in vain so often. */
    NetAddress address(int failures) {
        PeerPlanes several = planes;
        //= MR-3.10-7
        return several == null ? peer : several.address(failures);
    }

    /** Where to answer what came on a path of the peer's lease. */
    NetAddress addressOf(int path) {
        PeerPlanes several = planes;
        return several == null ? peer : several.of(path);
    }

    @Override
    public byte[] peerPrivateData() {
        state();
        return peerPrivateData.clone();
    }

    /** Of the present or last lease; 0 before the first. */
    @Override
    public int payloadMtu() {
        return lastMtu;
    }

    @Override
    public int paths() {
        return lastPaths;
    }

    /** Of the present or last lease; null before the first. */
    @Override
    public @Nullable Profile profile() {
        return lastProfile;
    }

    @Override
    public int cid() {
        return cid;
    }

    void leased(int newCid, int mtu, int paths, Profile profile) {
        lastMtu = mtu;
        lastPaths = paths;
        lastProfile = profile;
        cid = newCid;
    }

    /** What is kept while a lease is wanted or held, from the first use on until {@link #rest}. */
    LeaseWish wish() {
        LeaseWish now = wish;
        if (now == null) {
            now = new LeaseWish();
            wish = now;
        }
        return now;
    }

    /** Neither wants a lease nor has one. */
    void rest() {
        LeaseWish before = wish;
        // A stream knows whether it is in that list.
        while (before != null && before.readyStreams.poll() != null) {}
        wish = null;
    }

    void leaseEnded() {
        cid = -1;
    }

    /** True when the time to connect was given and is over. */
    boolean isConnectOver(long nowNs) {
        return isConnectLimited() && nowNs - wish().connectEndNs >= 0;
    }

    /** True while connecting, when a time for that was given. */
    boolean isConnectLimited() {
        return !established && wish().connectNs > 0;
    }

    /** Why it is not connected when the time for that is over. */
    String whyNotConnected() {
        StringBuilder why = new StringBuilder("not connected within ");
        why.append(wish().connectNs / 1_000_000).append(" ms: ");
        String separator = "";
        for (DenyReason reason : DenyReason.values()) {
            if ((wish().denials >> reason.code() & 1) != 0) {
                String text =
                        reason == DenyReason.NO_SERVICE
                                ? "the peer has no service " + serviceId
                                : "the peer denied a context, " + reason;
                why.append(separator).append(text);
                separator = "; ";
            }
        }
        if (leaseState == LeaseState.QUEUED) {
            why.append(separator).append("the peer had us wait in line or has not decided");
        } else if (separator.isEmpty()) {
            why.append(whySilent());
        }
        return why.toString();
    }

    /** Why there may be no answer. */
    String whySilent() {
        return unsent.isEmpty()
                ? "no answer: is the peer running and its UDP port open?"
                : "no answer: cannot send there, " + unsent;
    }

    /** What the peer gave along when it refused; empty when that was nothing. */
    String whyText() {
        if (peerPrivateData.length == 0) {
            return "";
        }
        for (byte b : peerPrivateData) {
            if (b < ' ' || b > '~') {
                return ": 0x" + HexFormat.of().formatHex(peerPrivateData);
            }
        }
        return ": \"" + new String(peerPrivateData, StandardCharsets.US_ASCII) + '"';
    }

    @Override
    public StreamSlot addSlot(
            StreamSettings settings, Reservation sendRoom, Reservation receiveRoom) {
        while (true) {
            StreamSlot[] before = (StreamSlot[]) SLOTS.getAcquire(this);
            if (before.length == 1 << 16) {
                throw new IllegalStateException(
                        "the connection has 65536 queue pairs: open another connection");
            }
            StreamSlot slot = new StreamSlot(before.length, this, settings, sendRoom, receiveRoom);
            StreamSlot[] after = Arrays.copyOf(before, before.length + 1);
            after[before.length] = slot;
            if (SLOTS.compareAndSet(this, before, after)) {
                return slot;
            }
        }
    }

    /** Any thread: a queue pair is used for the first time, perhaps by two at once. */
    void addStream(Stream made) {
        while (true) {
            Stream[] before = streams();
            if (Arrays.asList(before).contains(made)) {
                return;
            }
            Stream[] after = Arrays.copyOf(before, before.length + 1);
            after[before.length] = made;
            if (STREAMS.compareAndSet(this, before, after)) {
                return;
            }
        }
    }

    /** Of the queue pairs that were used. */
    Stream[] streams() {
        return (Stream[]) STREAMS.getAcquire(this);
    }

    /** Of all queue pairs. */
    Stream[] allStreams() {
        StreamSlot[] all = (StreamSlot[]) SLOTS.getAcquire(this);
        return Arrays.stream(all).map(StreamSlot::queue).toArray(Stream[]::new);
    }

    @Nullable Stream stream(int id) {
        StreamSlot[] all = (StreamSlot[]) SLOTS.getAcquire(this);
        return id < all.length ? all[id].queue() : null;
    }

    /** The region of a posted request was closed: the stream is to fail after this turn. */
    void noteLocalFault(Stream stream, long seq, WcStatus status) {
        //= MR-4.5-7
        LeaseWish now = wish();
        if (now.faultedStream == null) {
            now.faultedStream = stream;
            now.faultedSeq = seq;
            now.faultedStatus = status;
        }
    }

    /** The stream that is to fail, or null. */
    @Nullable Stream faultedStream() {
        LeaseWish now = wish;
        return now == null ? null : now.faultedStream;
    }

    /** True when any stream has posted work that is not fully sent. */
    boolean hasUnsent() {
        for (Stream stream : streams()) {
            if (stream.hasUnsent()) {
                return true;
            }
        }
        return false;
    }

    /** What waits to be sent, in KiB, capped; 0 for nothing. */
    long demandKib() {
        long bytes = 0;
        boolean any = false;
        for (Stream stream : streams()) {
            any |= stream.hasUnsent();
            bytes += stream.unsentBytes(MAX_DEMAND_BYTES);
        }
        //= MR-3.8-1
        long kib = (Math.min(bytes, MAX_DEMAND_BYTES) + 1023) >> 10;
        return any ? Math.max(1, kib) : 0;
    }

    /** Every stream with work gets its turn again. */
    void readyAll() {
        for (Stream stream : streams()) {
            if (stream.hasUnsent()) {
                wish().readyStreams.add(stream);
            }
        }
    }

    /** True when a message of any stream was begun and is not fully sent. */
    boolean isMidMessage() {
        for (Stream stream : streams()) {
            if (stream.isMidMessage()) {
                return true;
            }
        }
        return false;
    }

    /** True when what is in doubt may be done twice: WRITEs that no application was told of. */
    boolean isRepeatable() {
        for (Stream stream : streams()) {
            if (!stream.isRepeatable()) {
                return false;
            }
        }
        return true;
    }

    /** Whatever of a lost lease is not acknowledged is sent again under the next one. */
    void restart() {
        for (Stream stream : streams()) {
            stream.restart();
        }
    }

    /** True when the message that rode in this request of the peer was executed. */
    boolean ranEarly(long request) {
        return rxEarlyNonce != 0 && rxEarlyNonce == request;
    }

    /** How the present lease sends; null when there is none. */
    @Override
    public @Nullable SendingState sending() {
        TxLease held = lease;
        return held == null ? null : held.sending();
    }

    /** Where the lease stands. */
    @Override
    public String leaseText(long nowNs) {
        TxLease held = lease;
        LeaseWish last = wish;
        return "%s, %s, last answer %d ms ago, attempt %d"
                .formatted(
                        held == null ? "no lease" : "cid " + held.cid + "/" + held.epoch,
                        leaseState,
                        (nowNs - heardNs) / 1_000_000,
                        last == null ? 0 : last.attempts);
    }

    /** The same with what its paths are doing, for the text of a failure. */
    String progressText(long nowNs) {
        TxLease held = lease;
        StringBuilder text = new StringBuilder(" (").append(leaseText(nowNs));
        for (int i = 0; held != null && i < held.pathCount; i++) {
            text.append(held.paths[i].isAllAcked() ? "" : ", path " + i + " " + held.paths[i]);
        }
        return text.append(')').toString();
    }

    @Override
    public String toString() {
        return "connection " + Long.toHexString(connectionId) + " to " + peer;
    }
}
