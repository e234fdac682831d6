package dev.metaroce.sim.cases;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.metaroce.sim.study.PlaneStudy;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Planes of 400 Gb/s with a round trip of 9.6 us; the study in small. */
class PlaneStudyTest {
    private static final long RATE = 400 * Net.GIGABIT;
    private static final long ROUND_TRIP_PS = 9_600 * Net.NS;

    private static PlaneStudy.Outcome run(long seed, int planes, long brokenPs) {
        return PlaneStudy.run(
                new PlaneStudy.Setup(
                        seed,
                        planes,
                        1,
                        32,
                        RATE,
                        ROUND_TRIP_PS,
                        50 * ROUND_TRIP_PS,
                        20 * ROUND_TRIP_PS,
                        brokenPs,
                        10 * Net.MS),
                () -> true);
    }

    @Test
    @DisplayName("M12: two planes carry twice as much")
    void planesAddUp() {
        double one = run(1, 1, 0).healthyGbps();

        assertThat(run(1, 2, 0).healthyGbps() / one / 2).isCloseTo(1, within(0.02));
    }

    // MR-4.3-20
    // MR-4.3-21
    // MR-4.3-23
    // MR-4.3-24
    @ParameterizedTest
    @ValueSource(longs = {1, 2})
    @DisplayName("L07: one dead plane of eight costs an eighth and no error, and comes back")
    void aDeadPlaneCostsItsShare(long seed) {
        PlaneStudy.Outcome outcome = run(seed, 8, 100 * ROUND_TRIP_PS);

        assertThat(outcome.errors()).isZero();
        assertThat(outcome.recoveryRoundTrips())
                .isLessThanOrEqualTo(PlaneStudy.RECOVERY_ROUND_TRIPS);
        assertThat(outcome.brokenShare()).isGreaterThan(PlaneStudy.RECOVERED_SHARE);
        assertThat(outcome.repairUs()).isLessThan(10_000);
        // Four paths of the plane left it and returned.
        assertThat(outcome.reroutes()).isBetween(8L, 16L);
    }
}
