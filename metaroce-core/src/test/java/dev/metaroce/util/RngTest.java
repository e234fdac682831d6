package dev.metaroce.util;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import org.junit.jupiter.api.Test;

import java.util.stream.LongStream;

class RngTest {
    /** First outputs of SplitMix64 for this seed, as published with other implementations. */
    @Test
    void givesThePublishedSequence() {
        Rng rng = new Rng(1_234_567);

        assertThat(LongStream.generate(rng::nextLong).limit(5).toArray())
                .containsExactly(
                        Long.parseUnsignedLong("6457827717110365317"),
                        Long.parseUnsignedLong("3203168211198807973"),
                        Long.parseUnsignedLong("9817491932198370423"),
                        Long.parseUnsignedLong("4593380528125082431"),
                        Long.parseUnsignedLong("16408922859458223821"));
        assertThat(rng.seed()).isEqualTo(1_234_567);
    }

    @Test
    void theSameSeedGivesTheSameNumbers() {
        assertThat(draws(new Rng(7))).isEqualTo(draws(new Rng(7)));
        assertThat(draws(new Rng(7))).isNotEqualTo(draws(new Rng(8)));
    }

    @Test
    void aForkDoesNotDependOnWhatItsParentDrew() {
        Rng fresh = new Rng(42);
        Rng used = new Rng(42);
        draws(used);
        used.fork("other");

        assertThat(draws(used.fork("path"))).isEqualTo(draws(fresh.fork("path")));
    }

    @Test
    void aForkDoesNotShiftItsParent() {
        Rng forked = new Rng(42);
        draws(forked.fork("path"));

        assertThat(draws(forked)).isEqualTo(draws(new Rng(42)));
    }

    @Test
    void forksDifferByLabelByParentAndByOrder() {
        Rng root = new Rng(42);

        assertThat(
                        new long[] {
                            root.seed(),
                            root.fork("").seed(),
                            root.fork("a").seed(),
                            root.fork("b").seed(),
                            root.fork("ab").seed(),
                            root.fork("a").fork("b").seed(),
                            root.fork("b").fork("a").seed(),
                            new Rng(43).fork("a").seed()
                        })
                .doesNotHaveDuplicates();
    }

    @Test
    void drawsBelowABoundStayInRangeAndReachEveryValue() {
        Rng rng = new Rng(3);
        for (int bound : new int[] {1, 2, 3, 7, 256, Integer.MAX_VALUE}) {
            for (int i = 0; i < 1_000; i++) {
                assertThat(rng.nextInt(bound)).isBetween(0, bound - 1);
            }
        }
        int seen = 0;
        for (int i = 0; i < 1_000; i++) {
            seen |= 1 << rng.nextInt(31);
        }
        assertThat(seen).isEqualTo(Integer.MAX_VALUE);
    }

    /**
     * With 3 * 2^29 values a remainder of 32 random bits would hit the lower two thirds of the
     * range twice as often, and a plain multiplication would prefer every third value.
     */
    @Test
    void drawsBelowAnAwkwardBoundAreUnbiased() {
        Rng rng = new Rng(11);
        int bound = 3 << 29;
        int draws = 300_000;
        int[] byThird = new int[3];
        int[] byRemainder = new int[3];
        for (int i = 0; i < draws; i++) {
            int value = rng.nextInt(bound);
            byThird[value / (bound / 3)]++;
            byRemainder[value % 3]++;
        }
        for (int i = 0; i < 3; i++) {
            assertThat(byThird[i] / (double) draws).isCloseTo(1 / 3.0, within(0.005));
            assertThat(byRemainder[i] / (double) draws).isCloseTo(1 / 3.0, within(0.005));
        }
    }

    @Test
    void aBoundBelowOneIsRefused() {
        assertThatThrownBy(() -> new Rng(1).nextInt(0)).isInstanceOf(InvariantViolation.class);
        assertThatThrownBy(() -> new Rng(1).nextInt(-5)).isInstanceOf(InvariantViolation.class);
    }

    @Test
    void doublesLieInTheUnitIntervalAndAverageToHalf() {
        Rng rng = new Rng(5);
        double sum = 0;
        for (int i = 0; i < 100_000; i++) {
            double value = rng.nextDouble();
            assertThat(value).isGreaterThanOrEqualTo(0).isLessThan(1);
            sum += value;
        }
        assertThat(sum / 100_000).isCloseTo(0.5, within(0.005));
    }

    @Test
    void chanceHitsWithItsProbabilityAndAlwaysTakesOneDraw() {
        Rng rng = new Rng(9);
        int hits = 0;
        for (int i = 0; i < 100_000; i++) {
            hits += rng.chance(0.01) ? 1 : 0;
            assertThat(rng.chance(0)).isFalse();
            assertThat(rng.chance(1)).isTrue();
        }
        assertThat(hits).isBetween(850, 1_150);

        Rng counted = new Rng(9);
        LongStream.generate(counted::nextLong).limit(300_000).forEach(value -> {});
        assertThat(rng.nextLong()).isEqualTo(counted.nextLong());
    }

    private static long[] draws(Rng rng) {
        return LongStream.generate(rng::nextLong).limit(100).toArray();
    }
}
