package dev.metaroce.sim.study;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.sim.study.FairnessStudy.Outcome;
import dev.metaroce.sim.study.FairnessStudy.Setup;
import dev.metaroce.sim.study.FairnessStudy.Told;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestReporter;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Nobody starves and nothing collapses where hosts are rude or not alike. */
class FairnessStudyTest {
    private static final long RATE = 25_000_000_000L;

    /** So fast that a packet on each path in every round trip is less than a fair part. */
    private static final long FASTER = 100_000_000_000L;

    private static final long ROUND_TRIP_PS = 10_000_000;

    private static Outcome run(long rate, String name, Told told, TestReporter reporter) {
        Setup setup =
                Setup.all(1, rate, ROUND_TRIP_PS).stream()
                        .filter(s -> s.name().equals(name) && s.told() == told)
                        .findFirst()
                        .orElseThrow();
        Outcome outcome = FairnessStudy.run(setup, () -> true);
        reporter.publishEntry(outcome.toString());
        return outcome;
    }

    @ParameterizedTest
    @CsvSource({
        "even,TRUTH",
        "even,NOTHING",
        "near and far,TRUTH",
        "speeds to 1/1,TRUTH",
        "speeds to 1/1,NOTHING",
        "speeds to 1/4,TRUTH",
        "speeds to 1/4,NOTHING",
        "speeds to 1/16,TRUTH",
        "speeds to 1/16,NOTHING"
    })
    void whoIsSlowerOrFartherGetsAFairPart(String name, Told told, TestReporter reporter) {
        Outcome seen = run(RATE, name, told, reporter);

        assertThat(seen.use()).isGreaterThan(0.8);
        assertThat(seen.least()).isGreaterThan(0.5);
        assertThat(seen.most()).isLessThan(1.5);
    }

    /** Marks come to both alike, but the far ones hear of every one, the near ones of some. */
    @Test
    void withoutHintsFarSendersGetLessButDoNotStarve(TestReporter reporter) {
        Outcome seen = run(FASTER, "near and far", Told.NOTHING, reporter);

        assertThat(seen.use()).isGreaterThan(0.95);
        assertThat(seen.least()).isGreaterThan(0.1);
    }

    @Test
    void aSenderThatIgnoresHintsIsHeldByMarks(TestReporter reporter) {
        Outcome seen = run(FASTER, "rude sender", Told.TRUTH, reporter);

        assertThat(seen.use()).isGreaterThan(0.95);
        assertThat(seen.shares().getFirst()).as("the rude one").isLessThan(1.5);
        assertThat(seen.least()).isGreaterThan(0.8);
    }

    @ParameterizedTest
    @CsvSource({"ZERO,0", "ONE_MEGABIT,0", "FAR_ABOVE,0.95", "CHANGING,0", "ZERO_AT_FIRST,0.9"})
    @DisplayName("A receiver that lies harms nobody else, and is served again when it stops")
    void aReceiverThatLiesHarmsNobodyElse(Told told, double use, TestReporter reporter) {
        Outcome seen = run(FASTER, "receiver", told, reporter);

        assertThat(seen.besideUse()).as("truthful receiver").isGreaterThan(0.9);
        assertThat(seen.lost()).isZero();
        assertThat(seen.use()).isBetween(use, 1.01);
        if (use > 0) {
            assertThat(seen.least()).isGreaterThan(0.5);
        }
    }
}
