package dev.metaroce.path;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

import java.util.Arrays;

/** MR-5.2-14. */
class BitmapPathsTest {
    private static final int COUNT = 3;

    private final BitmapPaths choice = new BitmapPaths(COUNT);
    private final PathState[] paths = Choices.paths(COUNT);

    private int[] turns(int n) {
        return Choices.turns(choice, paths, n);
    }

    @Test
    void goodPathsTakeTurns() {
        assertThat(turns(6)).containsExactly(0, 1, 2, 0, 1, 2);
    }

    @Test
    void aMarkCostsOneTurnAndALossFour() {
        choice.onAck(0, 8, 1);
        choice.onLoss(2);

        assertThat(turns(11)).containsExactly(1, 0, 1, 0, 1, 0, 1, 0, 1, 2, 0);
    }

    @Test
    void noPathIsPassedMoreThanFifteenTimes() {
        choice.onTimeout(1);
        choice.onTimeout(1);
        choice.onAck(1, 256, 256);

        int[] turns = turns(2 * 15 + 2);

        assertThat(Arrays.stream(turns).limit(30)).doesNotContain(1);
        assertThat(turns[31]).isEqualTo(1);
    }

    @Test
    void theOnlyPathWithRoomIsTakenWhateverItsPenalty() {
        for (int i = 0; i < 4; i++) {
            paths[0].onSent(0);
            paths[2].onSent(0);
        }
        choice.onTimeout(1);

        assertThat(turns(3)).containsExactly(1, 1, 1);
    }

    @Test
    void noPathIsFoundWhenEveryWindowIsFull() {
        for (PathState path : paths) {
            path.moveTo(9, 1);
            path.onSent(0);
        }

        assertThat(choice.next(paths, COUNT, 32)).isEqualTo(-1);
    }

    @Test
    void anotherLeaseStartsWithoutPenalties() {
        choice.onTimeout(0);
        choice.reset();

        assertThat(turns(3)).containsExactly(0, 1, 2);
    }
}
