package dev.metaroce.path;

/**
 * Takes again what did well: each unmarked acknowledgement puts its path into a ring, from which
 * the next packets take theirs; when it is empty, all paths have their turn. After a time-out
 * nothing new is tried until as many good answers came as the ring has places: when it is empty,
 * what was in it last is taken once more ("freezing"). After "recycled entropies" (REPS), which
 * recycle whatever a header may say to a switch's hash; here it is one of the paths of the lease.
 */
public final class RecycledPaths implements PathSelector {
    private static final int PLACES = 64;

    private final byte[] ring = new byte[PLACES];
    private long put;
    private long taken;
    private int proven;
    private int turn;
    private int frozenFor;

    public RecycledPaths() {}

    @Override
    public int next(PathState[] paths, int count, int runPackets) {
        //= MR-5.2-15
        while (taken != put) {
            int at = ring[(int) taken++ & (PLACES - 1)];
            if (paths[at].freeWindow() > 0) {
                return at;
            }
        }
        int again = frozenFor > 0 ? nextProven(paths) : -1;
        return again >= 0 ? again : nextInTurn(paths, count);
    }

    /** What the ring held, in turn, although it was taken before. */
    private int nextProven(PathState[] paths) {
        int held = (int) Math.min(put, PLACES);
        for (int i = 0; i < held; i++) {
            proven = proven + 1 < held ? proven + 1 : 0;
            if (paths[ring[proven]].freeWindow() > 0) {
                return ring[proven];
            }
        }
        return -1;
    }

    private int nextInTurn(PathState[] paths, int count) {
        for (int i = 0; i < count; i++) {
            int at = turn;
            turn = at + 1 < count ? at + 1 : 0;
            if (paths[at].freeWindow() > 0) {
                return at;
            }
        }
        return -1;
    }

    @Override
    public void onAck(int path, int ackedPackets, int cePackets) {
        for (int i = cePackets; i < ackedPackets; i++) {
            ring[(int) put++ & (PLACES - 1)] = (byte) path;
        }
        taken = Math.max(taken, put - PLACES);
        frozenFor = Math.max(0, frozenFor - (ackedPackets - cePackets));
    }

    @Override
    public void onTimeout(int path) {
        frozenFor = PLACES;
    }

    @Override
    public void reset() {
        put = 0;
        taken = 0;
        proven = 0;
        turn = 0;
        frozenFor = 0;
    }
}
