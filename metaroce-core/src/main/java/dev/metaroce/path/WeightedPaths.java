package dev.metaroce.path;

/**
 * Takes the path that can deliver most, soonest: the one that takes most of a run of packets,
 * weighed against its round-trip time and what it has to carry already; among equals, in turn.
 */
public final class WeightedPaths implements PathSelector {
    /**
     * With so many packets on top, round trips count beside packets: a path with none in flight
     * comes after one with a packet when it takes a third longer, not only when it takes twice as
     * long.
     */
    private static final double LEVEL_PACKETS = 3;

    private int turn;

    public WeightedPaths() {}

    @Override
    public int next(PathState[] paths, int count, int runPackets) {
        int best = -1;
        double bestScore = 0;
        for (int i = 0; i < count; i++) {
            int at = turn + i < count ? turn + i : turn + i - count;
            PathState path = paths[at];
            int free = path.freeWindow();
            if (free > 0) {
                //= MR-5.2-6
                double load = (LEVEL_PACKETS + path.inFlight()) * (1 + path.rtt().srttNs());
                double score = Math.min(free, runPackets) / load;
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

    @Override
    public void reset() {
        turn = 0;
    }
}
