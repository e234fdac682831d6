package dev.metaroce.tools.study;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class SpreadTest {
    @Test
    void theMiddleOfOddAndEvenCounts() {
        assertThat(Spread.of(5, 1, 3)).isEqualTo(new Spread(3, 1, 5));
        assertThat(Spread.of(4, 1, 3, 2)).isEqualTo(new Spread(2.5, 1, 4));
    }

    @Test
    void ofNothingThereIsNothing() {
        assertThat(Spread.of()).isEqualTo(new Spread(Double.NaN, Double.NaN, Double.NaN));
    }
}
