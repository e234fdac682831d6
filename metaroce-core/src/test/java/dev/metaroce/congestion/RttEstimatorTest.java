package dev.metaroce.congestion;

import static org.assertj.core.api.Assertions.assertThat;

import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;

class RttEstimatorTest {
    private final RttEstimator rtt = new RttEstimator();

    /** MR-5.1-1: rule 2.2 of RFC 6298. */
    @Test
    void firstSampleSetsMeanAndHalfOfItAsVariation() {
        assertThat(rtt.srttNs()).isZero();

        rtt.onSample(8_000);

        assertThat(rtt.srttNs()).isEqualTo(8_000);
        assertThat(rtt.rttvarNs()).isEqualTo(4_000);
        assertThat(rtt.minRttNs()).isEqualTo(8_000);
    }

    /** MR-5.1-1: rule 2.3 of RFC 6298, worked by hand. */
    @Test
    void laterSamplesMoveBothByTheirGains() {
        rtt.onSample(8_000);
        rtt.onSample(16_000);

        assertThat(rtt.rttvarNs()).as("3/4 of 4000 + 1/4 of 8000").isEqualTo(5_000);
        assertThat(rtt.srttNs()).as("7/8 of 8000 + 1/8 of 16000").isEqualTo(9_000);
        assertThat(rtt.minRttNs()).isEqualTo(8_000);
        rtt.onSample(5_000);
        assertThat(rtt.minRttNs()).isEqualTo(5_000);
    }

    /** MR-5.1-3: a guess is as good as a sample until there is one, and nothing afterwards. */
    @Test
    void theFirstSampleTakesThePlaceOfAGuess() {
        rtt.guess(1_000_000_000);
        assertThat(rtt.srttNs()).isEqualTo(1_000_000_000);

        rtt.onSample(8_000);
        assertThat(rtt.srttNs()).isEqualTo(8_000);
        assertThat(rtt.rttvarNs()).isEqualTo(4_000);
        assertThat(rtt.minRttNs()).isEqualTo(8_000);

        rtt.onSample(16_000);
        assertThat(rtt.srttNs()).isEqualTo(9_000);
    }

    @Test
    void steadySamplesAreLearnt() {
        rtt.onSample(1_000_000);
        for (int i = 0; i < 200; i++) {
            rtt.onSample(50_000);
        }

        assertThat(rtt.srttNs()).isCloseTo(50_000, Offset.offset(16L));
        assertThat(rtt.rttvarNs()).isLessThan(16);
    }

    /** MR-5.1-2. */
    @Test
    void timeoutIsMeanPlusFourVariationsWithinItsLimits() {
        assertThat(rtt.rtoNs(1_000, 10_000_000_000L)).isEqualTo(RttEstimator.INITIAL_RTO_NS);
        assertThat(rtt.rtoNs(1_000, 5_000_000)).isEqualTo(5_000_000);
        rtt.onSample(8_000);
        assertThat(rtt.rtoNs(1_000, 1_000_000)).isEqualTo(24_000);
        assertThat(rtt.rtoNs(100_000, 1_000_000)).isEqualTo(100_000);
        assertThat(rtt.rtoNs(1_000, 20_000)).isEqualTo(20_000);
    }

    @Test
    void valuesThatAreNoRoundTripAreIgnoredOrCapped() {
        rtt.onSample(0);
        rtt.onSample(-5);
        rtt.onSample(Long.MIN_VALUE);
        assertThat(rtt.srttNs()).isZero();

        rtt.onSample(Long.MAX_VALUE);
        rtt.onSample(Long.MAX_VALUE);

        assertThat(rtt.srttNs()).isEqualTo(RttEstimator.MAX_SAMPLE_NS);
        assertThat(rtt.rtoNs(0, Long.MAX_VALUE)).isPositive();
    }

    @Test
    void resetForgetsEverything() {
        rtt.onSample(8_000);
        rtt.reset();

        assertThat(rtt.srttNs()).isZero();
        assertThat(rtt.rttvarNs()).isZero();
        assertThat(rtt.minRttNs()).isZero();
    }
}
