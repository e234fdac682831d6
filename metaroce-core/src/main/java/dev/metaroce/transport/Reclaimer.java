package dev.metaroce.transport;

import dev.metaroce.event.CounterId;
import dev.metaroce.event.EventId;
import dev.metaroce.wire.CommonHeader;
import dev.metaroce.wire.ControlOpcode;
import dev.metaroce.wire.ReclaimReason;

/**
 * Asks holders to give contexts back while others wait: those that have used their quota, the
 * longest idle first. Owner: the engine thread.
 */
final class Reclaimer {
    /** A holder that was asked and still holds the context after this long loses it. */
    static final long DEADLINE_NS = 60_000_000_000L;

    private static final long REPEAT_NS = 20_000_000;

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

    /** Asks holders for as many contexts as there are waiters: the longest idle first. */
    void askBack(long nowNs) {
        int wanted = pool.waiting() - line.reclaiming();
        for (int i = 0; i < wanted; i++) {
            int best = -1;
            long bestIdleNs = -1;
            for (int cid = 0; cid < contexts.end(); cid++) {
                if (isReclaimable(nowNs, cid) && contexts.silenceNs(cid, nowNs) > bestIdleNs) {
                    best = cid;
                    bestIdleNs = contexts.silenceNs(cid, nowNs);
                }
            }
            if (best < 0) {
                return;
            }
            //= MR-3.5-1
            pool.reclaim(best);
            contexts.set(best, RxContexts.RECLAIM_ASKED);
            contexts.restartHeld(best, nowNs);
            line.reclaiming(1);
            device.counters.increment(CounterId.RECLAIMS);
            device.event(
                    nowNs,
                    EventId.CID_RECLAIMING,
                    contexts.holderPort(best),
                    best,
                    pool.epoch(best));
            ask(nowNs, best);
        }
    }

    private boolean isReclaimable(long nowNs, int cid) {
        if (contexts.connection(cid) == null || pool.state(cid) != SlotState.ACTIVE) {
            return false;
        }
        return contexts.payloadBytes(cid) >= limits.quotaBytes()
                || contexts.heldNs(cid, nowNs) >= limits.quotaTimeNs();
    }

    /** Asks, and asks again as long as the context does not come back. */
    void ask(long nowNs, int cid) {
        TransportConnection connection = contexts.connection(cid);
        if (connection != null) {
            device.send(
                    ControlOpcode.RECLAIM,
                    connection.peer,
                    null,
                    contexts.srcCtx(cid),
                    contexts.nonce(cid),
                    CommonHeader.token(cid, pool.epoch(cid)),
                    ReclaimReason.QUOTA.code(),
                    Math.max(0, DEADLINE_NS - contexts.heldNs(cid, nowNs)) / 1_000);
        }
        device.timers.set(DeviceState.timer(cid, DeviceState.LIFE_TIMER), nowNs + REPEAT_NS);
    }
}
