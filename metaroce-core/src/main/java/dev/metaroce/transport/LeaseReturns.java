package dev.metaroce.transport;

import dev.metaroce.event.CounterId;
import dev.metaroce.event.EventId;
import dev.metaroce.wire.CommonHeader;
import dev.metaroce.wire.ControlMessage;
import dev.metaroce.wire.ControlOpcode;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.PacketMemory;

/**
 * The target's side of leases that end: RELEASE, holders that fall silent, connections that are
 * gone; and the grants that the line gets then. Owner: the engine thread.
 */
final class LeaseReturns {
    /** Times of contexts are kept in steps of this many nanoseconds. */
    private static final long COARSE_NS = 4096;

    /** How often a silent holder is asked before its context is taken back. */
    private static final int KEEPALIVES = 4;

    private static final long WAITER_SILENCE_NS = 2_000_000_000;
    static final long LINE_PERIOD_NS = 1_000_000;

    private final DeviceState device;
    private final DeviceLimits limits;
    private final LeaseServer server;
    private final ConnectionTable connections;
    private final RxContexts contexts;
    private final CidPool pool;
    private final PeerTable peers;
    private final WaitingLine line;
    private final StaleTokens stale;
    private final Reclaimer reclaimer;

    /** When a request was last refused for want of a context. */
    private long refusedNs;

    LeaseReturns(
            DeviceState device,
            LeaseServer server,
            ConnectionTable connections,
            RxContexts contexts,
            CidPool pool,
            PeerTable peers,
            WaitingLine line,
            StaleTokens stale,
            Reclaimer reclaimer) {
        this.device = device;
        this.server = server;
        this.connections = connections;
        this.contexts = contexts;
        this.pool = pool;
        this.peers = peers;
        this.line = line;
        this.stale = stale;
        this.reclaimer = reclaimer;
        limits = device.limits;
    }

    /** A request was refused for want of a context. */
    void noteRefused(long nowNs) {
        refusedNs = nowNs;
    }

    // RELEASE

    void onRelease(long nowNs, PacketMemory m, int at, NetAddress source) {
        int token = CommonHeader.ctx(m, at);
        int cid = CommonHeader.cid(token);
        long nonce = ControlMessage.nonce(m, at);
        TransportConnection connection = server.holder(token);
        if (connection == null) {
            //= MR-3.3-3
            sendReleaseAck(source, m, at, nonce, token);
            connections.heardAgain(nonce, source);
            return;
        }
        //= MR-3.3-6
        if (!connection.isPeer(source)
                || peers.endpointId(contexts.peer(cid))
                        != ControlMessage.releaseEndpointId(m, at)) {
            device.counters.increment(CounterId.WRONG_SOURCE);
            return;
        }
        sendReleaseAck(source, m, at, nonce, token);
        if (contexts.nonce(cid) != nonce) {
            // A late one, about an earlier lease of this endpoint under the same token.
            //= MR-3.3-14
            return;
        }
        device.counters.increment(CounterId.RELEASES);
        device.event(nowNs, EventId.CID_RELEASED, contexts.holderPort(cid), cid, pool.epoch(cid));
        //= MR-3.3-7
        free(nowNs, cid, isComplete(cid, m, at));
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

    void expire(long nowNs, int cid, CounterId why) {
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
            server.grant(nowNs, CidPool.cid(grant), ticket);
        }
        long nextNs = pool.nextDeadlineNs();
        if (nextNs != Long.MAX_VALUE) {
            device.armBy(DeviceState.POOL_TIMER, nextNs);
        }
    }

    // Timers

    /** The next look at a holder: when it may have been silent for too long. */
    void armLife(long nowNs, int cid) {
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
            if (contexts.heldNs(cid, nowNs) >= limits.reclaimDeadlineNs()
                    || contexts.silenceNs(cid, nowNs) >= 2 * limits.silenceNs()) {
                noteEarlyOnly(cid);
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
            noteEarlyOnly(cid);
            expire(nowNs, cid, unused ? CounterId.GRANT_UNUSED : CounterId.EXPIRED);
            return;
        }
        if (silenceNs >= limits.silenceNs() - COARSE_NS) {
            sendKeepalive(cid);
        }
        armLife(nowNs, cid);
    }

    /** A holder of whom no DATA came loses the context: he may never have learnt of it. */
    private void noteEarlyOnly(int cid) {
        //= MR-3.2-10
        if (contexts.has(cid, RxContexts.ONLY_EARLY)) {
            stale.noteUnused(cid);
        }
    }

    /** Longer for those whose last grants were taken back unused: they may be far away. */
    long grantTimeNs(int cid) {
        //= MR-3.3-4
        return peers.patienceNs(contexts.peer(cid), limits.grantUnusedNs(), 2 * limits.silenceNs());
    }

    /** True when someone lacks a context and none is on its way back. */
    private boolean isShort(long nowNs) {
        return switch (limits.policy()) {
            case QUEUE, PREEMPT -> pool.waiting() > pool.quarantined() + line.reclaiming();
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
                    connection.address(0),
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
        TransportConnection connection = server.holder(token);
        if (connection == null) {
            connections.heardAgain(ControlMessage.nonce(m, at), source);
        } else if (connection.isPeer(source)) {
            server.heard(nowNs, cid);
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
