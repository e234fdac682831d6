package dev.metaroce.path;

/** Chooses the path of the next packets: the one that can deliver most, soonest. */
public final class PathSelector {
    private int turn;

    /**
     * The path with the most free window per round-trip time; among equals, in turn.
     *
     * @param count paths of the lease
     * @return index, or -1 when every window is full
     */
    public int next(PathState[] paths, int count) {
        int best = -1;
        long bestScore = -1;
        for (int i = 0; i < count; i++) {
            int at = turn + i < count ? turn + i : turn + i - count;
            PathState path = paths[at];
            int free = path.freeWindow();
            if (free > 0) {
                long rttUs = 1 + path.rtt().srttNs() / 1_000;
                long score = (long) free * 1_000_000 / rttUs;
                if (score > bestScore) {
                    best = at;
                    bestScore = score;
                }
            }
        }
        if (best >= 0) {
            turn = best + 1 < count ? best + 1 : 0;
        }
        return best;
    }

    public void reset() {
        turn = 0;
    }
}
