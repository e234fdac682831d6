package dev.metaroce.path;

import java.util.Arrays;

/**
 * Paths in turn, past those with a penalty, which each time it is passed loses one: a mark costs
 * one turn, a loss four, a time-out all fifteen. After the "bitmap" balancing of Ultra Ethernet's
 * simulator htsim.
 */
public final class BitmapPaths implements PathSelector {
    private static final int MARK = 1;
    private static final int LOSS = 4;
    private static final int MAX_PENALTY = 15;

    private final byte[] penalties;
    private int turn;

    /**
     * @param maxPaths most paths of a lease, 1 or more
     */
    public BitmapPaths(int maxPaths) {
        penalties = new byte[maxPaths];
    }

    @Override
    public int next(PathState[] paths, int count, int runPackets) {
        boolean any = true;
        while (any) {
            any = false;
            for (int i = 0; i < count; i++) {
                int at = turn;
                turn = at + 1 < count ? at + 1 : 0;
                if (paths[at].freeWindow() > 0) {
                    if (penalties[at] == 0) {
                        return at;
                    }
                    any = true;
                    penalties[at]--;
                }
            }
        }
        return -1;
    }

    @Override
    public void onAck(int path, int ackedPackets, int cePackets) {
        punish(path, MARK * cePackets);
    }

    @Override
    public void onLoss(int path) {
        punish(path, LOSS);
    }

    @Override
    public void onTimeout(int path) {
        punish(path, MAX_PENALTY);
    }

    private void punish(int path, int points) {
        //= MR-5.2-14
        penalties[path] = (byte) Math.min(penalties[path] + points, MAX_PENALTY);
    }

    @Override
    public void reset() {
        turn = 0;
        Arrays.fill(penalties, (byte) 0);
    }
}
