package dev.metaroce.path;

/** Judges a path by what it did not answer, and chooses where it goes next. */
public final class PathHealth {
    /**
     * The tail probe and three time-outs without an answer: the route is taken for dead. With
     * fewer, a peer that the scheduler kept waiting for some milliseconds looks like a dead route.
     */
    static final int MAX_TIMEOUTS = 4;

    private PathHealth() {}

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
