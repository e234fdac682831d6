package dev.metaroce.sim.study;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.metaroce.sim.fabric.LinkFaults;
import dev.metaroce.transport.Mechanisms;
import dev.metaroce.wire.Profile;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Small traffic; the sizes of the claims are for the command. */
class LossStudyTest {
    private static final long BYTES = 32 << 20;

    private static LossStudy.Outcome run(
            LossStudy.Traffic traffic, int hosts, Profile profile, double data, double answers) {
        LossStudy.Setup setup =
                new LossStudy.Setup(
                        1,
                        traffic,
                        hosts,
                        profile,
                        8,
                        400_000_000_000L,
                        9_600_000,
                        BYTES,
                        LinkFaults.Rates.ofLoss(data),
                        LinkFaults.Rates.ofLoss(answers),
                        Mechanisms.DEFAULT);
        double reference = LossStudy.referenceGbps(setup, () -> true);
        LossStudy.Outcome outcome = LossStudy.run(setup, () -> true, reference);
        assertThat(outcome.ended()).isTrue();
        assertThat(outcome.failed()).isZero();
        return outcome;
    }

    @ParameterizedTest
    @EnumSource(LossStudy.Traffic.class)
    void withoutLossNothingIsSentTwice(LossStudy.Traffic traffic) {
        LossStudy.Outcome outcome = run(traffic, 4, Profile.M, 0, 0);

        assertThat(outcome.share()).isCloseTo(1, within(0.01));
        assertThat(outcome.sentPerNeeded()).isEqualTo(1);
    }

    @ParameterizedTest
    @CsvSource({"0.001,0.97", "0.01,0.95", "0.1,0.8"})
    @DisplayName("L01: a transfer keeps its rate, and sends again what was lost")
    void l01ATransferKeepsItsRate(double loss, double share) {
        LossStudy.Outcome outcome = run(LossStudy.Traffic.TRANSFER, 16, Profile.M, loss, loss);

        assertThat(outcome.share()).isBetween(share, 1.0);
        assertThat(outcome.sentPerNeeded()).isBetween(1.0, 1.02 / (1 - loss));
        assertThat(outcome.resent()).isPositive();
    }

    @ParameterizedTest
    @CsvSource({"0.1,0.98", "0.5,0.9", "0.9,0.6"})
    @DisplayName("L04, MR-4.3-14: lost acknowledgements make no copies and cost little")
    void l04LostAcknowledgementsMakeNoCopies(double loss, double share) {
        LossStudy.Outcome outcome = run(LossStudy.Traffic.TRANSFER, 16, Profile.M, 0, loss);

        assertThat(outcome.share()).isBetween(share, 1.01);
        assertThat(outcome.sentPerNeeded()).isBetween(1.0, 1.02);
    }

    @ParameterizedTest
    @CsvSource({"RING,4", "ALL_TO_ALL,9"})
    void collectivesTakeATenthLongerAtMost(LossStudy.Traffic traffic, int hosts) {
        LossStudy.Outcome outcome = run(traffic, hosts, Profile.M, 0.01, 0.01);

        assertThat(outcome.share()).isGreaterThan(1 / 1.1);
        assertThat(outcome.resent()).isPositive();
    }

    @Test
    void goBackNSendsManyMore() {
        LossStudy.Outcome outcome = run(LossStudy.Traffic.TRANSFER, 16, Profile.S, 0.01, 0.01);

        assertThat(outcome.share()).isLessThan(0.7);
        assertThat(outcome.sentPerNeeded()).isGreaterThan(1.3);
    }
}
