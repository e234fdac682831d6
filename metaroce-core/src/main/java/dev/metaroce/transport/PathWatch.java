package dev.metaroce.transport;

import dev.metaroce.event.AsyncEventType;
import dev.metaroce.event.CounterId;
import dev.metaroce.event.EventId;
import dev.metaroce.path.PathHealth;
import dev.metaroce.path.PathRoute;
import dev.metaroce.path.PathState;
import dev.metaroce.wire.CommonHeader;

/**
 * Watches the paths of a lease against each other: what arrives on one makes silence on another
 * suspect long before any time-out, and only then. Owner: the engine thread.
 */
final class PathWatch {
    private final DeviceState device;
    private final DeviceLimits limits;

    PathWatch(DeviceState device) {
        this.device = device;
        limits = device.limits;
    }

    /** A lease was opened: paths whose plane is not known to lead to the peer ask first. */
    void onOpen(long nowNs, TxLease lease) {
        for (int i = 0; i < lease.pathCount; i++) {
            if (!lease.isProved(lease.states[i].route())) {
                //= MR-3.10-5
                ask(nowNs, lease.paths[i]);
            }
        }
    }

    /** A packet that was sent at {@code echo} is known to have arrived. */
    void onArrival(long nowNs, TxLease lease, int echo) {
        // A peer may echo what it likes, but nothing can have arrived that is not sent.
        if (CommonHeader.toTxTime(nowNs) - echo >= 0) {
            lease.noteArrival(echo);
        }
    }

    /** The target answered on a path. */
    void onProgress(long nowNs, TxPath path) {
        if (path.state.way().isSuspect()) {
            path.count(true);
            device.event(nowNs, EventId.PATH_GOOD, path.state.route(), 0, 0);
        }
        path.state.onProgress(path.waitingSinceNs(nowNs));
    }

    /** Looks for paths that are silent while others are heard. */
    void look(long nowNs, TransportConnection c, TxLease lease) {
        if (nowNs - lease.lookNs < 0) {
            return;
        }
        lease.lookNs = nowNs + lease.minRttNs() / 4;
        for (int i = 0; i < lease.pathCount; i++) {
            TxPath path = lease.paths[i];
            PathRoute way = path.state.way();
            long patienceNs = PathHealth.patienceNs(path.state);
            if (way.isSuspect()) {
                if (lease.hasArrivedSince(way.askedTime(), patienceNs, 0)) {
                    //= MR-4.3-21
                    path.state.congestion().onTimeout(nowNs);
                    path.state.moveTo(leave(nowNs, c, lease, i));
                }
            } else if (path.isWaiting()
                    && lease.hasArrivedSince(path.unaSentTime(), patienceNs, limits.ackDelayNs())) {
                suspect(nowNs, path);
            }
        }
    }

    private void suspect(long nowNs, TxPath path) {
        //= MR-4.3-20
        ask(nowNs, path);
        path.count(false);
        device.event(nowNs, EventId.PATH_BAD, path.state.route(), 0, 0);
    }

    /** Nothing new is sent before the path answers. */
    private static void ask(long nowNs, TxPath path) {
        path.state.onTimeout(nowNs);
        path.state.way().suspect(CommonHeader.toTxTime(nowNs));
        path.probeWanted = true;
    }

    /**
     * A path leaves its route, which is taken for dead.
     *
     * @return the route to take
     */
    int leave(long nowNs, TransportConnection c, TxLease lease, int pathId) {
        TxPath path = lease.paths[pathId];
        PathState state = path.state;
        if (!state.way().isAway()) {
            state.way().onFall(nowNs, intervalNs(state));
        }
        path.count(true);
        path.markLostFrom(path.una());
        int to =
                PathHealth.nextRoute(
                        lease.states,
                        lease.pathCount,
                        state.route(),
                        limits.routes() * lease.planes(),
                        lease.planes());
        lease.onLeft(state.route());
        tell(nowNs, c, pathId, state.route(), to);
        return to;
    }

    private void tell(long nowNs, TransportConnection c, int pathId, int from, int to) {
        device.counters.increment(CounterId.REROUTES);
        device.event(nowNs, EventId.PATH_REROUTED, pathId, from, to);
        String text = "path " + pathId + " from route " + from + " to " + to;
        c.notices.raise(AsyncEventType.PATH_MIGRATED, c, text);
    }

    // The way back

    /** Sends a path home that only waited until nothing of it was on the way. */
    void goHome(long nowNs, TransportConnection c, TxLease lease, int pathId) {
        PathState state = lease.states[pathId];
        if (state.way().isReturning() && state.inFlight() == 0) {
            //= MR-4.3-24
            tell(nowNs, c, pathId, state.route(), state.way().home());
            state.moveTo(state.way().home());
        }
    }

    private long intervalNs(PathState state) {
        return PathHealth.questionIntervalNs(state, limits.rtoFloorNs());
    }

    /** Asks the first route of a path that is away, when it is time to. */
    void onTimer(long nowNs, TxPath path) {
        PathRoute way = path.state.way();
        if (way.isAway() && way.askHomeNs() - nowNs <= 0) {
            //= MR-4.3-23
            way.onHomeDue(nowNs, intervalNs(path.state));
            path.homeWanted = true;
        }
    }

    /** True when the answer to a probe is that of the first route of a path that is away. */
    boolean isHomeAnswer(PathState state, int echo) {
        boolean is = state.way().isHomeAnswer(echo);
        if (is) {
            state.way().onHomeAnswer();
        }
        return is;
    }
}
