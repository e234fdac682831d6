package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.util.Rng;

import org.junit.jupiter.api.Test;

class RetryPaceTest {
    private static final long MS = 1_000_000;

    private final RetryPace pace = new RetryPace(new Rng(1));

    private int refuse(long nowNs, int times) {
        int last = 0;
        for (int i = 0; i < times; i++) {
            last = pace.refuse(nowNs);
        }
        return last;
    }

    @Test
    void theFewMayComeBackSoon() {
        for (int i = 0; i < 1000; i++) {
            assertThat(pace.refuse(i * 10 * MS)).isBetween(5_000, 9_999);
        }
    }

    @Test
    void theManyComeBackLate() {
        assertThat(refuse(0, 50_000)).isBetween(50_000, 99_999);
        assertThat(refuse(10 * MS, 1)).as("of the next round").isBetween(50_000, 99_999);
        assertThat(refuse(20 * MS, 1_000_000)).isBetween(500_000, 999_999);
    }

    @Test
    void aCrowdOfLongAgoIsForgotten() {
        refuse(0, 50_000);

        assertThat(refuse(5_000 * MS, 1)).isBetween(5_000, 9_999);
    }

    @Test
    void theRefusedDoNotComeBackTogether() {
        assertThat(pace.refuse(0)).isNotEqualTo(pace.refuse(0));
    }
}
