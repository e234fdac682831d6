package dev.metaroce.transport;

import dev.metaroce.event.CounterId;
import dev.metaroce.path.PathHealth;

import java.util.Locale;

/**
 * Time on the paths of a lease: when to look again, what to do about a path that does not answer.
 * Owner: the engine thread.
 */
final class PathTimers {
    /** Tail probes before the one that counts as a time-out, where packets got lost lately. */
    private static final int MORE_TAIL_PROBES = 3;

    private static final String WENT_SILENT = "the peer was alive and went silent";

    private final DeviceState device;
    private final DeviceLimits limits;
    private final PathWatch watch;

    PathTimers(DeviceState device) {
        this.device = device;
        limits = device.limits;
        watch = new PathWatch(device);
    }

    /** A lease was opened: what its first answer told of the round trip is a first guess. */
    void onOpen(long nowNs, TransportConnection c, TxLease lease) {
        long answeredNs = c.wish().answeredNs;
        //= MR-5.1-3
        for (int i = 0; i < lease.pathCount; i++) {
            lease.states[i].rtt().guess(answeredNs);
        }
        lease.onRoundTrip(Math.max(1, answeredNs));
        watch.onOpen(nowNs, lease);
    }

    /** When the lease must be looked at again. */
    long leaseDeadlineNs(long nowNs, TransportConnection c, TxLease lease) {
        long next = Long.MAX_VALUE / 2;
        boolean quiet = true;
        for (int i = 0; i < lease.pathCount; i++) {
            TxPath path = lease.paths[i];
            if (path.state.isAwaited()) {
                next = Math.min(next, probeDeadlineNs(path) - nowNs);
            }
            if (path.state.way().isAway() && !path.isAllAcked()) {
                next = Math.min(next, path.state.way().askHomeNs() - nowNs);
            }
            if (path.hasDeferred()) {
                next = Math.min(next, path.deferredUntilNs() - nowNs);
            }
            if (!path.isAllAcked()) {
                quiet = false;
            }
            if (!path.isAllAcked() && !path.isPaused()) {
                next = Math.min(next, path.unaSinceNs() + limits.giveUpNs() - nowNs);
            }
        }
        long pauseNs = lease.pacer.nextSendNs(nowNs) - nowNs;
        if (pauseNs > 0) {
            next = Math.min(next, pauseNs);
        }
        if (quiet && !c.hasUnsent()) {
            next = Math.min(next, c.wish().idleSinceNs + limits.lingerNs() - nowNs);
        }
        return nowNs + next;
    }

    /** Why a request for a lease stays without an answer. */
    static String whyNoAnswer(TransportConnection c) {
        return c.established ? WENT_SILENT : c.whySilent();
    }

    /** Why no more progress is to be expected; empty when there is none to miss. */
    String whyStuck(long nowNs, TransportConnection c, TxLease lease) {
        boolean silent = nowNs - c.heardNs >= limits.giveUpNs() / 2;
        for (int i = 0; i < lease.pathCount; i++) {
            TxPath path = lease.paths[i];
            if (path.isAllAcked()) {
                continue;
            }
            //= MR-4.5-12
            if (path.isPaused()) {
                if (isGone(nowNs, c, path)) {
                    return WENT_SILENT;
                }
                continue;
            }
            long stuckNs = nowNs - path.unaSinceNs();
            int bytes = path.packetBytes(path.una());
            //= MR-3.3-13
            if (stuckNs >= limits.giveUpNs() / 2 && !silent && lease.isTooLong(bytes)) {
                return String.format(
                        Locale.ROOT,
                        "packets of %,d bytes do not get through though those of up to %,d bytes"
                                + " do: choose a smaller payload MTU (perf: --mtu) or raise the"
                                + " MTU of the way",
                        bytes,
                        lease.longestArrivedBytes());
            }
            //= MR-3.3-12
            if (stuckNs >= limits.giveUpNs()) {
                return silent ? WENT_SILENT : whatIsMissing(path);
            }
        }
        return "";
    }

    /** True when nobody is left to say that there is a receive now. */
    private boolean isGone(long nowNs, TransportConnection c, TxPath path) {
        Stream waiting = path.stream(path.una());
        long pauseOverNs = waiting == null ? nowNs : nowNs - waiting.pausedUntilNs;
        long quietNs = Math.min(nowNs - c.heardNs, nowNs - path.unaSinceNs());
        return Math.min(quietNs, pauseOverNs) >= limits.giveUpNs();
    }

    private static String whatIsMissing(TxPath path) {
        int psn = path.una();
        return String.format(
                Locale.ROOT,
                path.awaitsReply(psn)
                        ? "the peer answers, but a reply with %,d bytes of payload does not come"
                        : "the peer answers, but a packet of %,d bytes does not get through",
                path.awaitsReply(psn) ? path.bytes(psn) : path.packetBytes(psn));
    }

    private long probeDeadlineNs(TxPath path) {
        return path.state.probeDeadlineNs(limits.rtoFloorNs(), limits.ackDelayNs());
    }

    /** A timer of the lease expired: looks whether it was this path's. */
    void onPathTimer(long nowNs, TransportConnection c, TxLease lease, int pathId) {
        TxPath path = lease.paths[pathId];
        if (path.hasDeferred() && path.deferredUntilNs() - nowNs <= 0) {
            path.resumeDeferred(nowNs);
        }
        watch.onTimer(nowNs, path);
        if (!path.state.isAwaited() || probeDeadlineNs(path) - nowNs > 0) {
            return;
        }
        path.probeWanted = true;
        path.askAgain();
        //= MR-4.3-13
        if (device.isLossy()
                && path.state.timeouts() == 0
                && path.state.tailProbes() < MORE_TAIL_PROBES) {
            path.state.onTailProbe(nowNs);
            return;
        }
        //= MR-4.3-3
        path.state.onTimeout(nowNs);
        if (path.state.timeouts() > 1) {
            device.counters.increment(CounterId.RTO_FIRED);
            path.state.congestion().onTimeout(nowNs);
            lease.selector.onTimeout(pathId);
        }
        if (PathHealth.shouldReroute(path.state)) {
            //= MR-4.3-4
            path.state.moveTo(watch.leave(nowNs, c, lease, pathId), TxLease.FEWEST_PACKETS);
        }
    }
}
