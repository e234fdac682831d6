package dev.metaroce.congestion;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import dev.metaroce.testing.Seeded;
import dev.metaroce.util.Rng;

import org.junit.jupiter.api.Test;

/** The rate machine against sequences worked out by hand, and what must always hold. */
class DcqcnTest {
    private static final long US = 1_000;
    private static final long MEGABIT = 1_000_000;
    private static final long GIGABIT = 1_000 * MEGABIT;
    private static final long LINE = 100 * GIGABIT;

    private final DcqcnSettings reference = DcqcnSettings.reference();
    private final Dcqcn flow = new Dcqcn(reference, LINE);
    private long nowNs = Long.MAX_VALUE - 1_000 * US; // times wrap on the way

    /** The rates after each of the next rises by time. */
    private long[] rises(Dcqcn rising, int count) {
        long[] rates = new long[count];
        for (int i = 0; i < count; i++) {
            nowNs = rising.deadlineNs();
            rising.onTimer(nowNs);
            rates[i] = rising.rateBitsPerSecond();
        }
        return rates;
    }

    @Test
    void aFlowBeginsAtTheRateOfTheLineWithoutATimer() {
        assertThat(flow.rateBitsPerSecond()).isEqualTo(LINE);
        assertThat(flow.isAtLineRate()).isTrue();
        assertThat(flow.alpha(nowNs)).isEqualTo(1);
    }

    /** D.9: a single CNP halves the rate when alpha is 1. */
    @Test
    void theFirstCnpCutsToHalfHoweverLateItComes() {
        flow.onCnp(nowNs + 1_000_000 * US);

        assertThat(flow.rateBitsPerSecond()).isEqualTo(LINE / 2);
        assertThat(flow.isAtLineRate()).isFalse();
        assertThat(flow.deadlineNs() - nowNs).isEqualTo(1_001_500 * US);
    }

    /**
     * <pre>
     * 0 us   CNP   alpha 1, cut to 50 Gb/s
     * 50 us  CNP   alpha is 1 still, cut to 25 Gb/s; the alpha timer starts anew
     * 105 us       one alpha timer passed: alpha 255/256
     * 160 us CNP   two: alpha (255/256)^2, cut by half of that; then alpha + (1 - alpha)/256
     * </pre>
     */
    @Test
    void eachCnpCutsByHalfOfAlphaWhichDecaysInBetween() {
        double keep = 255.0 / 256;
        flow.onCnp(nowNs);
        flow.onCnp(nowNs + 50 * US);
        assertThat(flow.rateBitsPerSecond()).isEqualTo(25 * GIGABIT);
        assertThat(flow.alpha(nowNs + 104 * US)).isEqualTo(1);
        assertThat(flow.alpha(nowNs + 105 * US)).isEqualTo(keep);

        flow.onCnp(nowNs + 160 * US);

        double alpha = keep * keep;
        assertThat((double) flow.rateBitsPerSecond())
                .isCloseTo(25e9 * (1 - alpha / 2), within(1.0));
        assertThat(flow.alpha(nowNs + 160 * US)).isCloseTo(alpha * keep + 1.0 / 256, within(1e-12));
    }

    @Test
    void alphaFallsToHalfInAbout177TimersAndNeverToNothing() {
        flow.onCnp(nowNs);

        assertThat(flow.alpha(nowNs + 177 * 55 * US)).isCloseTo(0.5, within(0.001));
        assertThat(flow.alpha(nowNs + (1L << 62))).isPositive().isLessThan(1e-300);
    }

    @Test
    void cnpsWithinFourMicrosecondsOfACutAreOneWithIt() {
        flow.onCnp(nowNs);
        flow.onCnp(nowNs + 4 * US - 1);
        assertThat(flow.rateBitsPerSecond()).isEqualTo(LINE / 2);
        assertThat(flow.deadlineNs() - nowNs).as("starts no timer anew").isEqualTo(1_500 * US);

        flow.onCnp(nowNs + 4 * US);

        assertThat(flow.rateBitsPerSecond()).isEqualTo(LINE / 4);
    }

    /**
     * After cuts to 50 and 25 Gb/s R_T is 50: five rises halve the way to it, the sixth adds 5
     * Mb/s, and the seventh and all others 50 Mb/s, before they halve the way.
     */
    @Test
    void theTimerRecoversFiveTimesThenAddsOnceThenAddsMuch() {
        flow.onCnp(nowNs);
        flow.onCnp(nowNs + 50 * US);

        assertThat(rises(flow, 8))
                .containsExactly(
                        37_500 * MEGABIT,
                        43_750 * MEGABIT,
                        46_875 * MEGABIT,
                        48_437_500_000L,
                        49_218_750_000L,
                        49_611_875_000L, // R_T 50,005 Mb/s
                        49_833_437_500L, // R_T 50,055 Mb/s
                        49_969_218_750L); // R_T 50,105 Mb/s
        assertThat(nowNs - (Long.MAX_VALUE - 1_000 * US)).isEqualTo((50 + 8 * 1_500) * US);
    }

    @Test
    void aCutStartsRecoveryAnewFromTheRateOfThatTime() {
        flow.onCnp(nowNs);
        flow.onCnp(nowNs + 50 * US);
        rises(flow, 7);
        long before = flow.rateBitsPerSecond();
        long cutNs = nowNs + 1;
        flow.onCnp(cutNs);
        long after = flow.rateBitsPerSecond();

        assertThat(flow.deadlineNs() - cutNs).isEqualTo(1_500 * US);
        assertThat(rises(flow, 1)).containsExactly((before + after + 1) / 2);
    }

    /** F = 2 and B = 10,000 bytes: the stage of the counter is apart from that of the timer. */
    @Test
    void theByteCounterRisesToo() {
        DcqcnSettings settings =
                new DcqcnSettings(
                        1.0 / 256,
                        55 * US,
                        0,
                        100 * US,
                        10_000,
                        2,
                        40 * MEGABIT,
                        400 * MEGABIT,
                        100 * MEGABIT);
        Dcqcn both = new Dcqcn(settings, LINE);
        both.onSent(1 << 20);
        assertThat(both.rateBitsPerSecond()).as("nothing to rise to").isEqualTo(LINE);
        both.onCnp(nowNs);
        both.onCnp(nowNs); // 25 Gb/s, R_T 50

        both.onSent(9_999);
        assertThat(both.rateBitsPerSecond()).isEqualTo(25 * GIGABIT);
        both.onSent(1); // counter 1: recovery
        assertThat(both.rateBitsPerSecond()).isEqualTo(37_500 * MEGABIT);
        assertThat(rises(both, 2)) // timer 1 and 2: recovery
                .containsExactly(43_750 * MEGABIT, 46_875 * MEGABIT);
        assertThat(rises(both, 1)) // timer 3, F done by it: additive
                .containsExactly((46_875 + 50_040) * MEGABIT / 2);
        both.onSent(20_000); // counter 2, once for one call: additive, R_T 50,080
        both.onSent(10_000); // counter 3, R_T 50,120
        both.onSent(10_000); // counter 4: both had more than F: hyper, R_T 50,520

        double before = (46_875 + 50_040) * 1e6 / 2;
        double expected = ((((before + 50_080e6) / 2) + 50_120e6) / 2 + 50_520e6) / 2;
        assertThat((double) both.rateBitsPerSecond()).isCloseTo(expected, within(3.0));
    }

    @Test
    void itReachesTheRateOfTheLineAndNeedsNoTimerThere() {
        flow.onCnp(nowNs);
        int rises = 0;
        while (!flow.isAtLineRate()) {
            rises(flow, 1);
            rises++;
        }

        assertThat(flow.rateBitsPerSecond()).isEqualTo(LINE);
        assertThat(rises).as("halves of 50 Gb/s, to the last bit").isEqualTo(36);
        flow.onTimer(nowNs + 1_000_000 * US);
        assertThat(flow.rateBitsPerSecond()).isEqualTo(LINE);
    }

    @Test
    void aTimerThatIsEarlyDoesNothingAndALateOneCountsOnce() {
        flow.onCnp(nowNs);
        flow.onTimer(flow.deadlineNs() - 1);
        assertThat(flow.rateBitsPerSecond()).isEqualTo(LINE / 2);

        long lateNs = flow.deadlineNs() + 10_000 * US;
        flow.onTimer(lateNs);

        assertThat(flow.rateBitsPerSecond()).isEqualTo(75 * GIGABIT);
        assertThat(flow.deadlineNs() - lateNs).isEqualTo(1_500 * US);
    }

    @Test
    void noCutGoesBelowTheLeastRate() {
        for (int i = 0; i < 40; i++) {
            nowNs += 4 * US;
            flow.onCnp(nowNs);
        }

        assertThat(flow.rateBitsPerSecond()).isEqualTo(100 * MEGABIT);
    }

    @Test
    void resetForgetsEverything() {
        flow.onCnp(nowNs);
        rises(flow, 3);
        flow.reset(40 * GIGABIT);

        assertThat(flow.rateBitsPerSecond()).isEqualTo(40 * GIGABIT);
        flow.onCnp(nowNs + 1);
        assertThat(flow.rateBitsPerSecond()).isEqualTo(20 * GIGABIT);
    }

    @Seeded(cases = 50)
    void rateAndAlphaStayInTheirRangesWhateverHappens(long seed) {
        Rng rng = new Rng(seed);
        DcqcnSettings settings = rng.chance(0.5) ? reference : DcqcnSettings.published();
        Dcqcn any = new Dcqcn(settings, LINE);
        boolean cut = false;
        for (int i = 0; i < 1_000; i++) {
            nowNs += rng.nextInt(1 << rng.nextInt(22));
            long before = any.rateBitsPerSecond();
            switch (rng.nextInt(3)) {
                case 0 -> {
                    any.onCnp(nowNs);
                    assertThat(any.rateBitsPerSecond()).isBetween(before / 2 - 1, before);
                    assertThat(cut || any.rateBitsPerSecond() == LINE / 2).isTrue();
                    cut = true;
                }
                case 1 -> any.onSent(rng.nextInt(1 << 24));
                default -> {
                    any.onTimer(nowNs);
                    assertThat(any.rateBitsPerSecond()).isGreaterThanOrEqualTo(before);
                }
            }
            assertThat(any.rateBitsPerSecond()).isBetween(settings.minBitsPerSecond(), LINE);
            assertThat(any.alpha(nowNs)).isPositive().isLessThanOrEqualTo(1);
        }
    }

    @Test
    void settingsNameWhatIsOutOfRange() {
        assertThatThrownBy(() -> new DcqcnSettings(0, 1, 0, 1, 0, 0, 1, 1, 1))
                .hasMessage("DcqcnSettings: gain 0.0 is not above 0 and up to 1");
        assertThatThrownBy(() -> new DcqcnSettings(1, 1, 0, 0, 0, 0, 1, 1, 1))
                .hasMessage("DcqcnSettings: timerNs 0 is below 1");
        assertThatThrownBy(() -> new DcqcnSettings(1, 1, 0, 1, 0, 0, 0, 1, 1))
                .hasMessage("DcqcnSettings: additiveBitsPerSecond 0 is below 1");
    }
}
