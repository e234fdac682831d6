package dev.metaroce.path;

/** Judges a path by what it did not answer, and chooses where it goes next. */
public final class PathHealth {
    /**
     * The tail probe and three time-outs without an answer: the route is taken for dead. With
     * fewer, a peer that the scheduler kept waiting for some milliseconds looks like a dead route.
     */
    static final int MAX_TIMEOUTS = 4;

    /** A path that is away asks its first route once in so many round trips, or less often. */
    private static final int ROUND_TRIPS_PER_QUESTION = 16;

    private PathHealth() {}

    /**
     * How much later than a packet of a path another one has to be sent, on another path, so that
     * its arrival makes the first path suspect: the answer to the first packet is overdue by a
     * whole round trip then, and it was not the sender or the target that stood still.
     *
     * @return nanoseconds; Long.MAX_VALUE for a path of which nothing was heard yet, which may be
     *     longer than all others
     */
    public static long patienceNs(PathState path) {
        return path.rtt().isMeasured()
                ? path.rtt().srttNs() / 2 + 4 * path.rtt().rttvarNs()
                : Long.MAX_VALUE;
    }

    /** How often a path that is away asks its first route. */
    public static long questionIntervalNs(PathState path, long rtoFloorNs) {
        return Math.max(ROUND_TRIPS_PER_QUESTION * path.rtt().srttNs(), rtoFloorNs);
    }

    /** True when the path should leave its route. */
    public static boolean shouldReroute(PathState path) {
        return path.timeouts() >= MAX_TIMEOUTS;
    }

    /**
     * The next route of the device's pool that no path of the lease uses; the next one at all when
     * every route is in use.
     *
     * @param routes routes of the pool, numbered 1..routes
     */
    public static int nextRoute(PathState[] paths, int count, int current, int routes) {
        int candidate = current;
        for (int i = 0; i < routes; i++) {
            candidate = candidate % routes + 1;
            if (!isUsed(paths, count, candidate)) {
                return candidate;
            }
        }
        return current % routes + 1;
    }

    private static boolean isUsed(PathState[] paths, int count, int route) {
        for (int i = 0; i < count; i++) {
            if (paths[i].route() == route) {
                return true;
            }
        }
        return false;
    }
}
