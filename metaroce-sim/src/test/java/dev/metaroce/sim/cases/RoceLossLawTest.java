package dev.metaroce.sim.cases;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.metaroce.rocev2.GoBackN;
import dev.metaroce.sim.study.GoBackNStudy;
import dev.metaroce.sim.study.GoBackNStudy.Outcome;
import dev.metaroce.sim.study.GoBackNStudy.Setup;
import dev.metaroce.sim.study.GoBackNStudy.Timer;
import dev.metaroce.sim.study.GoBackNStudy.Way;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

import java.util.ArrayList;
import java.util.List;

/** What random loss costs Go-Back-N of RoCEv2, against both laws for it (docs/rocev2.md). */
class RoceLossLawTest {
    private static final double NEAR = 0.1;

    private static Outcome run(
            GoBackN trigger, Way way, Timer timer, int n, double p, long needed) {
        Setup setup = new Setup(1, trigger, way, timer, n, p, needed);
        Outcome outcome = GoBackNStudy.run(setup, () -> true);
        assertThat(outcome.ended()).isTrue();
        assertThat(outcome.failed()).isZero();
        return outcome;
    }

    /** So many that the number of losses is known to some percent. */
    private static long needed(double p) {
        return p < 0.01 ? 150_000 : 40_000;
    }

    private static List<Arguments> points() {
        List<Arguments> all = new ArrayList<>();
        for (Way way : Way.values()) {
            for (int n : new int[] {32, 108, 256}) {
                for (double p : new double[] {0.001, 0.01, 0.05, 0.1}) {
                    all.add(Arguments.of(way, n, p));
                }
            }
        }
        return all;
    }

    @ParameterizedTest
    @MethodSource("points")
    @DisplayName("The repaired trigger loses per loss what is on the way, and needs no timer")
    void theRepairedTriggerFollowsBothLaws(Way way, int n, double p) {
        Outcome outcome = run(GoBackN.REPAIRED, way, Timer.LONG, n, p, needed(p));
        assertThat(outcome.efficiency() / outcome.setup().law()).isCloseTo(1, within(NEAR));
        // Nothing is behind the very last packet that could tell of its loss.
        assertThat(outcome.timeouts()).isLessThanOrEqualTo(1);
    }

    @ParameterizedTest
    @MethodSource("points")
    @DisplayName("The naive trigger follows both laws only with a timer of about a round trip")
    void theNaiveTriggerFollowsBothLawsIfItsTimerIsShort(Way way, int n, double p) {
        Outcome outcome = run(GoBackN.NAIVE, way, Timer.SHORT, n, p, needed(p));
        assertThat(outcome.efficiency() / outcome.setup().law()).isCloseTo(1, within(NEAR));
    }

    /** A packet lost again costs a time-out: there is no law without it. */
    @ParameterizedTest
    @CsvSource({"32,0.05", "32,0.1", "108,0.05", "108,0.1", "256,0.05", "256,0.1"})
    @DisplayName("The naive trigger waits for its timer, and comes to nothing above 1 %")
    void theNaiveTriggerWaitsForItsTimer(int n, double p) {
        Outcome outcome = run(GoBackN.NAIVE, Way.WHOLE_WINDOW, Timer.LONG, n, p, needed(p));
        Setup setup = outcome.setup();

        assertThat(outcome.efficiency()).isLessThan(setup.law() / 4).isLessThan(0.02);
        assertThat(outcome.efficiency() / setup.exactLaw()).isCloseTo(1, within(0.3));
        // One in p of all gaps, which are one in p of all packets.
        assertThat((double) outcome.timeouts())
                .isCloseTo(needed(p) * p * p, within(0.35 * p * p * needed(p)));
    }
}
