package dev.metaroce.path;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.congestion.CongestionAlgorithm;

import org.junit.jupiter.api.Test;

class WeightedPathsTest {
    private static PathState path(int window, long rttNs) {
        PathState path = new PathState(CongestionAlgorithm.ECN_AIMD);
        path.reset(1, window);
        path.rtt().onSample(rttNs);
        return path;
    }

    @Test
    void thePathThatDeliversMostPerRoundTripComesFirst() {
        PathState[] paths = {path(8, 1_000_000), path(8, 500_000), path(2, 400_000)};

        assertThat(new WeightedPaths().next(paths, 3, 32)).isEqualTo(1);
    }

    @Test
    void aPacketByItselfTakesThePathThatCarriesLeast() {
        PathState[] paths = {path(64, 10_000), path(2, 10_000), path(8, 30_000)};
        paths[0].onSent(0);

        assertThat(new WeightedPaths().next(paths, 3, 1)).isEqualTo(1);
        assertThat(new WeightedPaths().next(paths, 3, 32)).isZero();
    }

    /** MR-5.2-6: (3 + 0) 14 us are more than (3 + 1) 10 us, and 13 us are less. */
    @Test
    void aPathThatTakesAThirdLongerComesAfterOneWithAPacketInFlight() {
        PathState busy = path(8, 10_000);
        busy.onSent(0);

        PathSelector choice = new WeightedPaths();
        assertThat(choice.next(new PathState[] {busy, path(8, 14_000)}, 2, 1)).isZero();
        assertThat(choice.next(new PathState[] {busy, path(8, 13_000)}, 2, 1)).isEqualTo(1);
    }

    @Test
    void equalPathsTakeTurns() {
        PathState[] paths = {path(8, 1_000_000), path(8, 1_000_000), path(8, 1_000_000)};
        WeightedPaths selector = new WeightedPaths();

        int[] turns = new int[6];
        for (int i = 0; i < turns.length; i++) {
            turns[i] = selector.next(paths, 3, 32);
        }
        assertThat(turns).containsExactly(0, 1, 2, 0, 1, 2);
    }

    @Test
    void aPathIsFoundHoweverLongItsRoundTripIs() {
        PathState[] paths = {path(1, 30_000_000_000L)};

        assertThat(new WeightedPaths().next(paths, 1, 32)).isZero();
    }

    @Test
    void noPathIsFoundWhenEveryWindowIsFull() {
        PathState path = path(1, 1_000);
        path.onSent(0);

        assertThat(new WeightedPaths().next(new PathState[] {path}, 1, 32)).isEqualTo(-1);
    }
}
