package dev.metaroce.transport;

import dev.metaroce.event.AsyncEventType;
import dev.metaroce.event.CounterId;
import dev.metaroce.event.EventId;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.util.Rng;
import dev.metaroce.wire.AddressList;
import dev.metaroce.wire.CommonHeader;
import dev.metaroce.wire.ControlMessage;
import dev.metaroce.wire.ControlOpcode;
import dev.metaroce.wire.DenyReason;
import dev.metaroce.wire.GrantFields;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.PacketMemory;
import dev.metaroce.wire.Profile;
import dev.metaroce.wire.RequestFields;
import dev.metaroce.wire.ResetReason;

import org.jspecify.annotations.Nullable;

import java.util.Arrays;

/**
 * The initiator's side of leases: asks for a CID when work is posted, keeps it while used, lets it
 * linger, gives it back. How connections end is in {@link ConnectionCloser}. Owner: the engine
 * thread.
 */
final class LeaseClient {
    static final long FIRST_RETRY_NS = 10_000_000;
    private static final long MAX_RETRY_NS = 500_000_000;
    private static final long QUEUED_ASK_NS = 200_000_000;
    private static final long NO_SOURCE_NS = 10_000_000;
    private static final long MAX_DENY_US = 1_000_000;
    static final int MAX_RELEASE_TRIES = 6;
    private static final int FULL_POOL_LOAD = 254 * 9 / 10;

    private final DeviceState device;
    private final DeviceLimits limits;
    private final ConnectionTable connections;
    private final ConnectionCloser closer;
    private final EarlySender early;
    private final PathTimers pathTimers;
    private final GrantFields grant = new GrantFields();
    private @Nullable TxLease[] spare = new TxLease[4];
    private int spareCount;
    private long nextNonce;
    private final Rng paceRng;

    LeaseClient(DeviceState device, ConnectionTable connections, LeaseServer server) {
        this.device = device;
        this.connections = connections;
        closer = new ConnectionCloser(device, connections, server, this);
        limits = device.limits;
        early = new EarlySender(device);
        pathTimers = new PathTimers(device);
        paceRng = device.rng.fork("pace");
        //= MR-3.4-7
        nextNonce = device.rng.nextLong() >>> 2 | 1;
    }

    ConnectionCloser closer() {
        return closer;
    }

    EarlySender early() {
        return early;
    }

    long takeNonce() {
        return nextNonce++;
    }

    // Asking

    /** Application: a new connection. Its index is already set. */
    void dial(long nowNs, TransportConnection c) {
        connections.dial(c);
        c.wish().connectEndNs = nowNs + c.wish().connectNs;
        request(nowNs, c);
    }

    /** Work was posted to a stream. */
    void onWork(long nowNs, Stream stream) {
        TransportConnection c = stream.connection();
        if (c.isEnded()) {
            stream.end(WcStatus.WR_FLUSH_ERROR);
            return;
        }
        if (stream.isClosing()) {
            closeStream(nowNs, c, stream);
            return;
        }
        if (stream.inError()) {
            stream.fail(WcStatus.WR_FLUSH_ERROR);
            return;
        }
        c.wish().readyStreams.add(stream);
        //= MR-3.9-2
        if (c.offer != null) {
            return;
        }
        if (c.leaseState == LeaseState.IDLE) {
            request(nowNs, c);
        } else if (c.leaseState == LeaseState.OPEN) {
            device.ready.add(c);
        }
    }

    /** A queue pair ends; the lease does too, if messages of it are on the way. */
    private void closeStream(long nowNs, TransportConnection c, Stream stream) {
        boolean onTheWay = stream.hasOnTheWay();
        stream.end(WcStatus.WR_FLUSH_ERROR);
        if (onTheWay) {
            //= MR-4.5-5
            c.reclaimed = true;
            afterProgress(nowNs, c);
        }
    }

    /** The application accepted a connection: what it posted before may go. */
    void onAccepted(long nowNs, TransportConnection c) {
        if (c.state() == ConnectionState.OPEN && c.leaseState == LeaseState.IDLE && c.hasUnsent()) {
            request(nowNs, c);
        }
    }

    private void request(long nowNs, TransportConnection c) {
        if (c.leaseState != LeaseState.WAITING) {
            c.wish().wantedNs = nowNs;
            early.choose(c);
        }
        if (!device.sources.give(c)) {
            //= MR-1.2-7
            c.leaseState = LeaseState.WAITING;
            c.wish().retryNs = nowNs + NO_SOURCE_NS;
            arm(nowNs, c);
            return;
        }
        c.wish().answeredNs = 0;
        c.nonce = takeNonce();
        c.wish().attempts = 0;
        c.heardNs = nowNs;
        c.leaseState = LeaseState.REQUESTED;
        sendRequest(nowNs, c);
    }

    private void sendRequest(long nowNs, TransportConnection c) {
        c.wish().attempts++;
        c.wish().askedNs = nowNs;
        device.counters.increment(CounterId.REQUESTS_SENT);
        device.event(nowNs, EventId.LEASE_REQUESTED, c.index, c.nonce, c.wish().attempts);
        NetAddress to = c.address(c.wish().attempts - 1);
        device.send(ControlOpcode.REQUEST, to, c, 0, c.nonce, 0, 0, 0);
        //= MR-3.4-5
        long waitNs =
                c.leaseState == LeaseState.QUEUED
                        ? QUEUED_ASK_NS
                        : Math.min(
                                MAX_RETRY_NS,
                                FIRST_RETRY_NS << Math.min(c.wish().attempts - 1, 10));
        c.wish().retryNs = nowNs + waitNs + device.rng.nextInt(1 + (int) (waitNs / 8));
        arm(nowNs, c);
    }

    void fillRequest(TransportConnection c, RequestFields request) {
        request.nonce = c.nonce;
        request.endpointId = device.identity.endpointId();
        request.connectionId = c.connectionId;
        request.serviceId = c.serviceId;
        request.incarnation = device.identity.incarnation();
        request.srcCtx = c.srcCtx;
        request.mtu = limits.payloadMtu();
        request.profileMask = limits.profiles();
        request.maxPaths = limits.sendingPaths();
        request.versionMask = LeaseServer.versions();
        request.demandKib = c.demandKib();
        request.priority = 0;
        //= MR-3.6-7
        boolean first = c.dialer && !c.established;
        request.flags =
                (first ? RequestFields.FLAG_CONNECT : 0)
                        | (c.dialer ? 0 : RequestFields.FLAG_ACCEPTOR);
        request.cookie = c.wish().cookie;
        //= MR-3.10-1
        request.addresses = device.identity.addresses(first ? AddressList.MAX : 0);
        byte[] data = c.dialer ? c.privateData : TransportConnection.NO_DATA;
        request.privateLength = data.length;
        System.arraycopy(data, 0, request.privateData, 0, data.length);
    }

    /** The connection waiting for an answer with this nonce, or null: too late, or not ours. */
    private @Nullable TransportConnection asking(PacketMemory m, int at, NetAddress source) {
        TransportConnection c = device.sources.holder(CommonHeader.ctx(m, at));
        if (c == null || !c.isPeer(source) || !isAsking(c, ControlMessage.nonce(m, at))) {
            //= MR-3.4-6
            device.counters.increment(CounterId.ACKS_STALE);
            return null;
        }
        return c;
    }

    /** True when the connection waits for an answer to this request. */
    private static boolean isAsking(TransportConnection c, long nonce) {
        return c.nonce == nonce
                && (c.leaseState == LeaseState.REQUESTED || c.leaseState == LeaseState.QUEUED);
    }

    void onGrant(long nowNs, PacketMemory m, int at, NetAddress source) {
        TransportConnection c = asking(m, at, source);
        if (c == null) {
            giveBackUnasked(m, at, source);
            return;
        }
        grant.read(m, at);
        Profile profile = Profile.of(grant.profile);
        //= MR-3.4-11
        if (profile == null
                || grant.paths < 1
                || grant.paths > limits.maxPaths()
                || grant.connectionId != c.connectionId
                || grant.mtu < 64) {
            device.counters.increment(CounterId.ACKS_STALE);
            return;
        }
        //= MR-3.7-13
        if (c.established
                && (grant.endpointId != c.peerEndpointId
                        || grant.incarnation != c.peerIncarnation)) {
            closer.fail(nowNs, c, "the peer restarted");
            return;
        }
        TxLease lease = takeLease(c.peer);
        int token = CommonHeader.token(grant.cid, grant.epoch);
        lease.spread(planes(c, source));
        lease.open(c.peer, grant.cid, grant.epoch, token, grant.paths, profile == Profile.M);
        //= MR-3.4-10
        int mtu = Math.min(grant.mtu, limits.payloadMtu());
        lease.start(
                grant.initialPsn,
                mtu,
                Math.clamp(grant.openMessages, 1, OpenMessages.MAX_SLOTS),
                grant.quotaKib << 10,
                grant.maxReads);
        lease.allow(nowNs, grant.windowKib, grant.rateHint, grant.hintSeq);
        noteAnswer(nowNs, c);
        pathTimers.onOpen(nowNs, c, lease);
        //= MR-5.5-4
        if (c.demandKib() > 1) {
            lease.startLate(nowNs);
        }
        c.lease = lease;
        lease.number = ++c.leaseNumber;
        c.leaseState = LeaseState.OPEN;
        c.askedInVain = false;
        c.reclaimed = false;
        c.heardNs = nowNs;
        boolean earlyDone = (grant.flags & GrantFields.FLAG_EARLY_DONE) != 0;
        if (earlyDone) {
            lease.onEarlyDone(grant.initialPsn, grant.poolLoad);
        }
        early.onAnswer(c, earlyDone);
        connections.heard(c);
        c.leased(grant.cid, mtu, grant.paths, profile);
        if (!c.established) {
            c.established = true;
            c.wish().cookie = 0;
            c.peerPrivateData = TransportConnection.data(grant.privateData, grant.privateLength);
            connections.bind(c, grant.endpointId, grant.incarnation);
            if (c.state() == ConnectionState.CONNECTING) {
                c.state(ConnectionState.OPEN);
                c.notices.raise(AsyncEventType.ESTABLISHED, c, "");
            }
        }
        device.event(nowNs, EventId.LEASE_OPENED, c.index, grant.cid, grant.epoch);
        c.readyAll();
        afterProgress(nowNs, c);
    }

    /** The planes that lead to the peer, which is heard now. */
    private @Nullable PeerPlanes planes(TransportConnection c, NetAddress source) {
        if (!c.established) {
            c.planes = PeerPlanes.of(c.peer, grant.addresses, device.identity.planes());
        }
        c.hear(source);
        return c.planes;
    }

    /**
     * The first answer gives a first idea of the round trip. It is too short when it answers an
     * earlier copy of the request, which costs a few probes; counted from the first copy it could
     * be seconds.
     */
    private static void noteAnswer(long nowNs, TransportConnection c) {
        if (c.wish().answeredNs == 0) {
            c.wish().answeredNs = Math.max(1, nowNs - c.wish().askedNs);
        }
    }

    /** A GRANT for an attempt that was given up: the target may have the context back at once. */
    private void giveBackUnasked(PacketMemory m, int at, NetAddress source) {
        int srcCtx = CommonHeader.ctx(m, at);
        TransportConnection c = device.sources.holder(srcCtx);
        long nonce = ControlMessage.nonce(m, at);
        //= MR-3.4-15
        if (c == null || c.nonce != nonce) {
            grant.read(m, at);
            int token = CommonHeader.token(grant.cid, grant.epoch);
            device.send(ControlOpcode.RELEASE, source, null, srcCtx, nonce, token, 0, 0);
        }
    }

    private TxLease takeLease(NetAddress peer) {
        TxLease lease = spareCount > 0 ? spare[--spareCount] : null;
        return lease == null ? new TxLease(limits, peer, device.pulls, paceRng) : lease;
    }

    void onQueued(long nowNs, PacketMemory m, int at, NetAddress source) {
        TransportConnection c = asking(m, at, source);
        if (c != null) {
            c.leaseState = LeaseState.QUEUED;
            early.onAnswer(c, false);
            c.heardNs = nowNs;
            c.wish().wantedNs = nowNs;
            noteAnswer(nowNs, c);
            c.wish().retryNs = nowNs + QUEUED_ASK_NS;
            device.event(
                    nowNs,
                    EventId.LEASE_QUEUED,
                    c.index,
                    ControlMessage.queuedPosition(m, at),
                    ControlMessage.queuedWaitUs(m, at));
            arm(nowNs, c);
        }
    }

    void onDeny(long nowNs, PacketMemory m, int at, NetAddress source) {
        TransportConnection c = asking(m, at, source);
        DenyReason reason = DenyReason.of(ControlMessage.denyReason(m, at));
        if (c == null || reason == null) {
            return;
        }
        early.onAnswer(c, ControlMessage.denyEarlyDone(m, at));
        long retryUs = Math.min(ControlMessage.denyRetryAfterUs(m, at), MAX_DENY_US);
        device.event(nowNs, EventId.LEASE_DENIED, c.index, reason.code(), retryUs);
        c.wish().denials |= 1 << reason.code();
        //= MR-3.4-12
        switch (reason) {
            case COOKIE -> askWithCookie(nowNs, c, ControlMessage.denyCookie(m, at));
            case QUEUE_FULL, POLICY -> waitAndAskAgain(nowNs, c, retryUs * 1_000, reason);
            case FINISHED -> waitAndAskAgain(nowNs, c, 0, reason);
            case NO_SERVICE -> {
                // A peer that closed tells so, but its word may be overtaken.
                if (!c.established || !c.askedInVain) {
                    c.askedInVain = c.established;
                    waitAndAskAgain(nowNs, c, 50_000_000, reason);
                } else {
                    closer.fail(nowNs, c, "the peer does not know this connection (restarted?)");
                }
            }
            case VERSION ->
                    closer.fail(
                            nowNs,
                            c,
                            "the peer speaks no version of ours: it offers mask 0x"
                                    + Integer.toHexString(ControlMessage.denyVersionMask(m, at))
                                    + ", we speak version "
                                    + CommonHeader.VERSION);
            case PROFILE ->
                    closer.fail(nowNs, c, "no common profile: we offer mask " + limits.profiles());
            case SERVICE -> {
                c.peerPrivateData = ControlMessage.denyPrivateData(m, at);
                String why = "the peer's service refused the connection" + c.whyText();
                closer.fail(nowNs, c, AsyncEventType.REJECTED, why);
            }
            case SHUTDOWN -> closer.fail(nowNs, c, "the peer is shutting down");
        }
    }

    /** The target is crowded and wants to see that we read what it sends to our address. */
    private void askWithCookie(long nowNs, TransportConnection c, long cookie) {
        boolean first = c.wish().cookie == 0;
        c.wish().cookie = cookie;
        if (first) {
            // Refused as with any other reason: the time of being denied goes on.
            c.leaseState = LeaseState.WAITING;
            request(nowNs, c);
        } else {
            waitAndAskAgain(nowNs, c, 0, DenyReason.COOKIE);
        }
    }

    private void waitAndAskAgain(
            long nowNs, TransportConnection c, long waitNs, DenyReason reason) {
        if (c.established && !c.hasUnsent()) {
            c.leaseState = LeaseState.IDLE;
            finish(nowNs, c);
            return;
        }
        if (!c.isConnectLimited() && nowNs - c.wish().wantedNs >= limits.giveUpNs()) {
            closer.fail(nowNs, c, "the peer denied a context for too long: " + reason);
            return;
        }
        c.leaseState = LeaseState.WAITING;
        c.wish().retryNs = nowNs + Math.max(waitNs, 1_000_000);
        arm(nowNs, c);
    }

    // Holding

    /** Connections that waited for room to READ get their turn when there is some. */
    @Nullable TransportConnection wakePuller() {
        while (device.pulls.wakeable() > 0) {
            TransportConnection c = device.connection(device.pulls.poll());
            if (c != null) {
                c.awaitsPulls = false;
                c.readyAll();
                return c;
            }
        }
        return null;
    }

    /** Something changed for an open lease: more may be sent, or it may end. */
    void afterProgress(long nowNs, TransportConnection c) {
        TxLease lease = c.lease;
        if (lease == null) {
            return;
        }
        if (c.reclaimed && c.leaseState == LeaseState.OPEN) {
            //= MR-3.5-9
            c.leaseState = LeaseState.DRAINING;
            device.event(nowNs, EventId.LEASE_DRAINING, c.index, lease.cid, lease.epoch);
        }
        device.ready.add(c);
        if (lease.isAllAcked()) {
            //= MR-3.3-1
            if (c.leaseState == LeaseState.DRAINING && !c.isMidMessage()) {
                release(nowNs, c);
                return;
            }
            if (c.leaseState == LeaseState.OPEN && !c.hasUnsent()) {
                c.wish().idleSinceNs = nowNs;
                boolean crowded = lease.poolLoad >= FULL_POOL_LOAD;
                //= MR-3.3-9
                if (crowded || c.state() == ConnectionState.CLOSING) {
                    release(nowNs, c);
                    return;
                }
            }
        }
        arm(nowNs, c);
    }

    void onReclaim(long nowNs, PacketMemory m, int at, NetAddress source) {
        TransportConnection c = device.sources.holder(CommonHeader.ctx(m, at));
        if (c != null && !c.isPeer(source)) {
            return;
        }
        if (c != null && isAsking(c, ControlMessage.nonce(m, at))) {
            //= MR-3.7-11
            return;
        }
        if (c != null && holdsToken(c, m, at)) {
            c.reclaimed = true;
            afterProgress(nowNs, c);
            if (c.leaseState == LeaseState.DRAINING) {
                // It may be long before any data comes through.
                sayAlive(m, at, source);
            }
        } else {
            sayReleased(m, at, source);
        }
    }

    private static boolean holdsToken(TransportConnection c, PacketMemory m, int at) {
        TxLease lease = c.lease;
        return lease != null
                && lease.cid == ControlMessage.leaseCid(m, at)
                && lease.epoch == ControlMessage.leaseEpoch(m, at);
    }

    void onKeepalive(PacketMemory m, int at, NetAddress source) {
        TransportConnection c = device.sources.holder(CommonHeader.ctx(m, at));
        if (c != null && !c.isPeer(source)) {
            return;
        }
        if (c != null && isAsking(c, ControlMessage.nonce(m, at))) {
            //= MR-3.7-11
            return;
        }
        if (c != null && holdsToken(c, m, at)) {
            //= MR-3.3-8
            sayAlive(m, at, source);
        } else {
            sayReleased(m, at, source);
        }
    }

    private void sayAlive(PacketMemory m, int at, NetAddress source) {
        answer(ControlOpcode.KEEPALIVE_ACK, 0, m, at, source);
    }

    /** We do not hold the lease that is spoken of (any more): the target may have it back. */
    private void sayReleased(PacketMemory m, int at, NetAddress source) {
        answer(ControlOpcode.RELEASE, CommonHeader.ctx(m, at), m, at, source);
    }

    /** Answers about the lease that a RECLAIM or KEEPALIVE names. */
    private void answer(ControlOpcode opcode, int ctx, PacketMemory m, int at, NetAddress source) {
        int token =
                CommonHeader.token(
                        ControlMessage.leaseCid(m, at), ControlMessage.leaseEpoch(m, at));
        device.send(opcode, source, null, ctx, ControlMessage.nonce(m, at), token, 0, 0);
    }

    // Giving back

    private void release(long nowNs, TransportConnection c) {
        c.leaseState = LeaseState.RELEASING;
        c.wish().attempts = 0;
        sendRelease(nowNs, c);
    }

    private void sendRelease(long nowNs, TransportConnection c) {
        TxLease lease = c.lease;
        if (lease == null) {
            return;
        }
        c.wish().attempts++;
        //= MR-2.6-2, MR-3.3-2
        NetAddress to = c.address(c.wish().attempts - 1);
        device.send(ControlOpcode.RELEASE, to, c, c.srcCtx, c.nonce, lease.token, 0, 0);
        c.wish().retryNs = nowNs + (FIRST_RETRY_NS << Math.min(c.wish().attempts - 1, 5));
        arm(nowNs, c);
    }

    void onReleaseAck(long nowNs, PacketMemory m, int at, NetAddress source) {
        TransportConnection c = device.sources.holder(CommonHeader.ctx(m, at));
        //= MR-3.3-10
        if (c != null
                && c.leaseState == LeaseState.RELEASING
                && c.nonce == ControlMessage.nonce(m, at)
                && holdsToken(c, m, at)
                && c.isPeer(source)) {
            released(nowNs, c);
        }
    }

    private void released(long nowNs, TransportConnection c) {
        TxLease lease = c.lease;
        if (lease != null) {
            device.event(nowNs, EventId.LEASE_RELEASED, c.index, lease.cid, lease.epoch);
        }
        dropLease(c);
        finish(nowNs, c);
    }

    /** Without a lease: asks for one when there is work, else ends a connection that is closing. */
    void finish(long nowNs, TransportConnection c) {
        //= MR-3.6-3
        if (c.hasUnsent()) {
            request(nowNs, c);
        } else if (c.state() == ConnectionState.CLOSING) {
            closer.disconnect(nowNs, c);
        } else {
            device.sources.takeBack(c);
            c.rest();
            device.timers.cancel(DeviceState.timer(c.index, DeviceState.CONNECTION_TIMER));
        }
    }

    void dropLease(TransportConnection c) {
        TxLease lease = c.lease;
        c.lease = null;
        c.leaseState = LeaseState.IDLE;
        c.leaseEnded();
        if (lease != null) {
            lease.dropPulls();
            if (spareCount == spare.length) {
                spare = Arrays.copyOf(spare, spare.length * 2);
            }
            spare[spareCount++] = lease;
        }
    }

    /** The target says it does not know this token. */
    void onReset(long nowNs, PacketMemory m, int at, NetAddress source) {
        device.counters.increment(CounterId.RESETS_RECEIVED);
        int cid = ControlMessage.resetCid(m, at);
        int epoch = ControlMessage.resetEpoch(m, at);
        long proof = ControlMessage.nonce(m, at);
        //= MR-3.2-6, MR-3.2-8
        for (int i = 0; i < device.sources.end(); i++) {
            TransportConnection c = device.sources.holder(i);
            TxLease lease = c == null ? null : c.lease;
            if (c == null
                    || lease == null
                    || lease.cid != cid
                    || lease.epoch != epoch
                    || !c.isPeer(source)
                    || !lease.isProof(proof)) {
                continue;
            }
            device.event(
                    nowNs, EventId.LEASE_LOST, c.index, cid, ControlMessage.resetReason(m, at));
            boolean unused = ControlMessage.resetReason(m, at) == ResetReason.UNUSED.code();
            if (unused || lease.isAllAcked() || c.isRepeatable()) {
                //= MR-3.2-9
                c.restart();
                dropLease(c);
                finish(nowNs, c);
            } else {
                closer.fail(nowNs, c, "the peer lost the context: it restarted or took it back");
            }
            return;
        }
    }

    // Time

    /** Sets the connection's timer to the earliest thing it waits for. */
    void arm(long nowNs, TransportConnection c) {
        int timer = DeviceState.timer(c.index, DeviceState.CONNECTION_TIMER);
        TxLease lease = c.lease;
        switch (c.leaseState) {
            case IDLE -> connections.armIdle(c);
            case REQUESTED, QUEUED, WAITING, RELEASING, DISCONNECTING -> {
                boolean endsFirst =
                        c.isConnectLimited() && c.wish().connectEndNs - c.wish().retryNs < 0;
                device.timers.set(timer, endsFirst ? c.wish().connectEndNs : c.wish().retryNs);
            }
            case OPEN, DRAINING -> {
                if (lease != null) {
                    device.timers.set(timer, pathTimers.leaseDeadlineNs(nowNs, c, lease));
                }
            }
        }
    }

    void onTimer(long nowNs, TransportConnection c) {
        if (c.isConnectOver(nowNs)) {
            //= MR-3.9-5
            closer.fail(nowNs, c, AsyncEventType.UNREACHABLE, c.whyNotConnected());
            return;
        }
        switch (c.leaseState) {
            case IDLE -> connections.failSilent(c);
            case REQUESTED, QUEUED -> {
                if (!c.isConnectLimited() && nowNs - c.heardNs >= limits.giveUpNs()) {
                    boolean asked = !c.established;
                    closer.fail(
                            nowNs,
                            c,
                            asked ? AsyncEventType.UNREACHABLE : AsyncEventType.FAILED,
                            PathTimers.whyNoAnswer(c));
                } else {
                    sendRequest(nowNs, c);
                }
            }
            case WAITING -> request(nowNs, c);
            case RELEASING -> {
                if (c.wish().attempts >= MAX_RELEASE_TRIES) {
                    released(nowNs, c);
                } else {
                    sendRelease(nowNs, c);
                }
            }
            case DISCONNECTING -> closer.onTimer(nowNs, c);
            case OPEN, DRAINING -> onLeaseTimer(nowNs, c);
        }
    }

    private void onLeaseTimer(long nowNs, TransportConnection c) {
        TxLease lease = c.lease;
        if (lease == null) {
            return;
        }
        String stuck = pathTimers.whyStuck(nowNs, c, lease);
        if (!stuck.isEmpty()) {
            closer.fail(nowNs, c, stuck);
            return;
        }
        for (int i = 0; i < lease.pathCount; i++) {
            pathTimers.onPathTimer(nowNs, c, lease, i);
        }
        c.readyAll();
        boolean idle = lease.isAllAcked() && c.leaseState == LeaseState.OPEN && !c.hasUnsent();
        //= MR-3.3-9
        if (idle && nowNs - c.wish().idleSinceNs >= limits.lingerNs()) {
            release(nowNs, c);
            return;
        }
        device.ready.add(c);
        arm(nowNs, c);
    }
}
