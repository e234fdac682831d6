package dev.metaroce.transport;

import dev.metaroce.event.CounterId;
import dev.metaroce.event.EventId;
import dev.metaroce.wire.CommonHeader;
import dev.metaroce.wire.ControlMessage;
import dev.metaroce.wire.ControlOpcode;
import dev.metaroce.wire.DenyReason;
import dev.metaroce.wire.GrantFields;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.PacketMemory;
import dev.metaroce.wire.Profile;
import dev.metaroce.wire.RequestFields;

import org.jspecify.annotations.Nullable;

import java.util.Arrays;

/**
 * The target's side of leases: answers requests from the CID pool, keeps the waiting line, takes
 * contexts back. Every answer can be given again from saved state. Owner: the engine thread.
 */
final class LeaseServer {
    /** Times of contexts are kept in steps of this many nanoseconds. */
    private static final long COARSE_NS = 4096;

    /** How often a silent holder is asked before its context is taken back. */
    private static final int KEEPALIVES = 4;

    private static final long WAITER_SILENCE_NS = 2_000_000_000;
    private static final long LINE_PERIOD_NS = 1_000_000;
    private static final int VERSIONS = 1 << CommonHeader.VERSION;

    private final DeviceState device;
    private final DeviceLimits limits;
    private final ConnectionTable connections;
    private final RxContexts contexts;
    private final CidPool pool;
    private final RetryPace retries;
    private final PeerTable peers = new PeerTable();
    private final WaitingLine line;
    private final ReceiverShares shares;
    private final RequestFields request = new RequestFields();

    /** When a request was last refused for want of a context. */
    private long refusedNs;

    private final StaleTokens stale;
    private final Reclaimer reclaimer;

    LeaseServer(
            DeviceState device,
            ConnectionTable connections,
            RxContexts contexts,
            CidPool pool,
            ReceiverShares shares) {
        this.device = device;
        this.connections = connections;
        this.contexts = contexts;
        this.pool = pool;
        retries = new RetryPace(device.rng);
        this.shares = shares;
        limits = device.limits;
        line = new WaitingLine(limits.maxWaiters());
        stale = new StaleTokens(device, contexts, pool, peers);
        reclaimer = new Reclaimer(device, contexts, pool, line);
    }

    RxContexts contexts() {
        return contexts;
    }

    StaleTokens stale() {
        return stale;
    }

    /** True when the context is granted under this epoch. */
    boolean holds(int cid, int epoch) {
        return contexts.connection(cid) != null && pool.epoch(cid) == epoch;
    }

    /** The connection whose peer holds this token, or null. */
    private @Nullable TransportConnection holder(int token) {
        int cid = CommonHeader.cid(token);
        return holds(cid, CommonHeader.epoch(token)) ? contexts.connection(cid) : null;
    }

    void heard(long nowNs, int cid) {
        //= MR-3.3-11
        contexts.heard(cid, nowNs);
    }

    /** A DATA packet of the holder was accepted. */
    void onAccepted(long nowNs, int cid) {
        heard(nowNs, cid);
        if (pool.state(cid) == SlotState.GRANTED) {
            //= MR-3.1-11
            pool.activate(cid);
            if (contexts.heldNs(cid, nowNs) < grantTimeNs(cid) / 4) {
                peers.cameEarly(contexts.peer(cid));
            }
            device.event(nowNs, EventId.CID_ACTIVE, contexts.holderPort(cid), cid, pool.epoch(cid));
        }
    }

    // REQUEST

    void onRequest(long nowNs, PacketMemory m, int at, NetAddress source) {
        device.counters.increment(CounterId.REQUESTS_RECEIVED);
        request.read(m, at);
        int peer = peers.enter(request.endpointId, request.incarnation, source);
        if (peer < 0) {
            deny(nowNs, source, DenyReason.QUEUE_FULL, retries.refuse(nowNs));
            return;
        }
        if (peers.isNew(peer)) {
            retireOlder(nowNs, source);
        }
        if (peers.incarnation(peer) != request.incarnation) {
            // A late request of a process that has restarted since.
            deny(nowNs, source, DenyReason.FINISHED, 0);
            return;
        }
        int cid = granted(peer, request.nonce);
        if (cid >= 0) {
            //= MR-3.4-1
            noteRepeat(contexts.connection(cid));
            sendGrant(cid);
            return;
        }
        int ticket = line.find(peer, request.nonce);
        if (ticket >= 0) {
            line.heard(ticket, nowNs);
            line.connection(ticket).peerHeardNs = nowNs;
            sendQueued(ticket, source);
            return;
        }
        if (!peers.isFresh(peer, request.nonce)) {
            deny(nowNs, source, DenyReason.FINISHED, 0);
            return;
        }
        // Whatever the answer is: a copy that comes later is not decided on again.
        peers.use(peer, request.nonce);
        Profile profile = profile();
        if (profile == null) {
            deny(nowNs, source, DenyReason.PROFILE, 0);
            return;
        }
        TransportConnection connection = connectionOf(nowNs, source);
        if (connection == null) {
            return;
        }
        //= MR-3.4-16
        if (connection.rxNonce != 0 && request.nonce - connection.rxNonce < 0) {
            // A late copy. Its sender has gone on, and may hold a context for this connection.
            deny(nowNs, source, DenyReason.FINISHED, 0);
            return;
        }
        if (request.nonce != connection.rxNonce) {
            // Nobody asks while he holds a context: what there is was given up.
            connection.rxNonce = request.nonce;
            connection.rxRepeats = 0;
            forget(nowNs, connection);
        }
        decide(nowNs, source, peer, connection);
    }

    private static void noteRepeat(@Nullable TransportConnection connection) {
        if (connection != null) {
            connection.rxRepeats++;
        }
    }

    /** The context granted for this request, or -1. */
    private int granted(int peer, long nonce) {
        for (int cid = 0; cid < contexts.end(); cid++) {
            if (contexts.connection(cid) != null
                    && contexts.nonce(cid) == nonce
                    && contexts.peer(cid) == peer) {
                return cid;
            }
        }
        return -1;
    }

    private @Nullable Profile profile() {
        //= MR-3.4-8
        return Profile.best(request.profileMask & limits.profiles());
    }

    private @Nullable TransportConnection connectionOf(long nowNs, NetAddress source) {
        boolean byAcceptor = (request.flags & RequestFields.FLAG_ACCEPTOR) != 0;
        TransportConnection known =
                connections.find(request.endpointId, request.connectionId, byAcceptor);
        if (known == null && byAcceptor) {
            known = dialledTo(source);
        }
        if (known != null) {
            if (known.isEnded()) {
                deny(nowNs, source, DenyReason.SERVICE, 0);
                return null;
            }
            known.peer = source;
            known.peerHeardNs = nowNs;
            known.peerSilent = false;
            return known;
        }
        //= MR-3.6-1
        if ((request.flags & RequestFields.FLAG_CONNECT) == 0) {
            deny(nowNs, source, DenyReason.NO_SERVICE, 0);
            return null;
        }
        Acceptor acceptor = connections.service(request.serviceId);
        if (acceptor == null) {
            deny(nowNs, source, DenyReason.NO_SERVICE, 0);
            return null;
        }
        byte[] offered = Arrays.copyOf(request.privateData, request.privateLength);
        //= MR-3.6-9
        if (device.isFull()) {
            connections.evictSilent(nowNs);
            deny(nowNs, source, DenyReason.QUEUE_FULL, retries.refuse(nowNs));
            return null;
        }
        TransportConnection made =
                connections.accept(
                        request.endpointId,
                        request.incarnation,
                        request.connectionId,
                        source,
                        request.serviceId,
                        offered,
                        acceptor);
        if (made == null) {
            deny(nowNs, source, DenyReason.SERVICE, 0);
            return null;
        }
        made.peerHeardNs = nowNs;
        return made;
    }

    /**
     * The side that accepted may ask before we know that it did: its GRANT is lost or late, or we
     * wait in its line. That it knows the connection tells as much.
     */
    private @Nullable TransportConnection dialledTo(NetAddress source) {
        for (int i = 0; i < device.connectionSlots(); i++) {
            TransportConnection c = device.connection(i);
            //= MR-3.6-8
            if (c != null
                    && c.dialer
                    && !c.established
                    && c.connectionId == request.connectionId
                    && source.sameHost(c.peer)) {
                connections.bind(c, request.endpointId, request.incarnation);
                return c;
            }
        }
        return null;
    }

    private void decide(long nowNs, NetAddress source, int peer, TransportConnection connection) {
        int ticket =
                line.prepare(
                        peer,
                        request.nonce,
                        request.srcCtx,
                        pathsFor(request),
                        profile() == Profile.M,
                        connection,
                        nowNs);
        if (ticket < 0) {
            deny(nowNs, source, DenyReason.QUEUE_FULL, retries.refuse(nowNs));
            return;
        }
        long decision = pool.request(nowNs, peer, ticket);
        switch (CidPool.kind(decision)) {
            case GRANT -> grant(nowNs, CidPool.cid(decision), ticket);
            case QUEUED -> {
                peers.hold(peer, 1);
                device.counters.increment(CounterId.QUEUED);
                device.event(
                        nowNs, EventId.CID_QUEUED, source.port(), CidPool.position(decision), 0);
                sendQueued(ticket, source);
                reclaimer.askBack(nowNs);
                device.armBy(DeviceState.LINE_TIMER, nowNs + LINE_PERIOD_NS);
            }
            case DENY -> {
                line.drop(ticket);
                refusedNs = nowNs;
                DenyReason reason =
                        CidPool.cause(decision) == CidPool.DenyCause.POLICY
                                ? DenyReason.POLICY
                                : DenyReason.QUEUE_FULL;
                deny(nowNs, source, reason, retries.refuse(nowNs));
            }
        }
    }

    private int pathsFor(RequestFields fields) {
        //= MR-3.4-9
        if (profile() == Profile.S) {
            return 1;
        }
        return Math.clamp(fields.maxPaths, 1, limits.maxPaths());
    }

    private void grant(long nowNs, int cid, int ticket) {
        int peer = line.peer(ticket);
        TransportConnection connection = line.connection(ticket);
        //= MR-3.1-10
        contexts.init(
                cid,
                connection,
                peer,
                line.nonce(ticket),
                line.srcCtx(ticket),
                line.paths(ticket),
                line.selective(ticket),
                device.keySource.getAsInt(),
                nowNs);
        line.drop(ticket);
        stale.noteGranted(cid);
        peers.hold(peer, 1);
        connection.rxCid = cid;
        connection.rxLease++;
        shares.onGranted(nowNs, cid);
        device.counters.increment(CounterId.GRANTS);
        device.event(nowNs, EventId.CID_GRANTED, connection.peer.port(), cid, pool.epoch(cid));
        sendGrant(cid);
        armLife(nowNs, cid);
    }

    private void sendGrant(int cid) {
        TransportConnection connection = contexts.connection(cid);
        if (connection != null) {
            device.send(
                    ControlOpcode.GRANT,
                    connection.peer,
                    connection,
                    contexts.srcCtx(cid),
                    contexts.nonce(cid),
                    CommonHeader.token(cid, pool.epoch(cid)),
                    0,
                    0);
        }
    }

    /** Fills in a GRANT from the saved state of its context; false when that is gone. */
    boolean fillGrant(int token, long nonce, GrantFields grant) {
        int cid = CommonHeader.cid(token);
        TransportConnection connection = contexts.connection(cid);
        if (connection == null
                || !holds(cid, CommonHeader.epoch(token))
                || contexts.nonce(cid) != nonce) {
            return false;
        }
        grant.srcCtx = contexts.srcCtx(cid);
        grant.nonce = nonce;
        grant.endpointId = device.identity.endpointId();
        grant.incarnation = device.identity.incarnation();
        grant.initialPsn = contexts.initialPsn(cid);
        grant.cid = cid;
        grant.epoch = pool.epoch(cid);
        grant.profile = (contexts.selective(cid) ? Profile.M : Profile.S).code();
        grant.paths = contexts.paths(cid);
        grant.mtu = limits.payloadMtu();
        grant.windowKib = shares.windowKib();
        grant.quotaKib = limits.quotaBytes() >> 10;
        grant.quotaTimeUs = limits.quotaTimeNs() / 1_000;
        grant.idleTimeUs = limits.lingerNs() / 1_000;
        grant.rateHint = contexts.rateHint(cid);
        grant.hintSeq = contexts.hintSeq(cid);
        grant.openMessages = limits.openMessages();
        grant.maxReads = 0;
        grant.connectionId = connection.connectionId;
        byte[] answer = connection.privateData;
        grant.privateLength = connection.dialer ? 0 : answer.length;
        System.arraycopy(answer, 0, grant.privateData, 0, grant.privateLength);
        return true;
    }

    private void sendQueued(int ticket, NetAddress to) {
        int position = pool.position(ticket);
        long waitUs = limits.quotaTimeNs() / 1_000 * position / limits.contexts();
        device.send(
                ControlOpcode.QUEUED,
                to,
                line.connection(ticket),
                line.srcCtx(ticket),
                line.nonce(ticket),
                0,
                (int) Math.min(waitUs, Integer.MAX_VALUE),
                position);
    }

    private void deny(long nowNs, NetAddress to, DenyReason reason, long retryAfterUs) {
        device.counters.increment(CounterId.DENIED);
        device.event(nowNs, EventId.CID_DENIED, to.port(), reason.code(), 0);
        //= MR-2.2-6, MR-2.6-2, MR-3.4-13
        device.send(
                ControlOpcode.DENY,
                to,
                null,
                request.srcCtx,
                request.nonce,
                0,
                reason.code(),
                retryAfterUs);
    }

    /** A REQUEST of another protocol version: told which versions are understood. */
    void denyVersion(long nowNs, PacketMemory m, int at, NetAddress source) {
        //= MR-3.4-4
        if (stale.mayAnswer(nowNs)) {
            // Of a version we do not speak only these two fields are known to lie where ours do.
            request.nonce = ControlMessage.nonce(m, at);
            request.srcCtx = RequestFields.srcCtx(m, at);
            deny(nowNs, source, DenyReason.VERSION, 0);
        }
    }

    static int versions() {
        return VERSIONS;
    }

    // Taking back

    void onRelease(long nowNs, PacketMemory m, int at, NetAddress source) {
        int token = CommonHeader.ctx(m, at);
        int cid = CommonHeader.cid(token);
        long nonce = ControlMessage.nonce(m, at);
        TransportConnection connection = holder(token);
        if (connection == null) {
            //= MR-3.3-3
            sendReleaseAck(source, m, at, nonce, token);
            connections.heardAgain(nonce, source);
            return;
        }
        //= MR-3.3-6
        if (!source.sameHost(connection.peer)
                || peers.endpointId(contexts.peer(cid))
                        != ControlMessage.releaseEndpointId(m, at)) {
            device.counters.increment(CounterId.WRONG_SOURCE);
            return;
        }
        sendReleaseAck(source, m, at, nonce, token);
        device.counters.increment(CounterId.RELEASES);
        device.event(nowNs, EventId.CID_RELEASED, contexts.holderPort(cid), cid, pool.epoch(cid));
        //= MR-3.3-7
        boolean complete = contexts.nonce(cid) == nonce && isComplete(cid, m, at);
        free(nowNs, cid, complete);
    }

    private boolean isComplete(int cid, PacketMemory m, int at) {
        int paths = ControlMessage.releasePathCount(m, at);
        if (paths != contexts.paths(cid)) {
            return false;
        }
        for (int path = 0; path < paths; path++) {
            if (ControlMessage.releaseFinalPsn(m, at, path) != contexts.cumPsn(cid, path)) {
                return false;
            }
        }
        return true;
    }

    private void sendReleaseAck(NetAddress to, PacketMemory m, int at, long nonce, int token) {
        device.send(
                ControlOpcode.RELEASE_ACK,
                to,
                null,
                ControlMessage.releaseSrcCtx(m, at),
                nonce,
                token,
                0,
                0);
    }

    private void free(long nowNs, int cid, boolean inOrder) {
        TransportConnection connection = contexts.connection(cid);
        if (connection != null && connection.rxCid == cid) {
            connection.rxCid = -1;
            connection.peerHeardNs = nowNs;
        }
        if (contexts.has(cid, RxContexts.RECLAIM_ASKED)) {
            line.reclaiming(-1);
        }
        peers.hold(contexts.peer(cid), -1);
        contexts.clear(cid);
        device.timers.cancel(DeviceState.timer(cid, DeviceState.ACK_TIMER));
        device.timers.cancel(DeviceState.timer(cid, DeviceState.LIFE_TIMER));
        if (inOrder) {
            pool.release(nowNs, cid);
        } else {
            pool.expire(nowNs, cid);
        }
        serveLine(nowNs);
    }

    private void expire(long nowNs, int cid, CounterId why) {
        TransportConnection connection = contexts.connection(cid);
        boolean silent = contexts.silenceNs(cid, nowNs) >= 2 * limits.silenceNs();
        device.counters.increment(why);
        device.event(nowNs, EventId.CID_EXPIRED, contexts.holderPort(cid), cid, pool.epoch(cid));
        free(nowNs, cid, false);
        if (silent && connection != null) {
            connections.noteSilent(connection);
        }
    }

    /** Grants to the head of the line as long as a slot is free. */
    private void serveLine(long nowNs) {
        for (int i = 0; i < limits.contexts(); i++) {
            long grant = pool.pollGrant(nowNs);
            if (grant < 0) {
                break;
            }
            int ticket = CidPool.ticket(grant);
            peers.hold(line.peer(ticket), -1);
            //= MR-3.5-2
            grant(nowNs, CidPool.cid(grant), ticket);
        }
        long nextNs = pool.nextDeadlineNs();
        if (nextNs != Long.MAX_VALUE) {
            device.armBy(DeviceState.POOL_TIMER, nextNs);
        }
    }

    /** A new incarnation at the address of an old one takes nothing over: the old leases end. */
    private void retireOlder(long nowNs, NetAddress source) {
        for (int i = 0; i < device.connectionSlots(); i++) {
            TransportConnection c = device.connection(i);
            //= MR-3.4-3
            if (c != null
                    && c.established
                    && (c.peer.equals(source) || c.peerEndpointId == request.endpointId)
                    && request.incarnation - c.peerIncarnation > 0) {
                if (c.rxCid >= 0) {
                    expire(nowNs, c.rxCid, CounterId.RETIRED);
                }
                c.pendingFailure = "the peer restarted";
                device.ready.add(c);
            }
        }
    }

    // Timers

    /** The next look at a holder: when it may have been silent for too long. */
    private void armLife(long nowNs, int cid) {
        long silenceNs = contexts.silenceNs(cid, nowNs);
        long limitNs = limits.silenceNs();
        long waitNs =
                silenceNs < limitNs
                        ? limitNs - silenceNs
                        : Math.min(limitNs / KEEPALIVES + 1, 2 * limitNs - silenceNs);
        if (pool.state(cid) == SlotState.GRANTED) {
            waitNs = Math.min(waitNs, grantTimeNs(cid));
        }
        device.timers.set(DeviceState.timer(cid, DeviceState.LIFE_TIMER), nowNs + waitNs);
    }

    void onLifeTimer(long nowNs, int cid) {
        if (contexts.connection(cid) == null) {
            return;
        }
        if (contexts.has(cid, RxContexts.RECLAIM_ASKED)) {
            //= MR-3.5-8
            if (contexts.heldNs(cid, nowNs) >= Reclaimer.DEADLINE_NS
                    || contexts.silenceNs(cid, nowNs) >= 2 * limits.silenceNs()) {
                expire(nowNs, cid, CounterId.EXPIRED);
                return;
            }
            reclaimer.ask(nowNs, cid);
            return;
        }
        long silenceNs = contexts.silenceNs(cid, nowNs);
        boolean unused = pool.state(cid) == SlotState.GRANTED;
        boolean tooLong = unused && silenceNs >= grantTimeNs(cid) - COARSE_NS && isShort(nowNs);
        //= MR-3.3-5
        if (tooLong || silenceNs >= 2 * limits.silenceNs()) {
            if (unused) {
                //= MR-3.3-4
                stale.noteUnused(cid);
                peers.cameLate(contexts.peer(cid));
            }
            expire(nowNs, cid, unused ? CounterId.GRANT_UNUSED : CounterId.EXPIRED);
            return;
        }
        if (silenceNs >= limits.silenceNs() - COARSE_NS) {
            sendKeepalive(cid);
        }
        armLife(nowNs, cid);
    }

    /** Longer for those whose last grants were taken back unused: they may be far away. */
    private long grantTimeNs(int cid) {
        //= MR-3.3-4
        return peers.patienceNs(contexts.peer(cid), limits.grantUnusedNs(), 2 * limits.silenceNs());
    }

    /** True when someone lacks a context and none is on its way back. */
    private boolean isShort(long nowNs) {
        return switch (limits.policy()) {
            case QUEUE -> pool.waiting() > pool.quarantined() + line.reclaiming();
            case DENY ->
                    pool.free() + pool.quarantined() == 0
                            && nowNs - refusedNs < limits.grantUnusedNs();
        };
    }

    private void sendKeepalive(int cid) {
        TransportConnection connection = contexts.connection(cid);
        if (connection != null) {
            device.counters.increment(CounterId.KEEPALIVES_SENT);
            device.send(
                    ControlOpcode.KEEPALIVE,
                    connection.peer,
                    null,
                    contexts.srcCtx(cid),
                    contexts.nonce(cid),
                    CommonHeader.token(cid, pool.epoch(cid)),
                    0,
                    0);
        }
    }

    void onKeepaliveAck(long nowNs, PacketMemory m, int at, NetAddress source) {
        int token = CommonHeader.ctx(m, at);
        int cid = CommonHeader.cid(token);
        TransportConnection connection = holder(token);
        if (connection == null) {
            connections.heardAgain(ControlMessage.nonce(m, at), source);
        } else if (source.sameHost(connection.peer)) {
            heard(nowNs, cid);
        }
    }

    void onPoolTimer(long nowNs) {
        pool.onTimeout(nowNs);
        serveLine(nowNs);
    }

    /** While anyone waits: asks contexts back as quotas are used up, forgets silent waiters. */
    void onLineTimer(long nowNs) {
        //= MR-3.5-10
        int silent = line.silent(nowNs, WAITER_SILENCE_NS);
        leaveLine(silent);
        if (pool.waiting() > 0) {
            reclaimer.askBack(nowNs);
            device.timers.set(DeviceState.LINE_TIMER, nowNs + LINE_PERIOD_NS);
        }
    }

    /** The connection ended: its context, or its place in the line, is free. */
    void forget(long nowNs, TransportConnection connection) {
        int cid = connection.rxCid;
        if (cid >= 0) {
            device.event(
                    nowNs, EventId.CID_RELEASED, contexts.holderPort(cid), cid, pool.epoch(cid));
            //= MR-3.6-5
            free(nowNs, cid, false);
        }
        leaveLine(line.find(connection));
    }

    /** Gives a place in the line up; nothing to do for ticket -1. */
    private void leaveLine(int ticket) {
        if (ticket >= 0 && pool.cancelWaiter(ticket)) {
            peers.hold(line.peer(ticket), -1);
            line.drop(ticket);
        }
    }
}
