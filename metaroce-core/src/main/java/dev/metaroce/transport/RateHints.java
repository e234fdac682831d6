package dev.metaroce.transport;

import dev.metaroce.congestion.FairShare;
import dev.metaroce.util.IntRing;
import dev.metaroce.wire.AckHeader;

import java.util.Arrays;

/**
 * What a target tells its senders of its inbound rate. A hint is a promise: what all leases were
 * told, idle ones too, never exceeds what there is to share out. So nobody is told more before the
 * others that are to have less were told so a period ago, which is about a round trip. Rates are
 * Mb/s. Tables grow with the contexts that were granted. Owner: the engine thread.
 */
final class RateHints {
    /** Of the inbound rate; the rest is for answers, and to drain what is queued. */
    private static final int SHARED_PERMILLE = Integer.getInteger("h.pct", 995);

    /** While others want more, leases that want nothing have such a part on top, all together. */
    private static final int IDLE_PART = Integer.getInteger("h.idle", 16);

    /** A newcomer may have such a part of what nobody was promised. */
    private static final int NEWCOMER_PART = Integer.getInteger("h.new", 4);

    /** A lease is told at once when its hint is off by more than such a part. */
    private static final int TELL_PART = 8;

    private static final int MBPS = 1_000_000;

    private final DeviceState device;
    private final RxContexts contexts;
    private final int sharedMbps;
    private final FairShare fairShare;

    /** By CID: payload that was counted already. */
    private long[] counted = {};

    /** By CID: granted, and not told its whole share since. */
    private boolean[] isNew = {};

    /** By CID: something came, and the time of sending of the latest of it. */
    private boolean[] hasNews = {};

    private int[] newest = {};
    private int[] leases = {};
    private long[] demand = {};
    private long[] share = {};
    private long refreshedNs;
    private long measuredNs;

    /** CIDs that are to be told their hint without waiting for data. */
    final IntRing untold = new IntRing();

    RateHints(DeviceState device, RxContexts contexts) {
        this.device = device;
        this.contexts = contexts;
        long bits = device.limits.inboundRateBitsPerSecond();
        sharedMbps = (int) Math.clamp(bits / 1000 * SHARED_PERMILLE / MBPS, 1, AckHeader.RATE_NONE);
        fairShare = new FairShare(device.limits.contexts());
    }

    private boolean givesHints() {
        return device.limits.inboundRateBitsPerSecond() > 0;
    }

    /** A context was granted: its first hint is part of what nobody else was promised. */
    void onGranted(long nowNs, int cid) {
        //= MR-5.6-5
        contexts.rateHint(cid, AckHeader.RATE_NONE);
        if (!givesHints()) {
            return;
        }
        if (cid >= counted.length) {
            grow(contexts.end());
        }
        counted[cid] = 0;
        isNew[cid] = true;
        hasNews[cid] = false;
        contexts.rateHint(cid, 0);
        int count = contexts.inUse();
        long promised = 0;
        for (int other = 0, left = count; left > 0; other++) {
            if (contexts.connection(other) != null) {
                left--;
                promised += promised(other);
            }
        }
        int idle = idleMbps(count);
        int free = (int) Math.max(0, sharedMbps - promised);
        int most = Math.min(sharedMbps / count, free / NEWCOMER_PART);
        contexts.rateHint(cid, Math.max(idle, most));
        if (count == 1) {
            measuredNs = nowNs;
        }
        refreshIn(nowNs, device.limits.hintPeriodNs());
    }

    /** What counts of a hint while promises are added up. */
    private int promised(int cid) {
        return contexts.rateHint(cid);
    }

    private int idleMbps(int count) {
        return Math.max(1, sharedMbps / IDLE_PART / count);
    }

    private void grow(int size) {
        counted = Arrays.copyOf(counted, size);
        isNew = Arrays.copyOf(isNew, size);
        hasNews = Arrays.copyOf(hasNews, size);
        newest = Arrays.copyOf(newest, size);
        leases = Arrays.copyOf(leases, size);
        demand = Arrays.copyOf(demand, size);
        share = Arrays.copyOf(share, size);
    }

    /** A packet came for the first time; the one sent last tells whether its lease wants more. */
    void onPacket(long nowNs, int cid, int txTime, boolean more) {
        if (!givesHints() || (hasNews[cid] && txTime - newest[cid] < 0)) {
            return;
        }
        hasNews[cid] = true;
        newest[cid] = txTime;
        if (more && !contexts.has(cid, RxContexts.WANTS_MORE)) {
            // Others may be about to say the same.
            refreshIn(nowNs, device.limits.hintPeriodNs() / 2);
        }
        contexts.note(cid, RxContexts.WANTS_MORE, more);
    }

    private void refreshIn(long nowNs, long delayNs) {
        long earliestNs = refreshedNs + device.limits.hintPeriodNs();
        long atNs = nowNs + delayNs;
        device.armBy(
                DeviceState.HINT_TIMER, earliestNs - atNs > 0 ? earliestNs : atNs);
    }

    /** A lease is about to be answered. */
    void onAnswer(long nowNs) {
        if (givesHints()
                && nowNs - refreshedNs >= device.limits.hintPeriodNs()
                && !device.timers.isArmed(DeviceState.HINT_TIMER)) {
            refresh(nowNs);
        }
    }

    //= MR-5.6-3
    void refresh(long nowNs) {
        refreshedNs = nowNs;
        int count = measure(nowNs);
        boolean anyWants = false;
        for (int i = 0; i < count; i++) {
            anyWants |= demand[i] == FairShare.UNLIMITED;
        }
        if (!anyWants) {
            return;
        }
        fairShare.compute((long) sharedMbps * MBPS, demand, count, share);
        int idle = idleMbps(count);
        long promised = 0;
        long missing = 0;
        for (int i = 0; i < count; i++) {
            int cid = leases[i];
            int told = contexts.rateHint(cid);
            boolean wants = demand[i] == FairShare.UNLIMITED;
            int goal = Math.max(idle, (int) (share[i] / MBPS));
            share[i] = wants ? goal : Math.min(goal, told);
            // What has nothing on its way takes less from now on.
            promised += wants ? told : demand[i] == 0 ? 0 : Math.max(0, told - idle);
            if (goal > told) {
                missing += wants ? goal - told : 0;
            } else {
                tell(cid, goal, wants);
            }
        }
        long free = Math.max(0, sharedMbps - promised);
        for (int i = 0; i < count && missing > 0; i++) {
            int cid = leases[i];
            long more = share[i] - contexts.rateHint(cid);
            if (more > 0) {
                long given = missing <= free ? more : more * free / missing;
                tell(cid, (int) (contexts.rateHint(cid) + given), true);
            }
        }
        for (int i = 0; i < count; i++) {
            isNew[leases[i]] &= contexts.rateHint(leases[i]) < share[i];
        }
        if (missing > free) {
            refreshIn(nowNs, 0);
        }
    }

    /** A small change can wait for the next answer, if one is to come. */
    private void tell(int cid, int hint, boolean wants) {
        int told = contexts.rateHint(cid);
        boolean much = Math.abs(hint - told) > told / TELL_PART;
        if (much || wants) {
            contexts.rateHint(cid, hint);
        }
        if (much && !contexts.has(cid, RxContexts.HINT_OWED)) {
            contexts.set(cid, RxContexts.HINT_OWED);
            untold.add(cid);
        }
    }

    /** Collects the leases and what each would take; returns how many there are. */
    private int measure(long nowNs) {
        long elapsedNs = Math.max(1, nowNs - measuredNs);
        measuredNs = nowNs;
        int count = 0;
        int left = contexts.inUse();
        int idle = idleMbps(Math.max(1, left));
        for (int cid = 0; left > 0; cid++) {
            if (contexts.connection(cid) != null) {
                left--;
                long bytes = contexts.payloadBytes(cid) - counted[cid];
                counted[cid] += bytes;
                boolean wants = isNew[cid] || contexts.has(cid, RxContexts.WANTS_MORE);
                demand[count] =
                        wants
                                ? FairShare.UNLIMITED
                                : contexts.rateHint(cid) <= idle || !contexts.isIncomplete(cid)
                                        ? 0
                                        : (long) (bytes * 8e9 / elapsedNs);
                leases[count++] = cid;
            }
        }
        return count;
    }
}
