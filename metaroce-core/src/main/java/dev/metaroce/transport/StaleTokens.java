package dev.metaroce.transport;

import dev.metaroce.event.CounterId;
import dev.metaroce.util.WindowBitmap;
import dev.metaroce.wire.CommonHeader;
import dev.metaroce.wire.ControlOpcode;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.PacketMemory;
import dev.metaroce.wire.ResetReason;

/**
 * Answers packets that carry a token nobody holds: what is remembered of ended leases, and how
 * often strangers are answered at all. Owner: the engine thread.
 */
final class StaleTokens {
    private static final long RESET_PERIOD_NS = 100_000;
    private static final int RESET_BURST = 256;

    private final DeviceState device;
    private final DeviceLimits limits;
    private final RxContexts contexts;
    private final CidPool pool;
    private final PeerTable peers;

    /**
     * Per context a bit for each epoch whose latest grant was taken back before any packet came;
     * empty as long as that never happened.
     */
    private long[] unusedGrants = {};

    private long resetNs;
    private int resetTokens = RESET_BURST;

    StaleTokens(DeviceState device, RxContexts contexts, CidPool pool, PeerTable peers) {
        this.device = device;
        this.contexts = contexts;
        this.pool = pool;
        this.peers = peers;
        limits = device.limits;
    }

    /** The most that is remembered of so many contexts. */
    static long bytes(int contexts) {
        return (long) contexts * WindowBitmap.WORDS * Long.BYTES;
    }

    void noteGranted(int cid) {
        if (unusedGrants.length > 0) {
            WindowBitmap.unset(unusedGrants, cid * WindowBitmap.WORDS, pool.epoch(cid));
        }
    }

    /** The present grant of the context is taken back before any packet of it came. */
    void noteUnused(int cid) {
        if (unusedGrants.length == 0) {
            unusedGrants = new long[limits.contexts() * WindowBitmap.WORDS];
        }
        WindowBitmap.set(unusedGrants, cid * WindowBitmap.WORDS, pool.epoch(cid));
    }

    /** A token bucket: strangers must not make us send more than a trickle. */
    boolean mayAnswer(long nowNs) {
        long earned = (nowNs - resetNs) / RESET_PERIOD_NS;
        if (earned > 0) {
            resetTokens = (int) Math.min(RESET_BURST, resetTokens + earned);
            resetNs = nowNs;
        }
        if (resetTokens == 0) {
            return false;
        }
        resetTokens--;
        return true;
    }

    /** Tells the sender of a packet for a context it does not hold. */
    void reset(long nowNs, PacketMemory m, int at, NetAddress to) {
        //= MR-3.2-4
        if (mayAnswer(nowNs)) {
            device.counters.increment(CounterId.RESETS_SENT);
            long proof =
                    ((long) CommonHeader.path(m, at) << 32)
                            | Integer.toUnsignedLong(CommonHeader.psn(m, at));
            int token = CommonHeader.ctx(m, at);
            //= MR-3.2-10
            ResetReason reason =
                    wasUnused(token) ? ResetReason.UNUSED : ResetReason.UNKNOWN_CONTEXT;
            device.send(
                    ControlOpcode.RESET,
                    holderOf(token, to),
                    null,
                    0,
                    proof,
                    token,
                    reason.code(),
                    0);
        }
    }

    /**
     * Where the holder of an ended lease listens: its own port when it is the last holder of the
     * slot and still known, else the port the stale packet came from.
     */
    private NetAddress holderOf(int token, NetAddress from) {
        int cid = CommonHeader.cid(token);
        //= MR-3.2-11
        NetAddress last =
                cid < limits.contexts() && pool.epoch(cid) == CommonHeader.epoch(token)
                        ? peers.address(contexts.peer(cid))
                        : null;
        return last != null && last.sameHost(from) ? last : from;
    }

    /** True when the grant of this token was taken back before any packet came. */
    private boolean wasUnused(int token) {
        int cid = CommonHeader.cid(token);
        return cid * WindowBitmap.WORDS < unusedGrants.length
                && WindowBitmap.get(
                        unusedGrants, cid * WindowBitmap.WORDS, CommonHeader.epoch(token));
    }
}
