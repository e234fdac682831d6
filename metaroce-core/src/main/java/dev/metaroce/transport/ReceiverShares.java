package dev.metaroce.transport;

import dev.metaroce.congestion.FairShare;
import dev.metaroce.wire.AckHeader;

import java.util.Arrays;

/**
 * What a target allows its senders: an equal part of its socket buffer as window, and a fair share
 * of its inbound rate as hint. Worked out anew when an acknowledgement is due and the last answer
 * is older than a period, so that an idle device does nothing. Tables grow with the contexts that
 * were granted. Owner: the engine thread.
 */
final class ReceiverShares {
    private static final long PERIOD_NS = 1_000_000;
    private static final long ACTIVE_NS = 4 * PERIOD_NS;
    private static final int MIN_WINDOW_KIB = 16;
    private static final long UNLIMITED = Long.MAX_VALUE;

    private static final long[] NO_FLOWS = {};

    private final DeviceLimits limits;
    private final RxContexts contexts;
    private final PullPace pulls;
    private final boolean givesHints;
    private long[] lastBytes = {};

    /** Demand per context as last measured over a whole period; UNLIMITED until then. */
    private long[] wanted = {};

    private int[] active = {};
    private long[] demand = NO_FLOWS;
    private long[] share = NO_FLOWS;
    private final FairShare fairShare;
    private long refreshedNs;
    private int windowKib;
    private boolean fresh;

    ReceiverShares(DeviceLimits limits, RxContexts contexts, PullPace pulls) {
        this.limits = limits;
        this.contexts = contexts;
        this.pulls = pulls;
        givesHints = limits.inboundRateBitsPerSecond() > 0;
        fairShare = new FairShare(limits.contexts() + PullPace.PARTS_MAX);
        windowKib = window(1);
    }

    /** The window of every sender, in KiB, as ACK and GRANT carry it. */
    int windowKib() {
        return windowKib;
    }

    /** A context was granted: it counts from now on, in its own first answer too. */
    void onGranted(long nowNs, int cid) {
        fresh = false;
        //= MR-5.6-5
        contexts.rateHint(cid, AckHeader.RATE_NONE);
        if (cid >= active.length) {
            grow(contexts.end());
        }
        if (givesHints) {
            lastBytes[cid] = 0;
            wanted[cid] = UNLIMITED;
        }
        refresh(nowNs);
    }

    private void grow(int flows) {
        active = Arrays.copyOf(active, flows);
        if (givesHints) {
            lastBytes = Arrays.copyOf(lastBytes, flows);
            wanted = Arrays.copyOf(wanted, flows);
        }
    }

    /** What is shared out. */
    static long capacity(DeviceLimits limits) {
        return limits.inboundRateBitsPerSecond() / 100 * 95;
    }

    /** More replies would be asked for than the share of those who read allows. */
    void onPullsKeptBack(long nowNs) {
        if (pulls.keepBack()) {
            fresh = false;
        }
        refresh(nowNs);
    }

    /** A lease is about to be answered. */
    void refreshFor(long nowNs, int cid) {
        if (givesHints && wanted[cid] != UNLIMITED && contexts.has(cid, RxContexts.WANTS_MORE)) {
            // It must not learn so only with its next packet, which may be far away.
            wanted[cid] = UNLIMITED;
            fresh = false;
        }
        refresh(nowNs);
    }

    private void refresh(long nowNs) {
        long elapsedNs = nowNs - refreshedNs;
        boolean wholePeriod = elapsedNs >= PERIOD_NS;
        if (fresh && !wholePeriod) {
            return;
        }
        fresh = true;
        int count = 0;
        int left = contexts.inUse();
        for (int cid = 0; left > 0; cid++) {
            if (contexts.connection(cid) != null) {
                left--;
                if (contexts.silenceNs(cid, nowNs) < ACTIVE_NS) {
                    active[count++] = cid;
                }
            }
        }
        windowKib = window(Math.max(1, count));
        if (wholePeriod) {
            refreshedNs = nowNs;
            measure(count, elapsedNs);
            pulls.measure(elapsedNs);
        }
        if (givesHints) {
            giveHints(nowNs, count);
        }
    }

    /** What each sender would take, judged over a whole period: less says nothing. */
    private void measure(int count, long elapsedNs) {
        for (int i = 0; givesHints && i < count; i++) {
            int cid = active[i];
            long bytes = contexts.payloadBytes(cid) - lastBytes[cid];
            lastBytes[cid] = contexts.payloadBytes(cid);
            long rate = (long) (bytes * 8e9 / elapsedNs);
            wanted[cid] = contexts.has(cid, RxContexts.WANTS_MORE) ? UNLIMITED : rate + 1;
        }
    }

    private int window(int senders) {
        if (limits.receiveWindowBytes() == 0) {
            return AckHeader.WINDOW_NONE;
        }
        //= MR-5.7-2
        long kib = limits.receiveWindowBytes() / senders / 1024;
        return Math.clamp(kib, MIN_WINDOW_KIB, AckHeader.WINDOW_NONE - 1);
    }

    //= MR-5.6-3
    private void giveHints(long nowNs, int count) {
        int parts = pulls.split();
        if (count + parts > demand.length) {
            int flows = Math.max(active.length, count) + 2 * parts;
            demand = new long[flows];
            share = new long[flows];
        }
        for (int i = 0; i < count; i++) {
            demand[i] = wanted[active[i]];
        }
        //= MR-5.8-1
        Arrays.fill(demand, count, count + parts, pulls.demand());
        fairShare.compute(capacity(limits), demand, count + parts, share);
        pulls.allow(nowNs, parts == 0 ? capacity(limits) : share[count]);
        for (int i = 0; i < count; i++) {
            long mbps = Math.clamp(share[i] / 1_000_000, 1, AckHeader.RATE_NONE - 1);
            contexts.rateHint(active[i], (int) mbps);
        }
    }
}
