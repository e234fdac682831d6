package dev.metaroce.transport;

import dev.metaroce.congestion.FairShare;
import dev.metaroce.event.CounterId;
import dev.metaroce.util.IntRing;
import dev.metaroce.wire.AckHeader;

import java.util.Arrays;

/**
 * What a target tells its senders of its inbound rate. A hint is a promise: what all leases were
 * told, idle ones too, does not exceed what there is to share out. So nobody is told more before
 * those that are to have less were told so a period ago, which is about a round trip. Rates are
 * Mb/s. Tables grow with the contexts that were granted. Owner: the engine thread.
 */
final class RateHints {
    /** Of the inbound rate; with the rest a queue drains. */
    private static final int SHARED_PERMILLE = 995;

    /** While others want more, leases that want nothing have such a part on top, all together. */
    private static final int IDLE_PART = 16;

    /** A newcomer has such a part of what nobody was promised. */
    private static final int NEWCOMER_PART = 4;

    /** So long a new lease is taken for one that wants all it can get. */
    private static final int NEW_PERIODS = 3;

    /** Packets and periods over which the rate of a lease is judged, whichever comes first. */
    private static final int JUDGED_PACKETS = 8;

    private static final int JUDGED_PERIODS = 16;

    /** While marks tell of a queue so much less is shared out. */
    private static final int QUEUE_PART = 16;

    /** A lease is told at once when its hint changes by more than such a part. */
    private static final int TELL_PART = 8;

    private static final int MBPS = 1_000_000;

    private final DeviceState device;
    private final RxContexts contexts;
    private final PullPace pulls;
    private final long periodNs;
    private final boolean givesHints;
    private final int lineMbps;
    private final FairShare fairShare;

    // By CID

    /** Payload when the rate was judged last, when that was, and what came of it. */
    private long[] judgedBytes = {};

    private long[] judgedNs = {};
    private long[] rate = {};

    /** Something came, and when the latest of it was sent. */
    private boolean[] hasCome = {};

    private int[] latest = {};

    // The leases of a computation
    private int[] leases = {};
    private long[] demand = {};
    private long[] share = {};

    private long refreshedNs;
    private long marksBefore;
    private boolean isQueued;

    /** CIDs that are to be told their hint, with or without other news. */
    private final IntRing untold = new IntRing();

    RateHints(DeviceState device, RxContexts contexts) {
        this.device = device;
        this.contexts = contexts;
        pulls = device.pullPace;
        periodNs = device.limits.hintPeriodNs();
        givesHints = device.limits.inboundRateBitsPerSecond() > 0;
        lineMbps = Math.clamp(capacity(device.limits) / MBPS, 1, AckHeader.RATE_NONE - 1);
        fairShare = new FairShare(device.limits.contexts() + PullPace.PARTS_MAX);
    }

    /** What is shared out, in bits per second. */
    static long capacity(DeviceLimits limits) {
        //= MR-5.6-3
        return limits.inboundRateBitsPerSecond() / 1000 * SHARED_PERMILLE;
    }

    IntRing untold() {
        return untold;
    }

    /** A context was granted: its first hint is a part of what nobody else was promised. */
    void onGranted(long nowNs, int cid) {
        //= MR-5.6-5
        contexts.rateHint(cid, AckHeader.RATE_NONE);
        if (!givesHints) {
            return;
        }
        if (cid >= leases.length) {
            grow(contexts.end());
        }
        judgedBytes[cid] = 0;
        judgedNs[cid] = nowNs;
        rate[cid] = FairShare.UNLIMITED;
        hasCome[cid] = false;
        contexts.rateHint(cid, 0);
        int count = contexts.inUse();
        long promised = 0;
        int left = count;
        for (int other = 0; left > 0; other++) {
            if (contexts.connection(other) != null) {
                left--;
                promised += contexts.rateHint(other);
            }
        }
        //= MR-5.6-8
        int free = (int) Math.max(0, sharedMbps() - promised);
        int hint = Math.min(sharedMbps() / count, free / NEWCOMER_PART);
        contexts.rateHint(cid, Math.max(hint, idleMbps(count)));
        refreshIn(nowNs, periodNs);
    }

    private void grow(int size) {
        judgedBytes = Arrays.copyOf(judgedBytes, size);
        judgedNs = Arrays.copyOf(judgedNs, size);
        rate = Arrays.copyOf(rate, size);
        hasCome = Arrays.copyOf(hasCome, size);
        latest = Arrays.copyOf(latest, size);
        leases = Arrays.copyOf(leases, size);
    }

    /** What a lease that wants nothing has while others want more. */
    private int idleMbps(int count) {
        return Math.max(1, lineMbps / IDLE_PART / Math.max(1, count));
    }

    /** A packet came for the first time; the one sent last says whether its lease wants more. */
    void onPacket(long nowNs, int cid, int txTime, boolean more) {
        if (!givesHints || (hasCome[cid] && txTime - latest[cid] < 0)) {
            return;
        }
        hasCome[cid] = true;
        latest[cid] = txTime;
        if (more && !contexts.has(cid, RxContexts.WANTS_MORE)) {
            // Others may be about to say the same.
            refreshIn(nowNs, periodNs / 2);
        }
        contexts.note(cid, RxContexts.WANTS_MORE, more);
    }

    private void refreshIn(long nowNs, long delayNs) {
        long earliestNs = refreshedNs + periodNs;
        long atNs = nowNs + delayNs;
        device.armBy(DeviceState.HINT_TIMER, earliestNs - atNs > 0 ? earliestNs : atNs);
    }

    /** More replies would be asked for than the share of those who read allows. */
    void onPullsKeptBack(long nowNs) {
        if (pulls.keepBack()) {
            refreshIn(nowNs, 0);
        } else {
            onAnswer(nowNs);
        }
    }

    /** A lease is about to be answered. */
    void onAnswer(long nowNs) {
        if (givesHints
                && nowNs - refreshedNs >= periodNs
                && !device.timers.isArmed(DeviceState.HINT_TIMER)) {
            refresh(nowNs);
        }
    }

    /** Works out all shares anew, and tells as much of it as promises allow. */
    void refresh(long nowNs) {
        long elapsedNs = Math.max(1, nowNs - refreshedNs);
        refreshedNs = nowNs;
        long pullsBefore = pulls.promisedMbps();
        pulls.measure(elapsedNs);
        int parts = pulls.split();
        int room = leases.length + parts;
        if (room > demand.length) {
            demand = new long[room];
            share = new long[room];
        }
        int count = measure(nowNs);
        isQueued = isQueued(elapsedNs, parts);
        long shared = sharedMbps();
        //= MR-5.8-1
        Arrays.fill(demand, count, count + parts, pulls.demand());
        boolean anyWants = false;
        for (int i = 0; i < count + parts; i++) {
            anyWants |= wants(i);
        }
        //= MR-5.6-9
        if (!anyWants) {
            return;
        }
        //= MR-5.6-3
        fairShare.compute(shared * MBPS, demand, count + parts, share);
        allowPulls(nowNs, parts == 0 ? capacity(device.limits) : share[count]);
        // What was asked for comes within a round trip, and what is asked for now after one.
        long pulled = Math.max(pullsBefore, pulls.promisedMbps());
        long free = shared - pulled - lower(count);
        long missing = 0;
        for (int i = 0; i < count; i++) {
            missing += Math.max(0, share[i] - contexts.rateHint(leases[i]));
        }
        raise(count, missing, Math.max(0, free));
        if (missing > free) {
            refreshIn(nowNs, 0);
        }
    }

    /** Who waits for the pace of READs waits as long as it takes at the new one. */
    private void allowPulls(long nowNs, long partBitsPerSecond) {
        pulls.allow(nowNs, partBitsPerSecond);
        //= MR-5.8-4
        if (device.timers.isArmed(DeviceState.PULL_TIMER)) {
            device.timers.set(DeviceState.PULL_TIMER, pulls.opensNs(nowNs));
        }
    }

    /**
     * Marked packets that came at more than half of the line rate queue at this line, when replies
     * share it: the first ones were asked for before there were shares.
     */
    private boolean isQueued(long elapsedNs, int parts) {
        long marks = device.counters.get(CounterId.CE_PACKETS) - marksBefore;
        marksBefore += marks;
        long markedBits = 8 * marks * device.limits.payloadMtu();
        return parts > 0 && markedBits > lineMbps * 1e-3 * elapsedNs / 2;
    }

    /** What is shared out now. */
    private int sharedMbps() {
        //= MR-5.6-13
        return isQueued ? lineMbps - lineMbps / QUEUE_PART : lineMbps;
    }

    /** Collects the leases and what each would take; returns how many there are. */
    private int measure(long nowNs) {
        int count = 0;
        int left = contexts.inUse();
        int idle = idleMbps(left);
        for (int cid = 0; left > 0; cid++) {
            if (contexts.connection(cid) != null) {
                left--;
                judge(nowNs, cid);
                //= MR-5.6-10
                if (contexts.has(cid, RxContexts.WANTS_MORE) || isNew(nowNs, cid)) {
                    demand[count] = FairShare.UNLIMITED;
                } else if (contexts.rateHint(cid) <= idle || !contexts.isIncomplete(cid)) {
                    demand[count] = 0;
                } else {
                    demand[count] = rate[cid];
                }
                leases[count++] = cid;
            }
        }
        return count;
    }

    /** Over less than some packets a rate would be chance. */
    private void judge(long nowNs, int cid) {
        long bytes = contexts.payloadBytes(cid) - judgedBytes[cid];
        long elapsedNs = nowNs - judgedNs[cid];
        if (bytes >= (long) JUDGED_PACKETS * device.limits.payloadMtu()
                || elapsedNs >= JUDGED_PERIODS * periodNs) {
            rate[cid] = (long) (bytes * 8e9 / Math.max(1, elapsedNs));
            judgedBytes[cid] += bytes;
            judgedNs[cid] = nowNs;
        }
    }

    private boolean isNew(long nowNs, int cid) {
        return contexts.heldNs(cid, nowNs) < NEW_PERIODS * periodNs;
    }

    private boolean wants(int i) {
        return demand[i] == FairShare.UNLIMITED;
    }

    /**
     * Tells leases that are to have less so, and turns shares into whole Mb/s. Returns what is
     * still promised: what was told to those that may have packets on their way.
     */
    private long lower(int count) {
        int idle = idleMbps(count);
        long promised = 0;
        for (int i = 0; i < count; i++) {
            int told = contexts.rateHint(leases[i]);
            long goal = Math.max(idle, share[i] / MBPS);
            share[i] = wants(i) ? goal : Math.min(goal, told);
            //= MR-5.6-7
            if (wants(i)) {
                promised += told;
            } else if (demand[i] > 0) {
                promised += Math.max(0, told - idle);
            }
            if (share[i] < told) {
                tell(i, (int) share[i]);
            }
        }
        return promised;
    }

    /** Tells leases that are to have more as much of it as is free. */
    private void raise(int count, long missing, long free) {
        for (int i = 0; i < count; i++) {
            int told = contexts.rateHint(leases[i]);
            long more = share[i] - told;
            if (more > 0) {
                long given = missing <= free ? more : more * free / missing;
                tell(i, (int) (told + given));
            }
        }
    }

    /** A small change waits for the next answer, and is not made where none is to come. */
    private void tell(int i, int hint) {
        int cid = leases[i];
        int told = contexts.rateHint(cid);
        boolean isMuch = Math.abs(hint - told) > told / TELL_PART;
        if (isMuch || wants(i)) {
            contexts.rateHint(cid, hint);
        }
        //= MR-5.6-11
        if (isMuch && !contexts.has(cid, RxContexts.HINT_OWED)) {
            contexts.set(cid, RxContexts.HINT_OWED);
            untold.add(cid);
        }
    }
}
