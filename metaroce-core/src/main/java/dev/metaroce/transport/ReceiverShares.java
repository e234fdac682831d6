package dev.metaroce.transport;

import dev.metaroce.wire.AckHeader;

/**
 * What a target allows its senders: an equal part of its socket buffer as window, and a fair share
 * of its inbound rate as hint. Windows are worked out anew when an acknowledgement is due and the
 * last answer is older than a period, so that an idle device does nothing. Owner: the engine
 * thread.
 */
final class ReceiverShares {
    private static final long PERIOD_NS = 1_000_000;
    private static final long ACTIVE_NS = 4 * PERIOD_NS;
    private static final int MIN_WINDOW_KIB = 16;

    private final DeviceLimits limits;
    private final RxContexts contexts;
    private final RateHints hints;
    private long refreshedNs;
    private int windowKib;

    ReceiverShares(DeviceState device, RxContexts contexts) {
        limits = device.limits;
        this.contexts = contexts;
        hints = new RateHints(device, contexts);
        windowKib = window(1);
    }

    RateHints hints() {
        return hints;
    }

    /** The window of every sender, in KiB, as ACK and GRANT carry it. */
    int windowKib() {
        return windowKib;
    }

    /** A context was granted: it counts from now on, in its own first answer too. */
    void onGranted(long nowNs, int cid) {
        hints.onGranted(nowNs, cid);
        refreshWindow(nowNs);
    }

    /** A lease is about to be answered. */
    void onAnswer(long nowNs) {
        hints.onAnswer(nowNs);
        if (nowNs - refreshedNs >= PERIOD_NS) {
            refreshedNs = nowNs;
            refreshWindow(nowNs);
        }
    }

    private void refreshWindow(long nowNs) {
        if (limits.receiveWindowBytes() == 0) {
            return;
        }
        int count = 0;
        int left = contexts.inUse();
        for (int cid = 0; left > 0; cid++) {
            if (contexts.connection(cid) != null) {
                left--;
                count += contexts.silenceNs(cid, nowNs) < ACTIVE_NS ? 1 : 0;
            }
        }
        windowKib = window(Math.max(1, count));
    }

    private int window(int senders) {
        if (limits.receiveWindowBytes() == 0) {
            return AckHeader.WINDOW_NONE;
        }
        //= MR-5.7-2
        long kib = limits.receiveWindowBytes() / senders / 1024;
        return Math.clamp(kib, MIN_WINDOW_KIB, AckHeader.WINDOW_NONE - 1);
    }
}
