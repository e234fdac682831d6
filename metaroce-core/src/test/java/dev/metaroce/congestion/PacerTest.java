package dev.metaroce.congestion;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.metaroce.testing.Seeded;
import dev.metaroce.util.InvariantViolation;
import dev.metaroce.util.Rng;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PacerTest {
    private static final long GIGABIT = 1_000_000_000L;

    /** Times wrap on the way. Boxed and unboxed, or the compiler objects to sums that overflow. */
    private static final long START_NS = Long.valueOf(Long.MAX_VALUE - 1_000);

    /** MR-5.5-1: without a burst each packet waits for the one before it. */
    @Test
    void packetsAreSpacedByTheirTimeOnTheWire() {
        Pacer pacer = new Pacer(0);
        assertThat(pacer.nextSendNs(START_NS)).isEqualTo(START_NS);

        pacer.onSent(START_NS, 1_000, GIGABIT);

        assertThat(pacer.nextSendNs(START_NS)).isEqualTo(START_NS + 8_000);
        assertThat(pacer.nextSendNs(START_NS + 8_000)).isEqualTo(START_NS + 8_000);
        assertThat(pacer.nextSendNs(START_NS + 9_000)).isEqualTo(START_NS + 9_000);
    }

    /** MR-5.5-1: two packets of burst let three go, the fourth waits for one. */
    @Test
    void burstGoesBackToBack() {
        Pacer pacer = new Pacer(2_000);
        int sent = 0;
        while (pacer.nextSendNs(START_NS) == START_NS) {
            pacer.onSent(START_NS, 1_000, GIGABIT);
            sent++;
        }

        assertThat(sent).isEqualTo(3);
        assertThat(pacer.nextSendNs(START_NS)).isEqualTo(START_NS + 8_000);
    }

    @Test
    void timeWithoutTrafficEarnsNoMoreThanTheBurst() {
        Pacer pacer = new Pacer(2_000);
        pacer.onSent(START_NS, 1_000, GIGABIT);
        long laterNs = START_NS + 3_600 * GIGABIT;
        int sent = 0;
        while (pacer.nextSendNs(laterNs) == laterNs) {
            pacer.onSent(laterNs, 1_000, GIGABIT);
            sent++;
        }

        assertThat(sent).isEqualTo(3);
    }

    /** At 800 Gb/s a packet takes 14.08 ns: 10^5 packets take 1.408 ms and not 1.4 ms. */
    @ParameterizedTest
    @CsvSource({"800, 1408", "400, 4096", "3, 997", "1, 64"})
    void longTermRateIsExact(long gigabits, int bytes) {
        Pacer pacer = new Pacer(16_000);
        long nowNs = START_NS;
        long sentBytes = 0;
        for (int i = 0; i < 100_000; i++) {
            nowNs = pacer.nextSendNs(nowNs);
            pacer.onSent(nowNs, bytes, gigabits * GIGABIT);
            sentBytes += bytes;
        }

        double idealNs = (sentBytes - 16_000.0 - bytes) * 8 / gigabits;
        assertThat((nowNs - START_NS) / idealNs).isBetween(0.9999, 1.0001);
    }

    @Test
    void unpacedNeverWaits() {
        Pacer pacer = new Pacer(0);
        for (int i = 0; i < 100; i++) {
            assertThat(pacer.nextSendNs(START_NS)).isEqualTo(START_NS);
            pacer.onSent(START_NS, 65_000, Pacer.UNPACED);
        }
    }

    /** 1 Mb/s makes a wait of 12 ms; a hint of 1 Gb/s shortens it to 12 us. */
    @Test
    void newRateShortensTheWaitForWhatIsStillToDrain() {
        Pacer pacer = new Pacer(0);
        pacer.onSent(START_NS, 1_500, 1_000_000);
        assertThat(pacer.nextSendNs(START_NS)).isEqualTo(START_NS + 12_000_000);

        pacer.onRate(START_NS, GIGABIT);
        assertThat(pacer.nextSendNs(START_NS)).isEqualTo(START_NS + 12_000);
        pacer.onRate(START_NS + 6_000, GIGABIT / 2);
        assertThat(pacer.nextSendNs(START_NS + 6_000)).isEqualTo(START_NS + 18_000);
        pacer.onRate(START_NS + 6_000, Pacer.UNPACED);
        assertThat(pacer.nextSendNs(START_NS + 6_000)).isEqualTo(START_NS + 6_000);
    }

    @Test
    void smallestRateMakesALongWaitAndNoWrap() {
        Pacer pacer = new Pacer(0);
        pacer.onSent(0, 1 << 30, 1);
        pacer.onSent(0, 1 << 30, 1);
        assertThat(pacer.nextSendNs(0)).isGreaterThan(1L << 60);
        pacer.onSent(0, 1 << 30, 800 * GIGABIT);
        pacer.onRate(0, 1);
        assertThat(pacer.nextSendNs(0)).isGreaterThan(1L << 60);
    }

    @Test
    void rateOfZeroIsTheCallersMistake() {
        Pacer pacer = new Pacer(0);
        assertThatThrownBy(() -> pacer.onSent(0, 1, 0)).isInstanceOf(InvariantViolation.class);
        assertThatThrownBy(() -> new Pacer(-1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("burstBytes -1");
    }

    /** MR-5.5-1: no interval carries more than rate * time + burst + one packet. */
    @Seeded(cases = 100)
    void everyIntervalStaysWithinRateAndBurst(long seed) {
        Rng rng = new Rng(seed);
        int burst = rng.nextInt(20_000);
        long rate = GIGABIT + rng.nextInt(1_000) * GIGABIT;
        Pacer pacer = new Pacer(burst);
        int packets = 300;
        long[] atNs = new long[packets];
        int[] bytes = new int[packets];
        long nowNs = START_NS;
        for (int i = 0; i < packets; i++) {
            nowNs = pacer.nextSendNs(nowNs) + (rng.chance(0.1) ? rng.nextInt(5_000) : 0);
            atNs[i] = nowNs;
            bytes[i] = 1 + rng.nextInt(1_500);
            pacer.onSent(nowNs, bytes[i], rate);
        }
        for (int from = 0; from < packets; from++) {
            long sum = 0;
            for (int to = from; to < packets; to++) {
                sum += bytes[to];
                double allowed = (atNs[to] - atNs[from]) * (rate / 8e9) + burst + 1_500;
                double roundingNs = 2 * (rate / 8e9); // the burst is cut to whole nanoseconds
                if (sum > allowed + roundingNs) {
                    assertThat((double) sum).as("%d..%d", from, to).isLessThan(allowed);
                }
            }
        }
    }
}
