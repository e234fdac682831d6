package dev.metaroce.path;

import dev.metaroce.congestion.CongestionAlgorithm;

import java.util.Arrays;

/** Paths to choose from, and what is chosen. */
final class Choices {
    private Choices() {}

    /** Idle paths with a window of four packets each. */
    static PathState[] paths(int count) {
        PathState[] paths = new PathState[count];
        for (int i = 0; i < count; i++) {
            paths[i] = new PathState(CongestionAlgorithm.ECN_AIMD);
            paths[i].reset(i + 1, 4);
        }
        return paths;
    }

    /** The next choices for single packets, while nothing is sent. */
    static int[] turns(PathSelector choice, PathState[] paths, int n) {
        int[] turns = new int[n];
        Arrays.setAll(turns, i -> choice.next(paths, paths.length, 1));
        return turns;
    }
}
