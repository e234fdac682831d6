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
     * The next route that no path of the lease uses, if possible on a plane that no path of the
     * lease found dead; the next one at all when every route is in use.
     *
     * @param routes all there are, numbered 1..routes, neighbours on different planes
     * @param planes over which they are spread in turn
     */
    public static int nextRoute(PathState[] paths, int count, int current, int routes, int planes) {
        //= MR-4.3-22
        int other = current % routes + 1;
        for (int i = 0, candidate = current; i < routes; i++) {
            candidate = candidate % routes + 1;
            if (!isUsed(paths, count, candidate)) {
                if (!isDead(paths, count, candidate, current, planes)) {
                    return candidate;
                }
                other = isUsed(paths, count, other) ? candidate : other;
            }
        }
        return other;
    }

    private static boolean isDead(
            PathState[] paths, int count, int route, int current, int planes) {
        int plane = route % planes;
        boolean dead = plane == current % planes;
        for (int i = 0; i < count; i++) {
            PathRoute way = paths[i].way();
            boolean bad = way.isSuspect() && plane == way.number() % planes;
            dead |= bad || (way.isAway() && plane == way.home() % planes);
        }
        return dead && planes > 1;
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
