package dev.metaroce.transport;

import dev.metaroce.event.CounterId;
import dev.metaroce.event.EventId;
import dev.metaroce.wire.CommonHeader;
import dev.metaroce.wire.ControlOpcode;
import dev.metaroce.wire.ReclaimReason;

import org.jspecify.annotations.Nullable;

/**
 * Asks holders to give contexts back while others wait: those that have used their quota and, with
 * policy PREEMPT, those that are idle; the longest silent first. Owner: the engine thread.
 */
final class Reclaimer {
    private static final long REPEAT_NS = 20_000_000;
    private static final long MAX_TOLD_US = 0xFFFF_FFFFL;

    private final DeviceState device;
    private final DeviceLimits limits;
    private final RxContexts contexts;
    private final CidPool pool;
    private final WaitingLine line;

    Reclaimer(DeviceState device, RxContexts contexts, CidPool pool, WaitingLine line) {
        this.device = device;
        this.contexts = contexts;
        this.pool = pool;
        this.line = line;
        limits = device.limits;
    }

    /** Asks holders for as many contexts as there are waiters: the longest silent first. */
    void askBack(long nowNs) {
        while (isWanted()) {
            int best = -1;
            long bestIdleNs = -1;
            for (int cid = 0; cid < contexts.end(); cid++) {
                if (contexts.connection(cid) != null
                        && contexts.silenceNs(cid, nowNs) > bestIdleNs
                        && why(nowNs, cid) != null) {
                    best = cid;
                    bestIdleNs = contexts.silenceNs(cid, nowNs);
                }
            }
            if (best < 0) {
                return;
            }
            reclaim(nowNs, best);
        }
    }

    /**
     * Data of a lease was accepted: if that used its quota up, it is asked at once and not with the
     * next look at all, which would come late on a fast line.
     */
    void onUsed(long nowNs, int cid) {
        if (isWanted() && why(nowNs, cid) != null) {
            reclaim(nowNs, cid);
        }
    }

    /** True when more requests wait than contexts are asked back. */
    private boolean isWanted() {
        //= MR-3.5-1
        return pool.waiting() > line.reclaiming();
    }

    /** Why a context may be asked back now; null when it may not. */
    private @Nullable ReclaimReason why(long nowNs, int cid) {
        if (pool.state(cid) != SlotState.ACTIVE) {
            return null;
        }
        //= MR-3.8-5
        long quotaBytes = pool.grantedShort(cid) ? limits.shortDemandBytes() : limits.quotaBytes();
        if (contexts.payloadBytes(cid) >= quotaBytes
                || contexts.heldNs(cid, nowNs) >= limits.quotaTimeNs()) {
            return ReclaimReason.QUOTA;
        }
        return limits.policy() == ExhaustionPolicy.PREEMPT && isIdle(nowNs, cid)
                ? ReclaimReason.IDLE
                : null;
    }

    /**
     * A sender with anything on the way is heard once in a round trip. What its first data took to
     * come after the grant is at least one.
     */
    private boolean isIdle(long nowNs, int cid) {
        //= MR-3.8-8
        long patienceNs = 2 * Math.max(contexts.firstDataNs(cid), limits.ackDelayNs());
        return contexts.silenceNs(cid, nowNs) > patienceNs && !contexts.isIncomplete(cid);
    }

    private void reclaim(long nowNs, int cid) {
        boolean idle = why(nowNs, cid) == ReclaimReason.IDLE;
        pool.reclaim(cid);
        contexts.set(cid, RxContexts.RECLAIM_ASKED | (idle ? RxContexts.IDLE_ASKED : 0));
        contexts.restartHeld(cid, nowNs);
        line.reclaiming(1);
        device.counters.increment(CounterId.RECLAIMS);
        device.event(nowNs, EventId.CID_RECLAIMING, contexts.holderPort(cid), cid, pool.epoch(cid));
        ask(nowNs, cid);
    }

    /** Asks, and asks again as long as the context does not come back. */
    void ask(long nowNs, int cid) {
        TransportConnection connection = contexts.connection(cid);
        if (connection != null) {
            boolean idle = contexts.has(cid, RxContexts.IDLE_ASKED);
            long leftNs = limits.reclaimDeadlineNs() - contexts.heldNs(cid, nowNs);
            device.send(
                    ControlOpcode.RECLAIM,
                    connection.address(0),
                    null,
                    contexts.srcCtx(cid),
                    contexts.nonce(cid),
                    CommonHeader.token(cid, pool.epoch(cid)),
                    (idle ? ReclaimReason.IDLE : ReclaimReason.QUOTA).code(),
                    Math.clamp(leftNs / 1_000, 0, MAX_TOLD_US));
        }
        device.timers.set(DeviceState.timer(cid, DeviceState.LIFE_TIMER), nowNs + REPEAT_NS);
    }
}
