package dev.metaroce.path;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** MR-5.2-15. */
class RecycledPathsTest {
    private static final int COUNT = 4;
    private static final int PLACES = 64;

    private final RecycledPaths choice = new RecycledPaths();
    private final PathState[] paths = Choices.paths(COUNT);

    private int[] turns(int n) {
        return Choices.turns(choice, paths, n);
    }

    @Test
    void allPathsAreTriedBeforeAnythingIsKnown() {
        assertThat(turns(6)).containsExactly(0, 1, 2, 3, 0, 1);
    }

    @Test
    void eachGoodAnswerBringsItsPathBackOnce() {
        choice.onAck(2, 2, 0);
        choice.onAck(1, 3, 2);
        choice.onAck(3, 1, 1);

        assertThat(turns(5)).containsExactly(2, 2, 1, 0, 1);
    }

    @Test
    void aPathWithoutRoomIsPassed() {
        for (int i = 0; i < 4; i++) {
            paths[2].onSent(0);
        }
        choice.onAck(2, 1, 0);
        choice.onAck(3, 1, 0);

        assertThat(turns(4)).containsExactly(3, 0, 1, 3);
    }

    @Test
    void theOldestAnswersAreForgottenWhenThereAreMoreThanPlaces() {
        choice.onAck(2, 1, 0);
        choice.onAck(3, PLACES, 0);

        assertThat(turns(PLACES + 1)).startsWith(3, 3).doesNotContain(2).endsWith(3, 0);
    }

    @Test
    void afterATimeOutOnlyProvenPathsAreTakenUntilTheRingIsNew() {
        choice.onAck(1, 1, 0);
        choice.onAck(3, 1, 0);
        choice.onTimeout(0);

        assertThat(turns(6)).containsOnly(1, 3);
        choice.onAck(3, PLACES, 0);
        assertThat(turns(PLACES)).containsOnly(3);
        assertThat(turns(COUNT)).containsExactly(0, 1, 2, 3);
    }

    @Test
    void aTimeOutBeforeAnyAnswerLeavesNothingButToTry() {
        choice.onTimeout(0);

        assertThat(turns(4)).containsExactly(0, 1, 2, 3);
    }

    @Test
    void noPathIsFoundWhenEveryWindowIsFull() {
        for (PathState path : paths) {
            path.moveTo(9, 1);
            path.onSent(0);
        }
        choice.onAck(1, 1, 0);

        assertThat(choice.next(paths, COUNT, 32)).isEqualTo(-1);
    }

    @Test
    void anotherLeaseStartsWithoutMemory() {
        choice.onAck(3, 9, 0);
        choice.onTimeout(3);
        choice.reset();

        assertThat(turns(4)).containsExactly(0, 1, 2, 3);
    }
}
