package dev.metaroce.congestion;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.metaroce.testing.Seeded;
import dev.metaroce.util.Rng;

import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The window law against its closed forms, on a path that answers whole windows per RTT. */
class EcnAimdTest {
    private static final long RTT_NS = 10_000;
    private static final int MAX = 256;

    private final EcnAimd law = new EcnAimd(MAX);
    private long nowNs = Long.MAX_VALUE - 50 * RTT_NS; // times wrap on the way

    /** One RTT in which the whole window comes back, packet by packet. */
    private void round(double markedFraction, double lossRatio, long rttNs, Rng rng) {
        int window = law.windowPackets();
        law.onFull();
        for (int i = 0; i < window; i++) {
            nowNs += rttNs / window;
            if (rng.chance(lossRatio)) {
                law.onLoss(nowNs, 1, window);
            } else {
                law.onAck(nowNs, 1, rng.chance(markedFraction) ? 1 : 0, rttNs);
            }
        }
        nowNs += rttNs % window;
    }

    private void rounds(int count, double marked, double lost, long rttNs, Rng rng) {
        for (int i = 0; i < count; i++) {
            round(marked, lost, rttNs, rng);
        }
    }

    /** MR-5.2-3. */
    @Test
    void slowStartDoublesPerRoundTripUpToTheLargestWindow() {
        law.reset(10);
        Rng rng = new Rng(1);
        int[] windows = new int[6];
        for (int i = 0; i < windows.length; i++) {
            windows[i] = law.windowPackets();
            round(0, 0, RTT_NS, rng);
        }

        assertThat(windows).containsExactly(10, 20, 40, 80, 160, 256);
        assertThat(law.windowPackets()).isEqualTo(MAX);
    }

    /** MR-5.2-2: alpha starts at 1, so the first mark halves and ends slow start. */
    @Test
    void firstMarkHalvesTheWindowOnce() {
        law.reset(100);
        law.onAck(nowNs, 1, 0, RTT_NS);
        law.onAck(nowNs + 1, 1, 1, RTT_NS);
        assertThat(law.windowPackets()).isEqualTo(50);
        assertThat(law.inSlowStart()).isFalse();

        law.onAck(nowNs + RTT_NS / 2, 1, 1, RTT_NS);

        assertThat(law.windowPackets()).as("not again within one RTT").isEqualTo(50);
        law.onAck(nowNs + 1 + RTT_NS, 1, 1, RTT_NS);
        assertThat(law.windowPackets()).as("again after one").isLessThan(30);
    }

    /** MR-5.2-3. */
    @Test
    void afterTheFirstMarkTheWindowGrowsByOnePacketPerRoundTrip() {
        law.reset(100);
        law.onAck(nowNs, 1, 1, RTT_NS);
        nowNs += RTT_NS;
        Rng rng = new Rng(2);

        rounds(40, 0, 0, RTT_NS, rng);

        assertThat(law.windowPackets()).isCloseTo(50 + 40, Offset.offset(1));
    }

    /** MR-5.2-3: per time, long ways grow as much as short ones. */
    @ParameterizedTest
    @CsvSource({"10000,1", "16000,1", "64000,4", "1000000,62", "50000000,64"})
    void longRoundTripsGrowByMorePackets(long rttNs, int packets) {
        law.reset(128);
        Rng rng = new Rng(1);
        law.onFull();
        nowNs += rttNs;
        law.onAck(nowNs, 1, 1, rttNs);
        int before = law.windowPackets();
        assertThat(before).isEqualTo(64);
        round(0, 0, rttNs, rng);

        // Within the round the window grows, and each packet then adds a little less.
        assertThat(law.windowPackets() - before).isBetween((int) (packets * 0.69), packets);
    }

    /** MR-5.2-3: a sender with little to send learns nothing of how much the way takes. */
    @Test
    void aWindowThatIsNotUsedUpDoesNotGrow() {
        law.reset(10);
        rounds(2, 0, 0, RTT_NS, new Rng(2));
        int filled = law.windowPackets();
        // One round more counts: its packets were sent while the window was full.
        for (int i = 0; i < 50; i++) {
            nowNs += RTT_NS;
            law.onAck(nowNs, 5, 0, RTT_NS);
        }
        int idle = law.windowPackets();
        rounds(1, 0, 0, RTT_NS, new Rng(2));

        assertThat(filled).isEqualTo(40);
        assertThat(idle).isBetween(40, 50);
        assertThat(law.windowPackets()).isEqualTo(2 * idle);
    }

    /** MR-5.2-1: with marks in every round alpha goes to the fraction of marked packets. */
    @ParameterizedTest
    @ValueSource(doubles = {0, 0.25, 0.5, 1})
    void alphaConvergesToTheMarkedFraction(double fraction) {
        double expected = 1;
        for (int i = 0; i < 100; i++) {
            nowNs += RTT_NS;
            law.onAck(nowNs, 100, (int) (100 * fraction), RTT_NS);
            if (i > 0) { // the first call only starts the clock of the round
                expected += (fraction - expected) / 16;
            }
            assertThat(law.alpha()).isCloseTo(expected, Offset.offset(0.05));
        }
        assertThat(law.alpha()).isCloseTo(fraction, Offset.offset(0.01));
    }

    /**
     * MR-5.2-1, MR-5.2-2 and MR-5.2-3 together. Every RTT brings one acknowledgement with a share F
     * of marks: it cuts W by W * F / 2 and adds 1 - F for the unmarked packets, so W settles at 2
     * (1 - F) / F, the window law of DCTCP.
     */
    @ParameterizedTest
    @CsvSource({"0.02, 98", "0.05, 38", "0.1, 18", "0.2, 8"})
    void steadyMarksInEveryRoundTripGiveTheDctcpWindow(double fraction, double expected) {
        law.reset(MAX);
        double owed = 0;
        double sum = 0;
        for (int i = 0; i < 3_000; i++) {
            int window = law.windowPackets();
            owed += window * fraction;
            int marked = (int) owed;
            owed -= marked;
            nowNs += RTT_NS;
            law.onFull();
            law.onAck(nowNs, window, marked, RTT_NS);
            sum += i >= 1_000 ? law.windowPackets() + 0.5 : 0; // the fraction is cut off
        }

        assertThat(sum / 2_000).isCloseTo(expected, Offset.offset(0.1 * expected));
    }

    /**
     * MR-5.2-1, MR-5.2-2 and MR-5.2-3 with marks on random packets. The next cut needs a mark after
     * the RTT is over, which takes 1 / (F W) of an RTT more. From W * F / 2 = (1 - F) (1 + 1 / (F
     * W)) follows F W = q + sqrt(q^2 + 2 q) with q = 1 - F.
     */
    @ParameterizedTest
    @ValueSource(doubles = {0.02, 0.05, 0.1, 0.2})
    void steadyMarksOnRandomPacketsGiveTheDctcpWindowWithItsWait(double fraction) {
        law.reset(MAX);
        Rng rng = new Rng(3);
        rounds(600, fraction, 0, RTT_NS, rng);
        double sum = 0;
        for (int i = 0; i < 2_000; i++) {
            round(fraction, 0, RTT_NS, rng);
            sum += law.windowPackets() + 0.5;
        }

        double q = 1 - fraction;
        double expected = (q + Math.sqrt(q * q + 2 * q)) / fraction;
        assertThat(sum / 2_000).isCloseTo(expected, Offset.offset(0.12 * expected));
    }

    /** MR-5.2-3: the floor is one packet, and the way back is open. */
    @Test
    void marksOnEveryPacketLeadToTheFloorAndTheWindowRecovers() {
        law.reset(MAX);
        Rng rng = new Rng(4);

        rounds(30, 1, 0, RTT_NS, rng);
        assertThat(law.windowPackets()).isEqualTo(1);
        assertThat(law.alpha()).isCloseTo(1, Offset.offset(0.001));

        rounds(100, 0, 0, RTT_NS, rng);
        assertThat(law.windowPackets()).isBetween(95, 102);
    }

    /** MR-5.3-1: loss without queues below 25 % is nobody's fault. */
    @ParameterizedTest
    @ValueSource(doubles = {0.001, 0.01, 0.1})
    void randomLossNeverShrinksTheWindow(double loss) {
        law.reset(10);
        Rng rng = new Rng(5);
        int last = law.windowPackets();
        for (int i = 0; i < 3_000; i++) {
            round(0, loss, RTT_NS, rng);
            assertThat(law.windowPackets()).as("round %d", i).isGreaterThanOrEqualTo(last);
            last = law.windowPackets();
        }
        assertThat(last).isEqualTo(MAX);
    }

    /**
     * MR-5.3-2: a small window keeps growing under 10 % loss, although one loss of four packets
     * looks like 25 %.
     */
    @Seeded(cases = 50)
    void smallWindowsAreNotJudgedByChance(long seed) {
        law.reset(4);
        Rng rng = new Rng(seed);

        rounds(12, 0, 0.1, RTT_NS, rng);

        assertThat(law.windowPackets()).isEqualTo(MAX);
    }

    /** MR-5.3-1, the table. The RTT grows from its minimum by the given factor. */
    @ParameterizedTest(name = "{0} % lost, RTT x {1}: window {2}")
    @CsvSource({
        "26, 1.0, 100", // > 25 %: half, queues or not
        "25, 1.0, 200",
        "16, 1.6, 100", // > 15 % with queues: half
        "16, 1.4, 200",
        "15, 1.6, 175", // 5..25 % with queues: an eighth
        "5, 1.6, 175",
        "15, 1.4, 200",
        "4, 1.6, 200",
        "4, 3.0, 200"
    })
    void lossIsJudgedByItsRatioAndTheRoundTripTime(int percent, double growth, int expected) {
        law.reset(400 / 2);
        law.onAck(nowNs, 0, 0, RTT_NS);
        long slowNs = (long) (growth * RTT_NS);
        for (int i = 0; i < 200; i++) { // lets SRTT arrive without a packet acknowledged
            law.onAck(nowNs + i, 0, 0, slowNs);
        }
        law.onFull();
        law.onLoss(nowNs, 2 * percent, 200);

        law.onAck(nowNs + 2 * slowNs, 200 - 2 * percent, 0, slowNs);

        // Slow start grew the window by what was acknowledged, before the verdict.
        int before = Math.min(MAX, 200 + 200 - 2 * percent);
        assertThat(law.windowPackets()).isEqualTo(before * expected / 200);
    }

    /** MR-5.3-1, last line of the table. */
    @ParameterizedTest
    @CsvSource({"2, 2.1, false", "2, 1.9, true", "1, 2.1, true"})
    void littleLossWithLongQueuesEndsSlowStartOnly(int lost, double growth, boolean slowStart) {
        law.reset(20);
        long slowNs = (long) (growth * RTT_NS);
        law.onAck(nowNs, 0, 0, RTT_NS);
        for (int i = 0; i < 200; i++) {
            law.onAck(nowNs + i, 0, 0, slowNs);
        }
        law.onFull();
        law.onLoss(nowNs, lost, 100);

        law.onAck(nowNs + 2 * slowNs, 100 - lost, 0, slowNs);

        assertThat(law.windowPackets()).isEqualTo(120 - lost);
        assertThat(law.inSlowStart()).isEqualTo(slowStart);
    }

    /** Whatever goes beyond the first {@code capacity} packets of a flight is thrown away. */
    private void policed(int rounds, int capacity, Rng rng) {
        for (int i = 0; i < rounds; i++) {
            int before = law.windowPackets();
            round(0, Math.max(0, 1 - (double) capacity / before), RTT_NS, rng);
            assertThat(law.windowPackets()).isGreaterThanOrEqualTo(before / 2);
        }
    }

    /** MR-5.3-4: a limit that throws away without a queue is congestion: cuts lower the loss. */
    @Seeded(cases = 20)
    void lossThatCutsLowerIsCongestion(long seed) {
        law.reset(MAX);
        Rng rng = new Rng(seed);
        policed(20, 50, rng);
        double sum = 0;
        for (int i = 0; i < 400; i++) {
            policed(1, 50, rng);
            sum += law.windowPackets();
        }
        assertThat(sum / 400).isBetween(40.0, 90.0);
    }

    /** MR-5.3-4: a way that loses so much of a small flight as of a large one is a bad way. */
    @Seeded(cases = 20)
    void lossThatCutsDoNotLowerIsTheWaysOwn(long seed) {
        law.reset(MAX);
        Rng rng = new Rng(seed);
        rounds(3, 0, 0.4, RTT_NS, rng);
        double sum = 0;
        for (int i = 0; i < 400; i++) {
            round(0, 0.4, RTT_NS, rng);
            sum += law.windowPackets();
        }
        assertThat(sum / 400).isGreaterThan(0.9 * MAX);
    }

    /** MR-5.3-4: what a way loses without queues is not held against it when there are some. */
    @Seeded(cases = 20)
    void queuesDoNotMakeTheWaysOwnLossCongestion(long seed) {
        law.reset(MAX);
        Rng rng = new Rng(seed);
        rounds(50, 0, 0.1, RTT_NS, rng);
        rounds(50, 0, 0.1, 18 * RTT_NS / 10, rng);
        assertThat(law.windowPackets()).isGreaterThan(MAX / 2);

        rounds(20, 0, 0.4, 18 * RTT_NS / 10, rng);
        assertThat(law.windowPackets()).isLessThan(MAX / 4);
    }

    /** 60 of 200 packets are lost, as it seems; returns the window before. */
    private int cutForLoss() {
        law.reset(200);
        law.onAck(nowNs, 0, 0, RTT_NS);
        law.onLoss(nowNs, 60, 200);
        nowNs += RTT_NS;
        law.onAck(nowNs, 140, 0, RTT_NS);
        assertThat(law.windowPackets()).isEqualTo(100);
        return 200;
    }

    /** MR-5.3-3. */
    @Test
    void aCutForPacketsThatWereOnlyLateIsTakenBack() {
        int before = cutForLoss();
        law.onSpuriousLoss(29);
        assertThat(law.windowPackets()).isEqualTo(100);
        law.onSpuriousLoss(1);
        assertThat(law.windowPackets()).isEqualTo(before);
        law.onSpuriousLoss(60);
        assertThat(law.windowPackets()).isEqualTo(before);
    }

    /** MR-5.3-3: marks say that it was right after all. */
    @Test
    void aCutThatMarksConfirmIsNotTakenBack() {
        cutForLoss();
        nowNs += 2 * RTT_NS;
        law.onAck(nowNs, 1, 1, RTT_NS);
        int after = law.windowPackets();
        law.onSpuriousLoss(60);

        assertThat(law.windowPackets()).isEqualTo(after);
    }

    /** MR-5.3-5. */
    @Test
    void timeoutsThatCameTooEarlyLeaveTheWindowAsItWas() {
        law.reset(100);
        law.onTimeout(nowNs);
        law.onTimeout(nowNs + RTT_NS);
        law.onTimeout(nowNs + 3 * RTT_NS);
        law.onSpuriousTimeout();

        assertThat(law.windowPackets()).isEqualTo(100);
        assertThat(law.inSlowStart()).isTrue();
    }

    /** A flight of 256 loses 30 packets; only 40 were acknowledged when the round ends. */
    @Test
    void lossesAreSetAgainstTheWholeFlight() {
        law.reset(MAX);
        law.onAck(nowNs, 0, 0, RTT_NS);
        law.onLoss(nowNs, 30, 256);

        law.onAck(nowNs + RTT_NS, 40, 0, RTT_NS);

        assertThat(law.windowPackets()).isEqualTo(MAX);
    }

    /** MR-5.4-1. */
    @Test
    void timeoutsHalveThenGoToTwoThenToOneAndSlowStartLeadsBackToHalf() {
        law.reset(100);
        law.onTimeout(nowNs);
        assertThat(law.windowPackets()).isEqualTo(50);
        law.onTimeout(nowNs + RTT_NS);
        assertThat(law.windowPackets()).isEqualTo(2);
        law.onTimeout(nowNs + 3 * RTT_NS);
        assertThat(law.windowPackets()).isEqualTo(1);
        law.onTimeout(nowNs + 7 * RTT_NS);
        assertThat(law.windowPackets()).isEqualTo(1);
        nowNs += 10 * RTT_NS;
        Rng rng = new Rng(7);

        rounds(5, 0, 0, RTT_NS, rng);
        assertThat(law.windowPackets()).isEqualTo(32);
        rounds(1, 0, 0, RTT_NS, rng);
        assertThat(law.windowPackets()).isEqualTo(50);
        rounds(3, 0, 0, RTT_NS, rng);
        assertThat(law.windowPackets()).isBetween(52, 53);
    }

    @Test
    void acknowledgementEndsTheRowOfTimeouts() {
        law.reset(100);
        law.onTimeout(nowNs);
        law.onAck(nowNs, 1, 0, RTT_NS);
        law.onTimeout(nowNs);

        assertThat(law.windowPackets()).isEqualTo(25);
    }

    @Test
    void marksBeyondWhatWasAcknowledgedAreNotBelieved() {
        law.reset(100);
        for (int i = 0; i < 100; i++) {
            nowNs += RTT_NS;
            law.onAck(nowNs, 1, Integer.MAX_VALUE, RTT_NS);
            law.onAck(nowNs, 1, -7, RTT_NS);
        }

        assertThat(law.alpha()).isBetween(0.0, 1.0);
        assertThat(law.windowPackets()).isBetween(1, MAX);
    }

    /** Whatever a peer makes the path believe, the window stays in its range. */
    @Seeded(cases = 50)
    void windowStaysInItsRange(long seed) {
        Rng rng = new Rng(seed);
        int max = 1 + rng.nextInt(300);
        EcnAimd any = new EcnAimd(max);
        for (int i = 0; i < 2_000; i++) {
            nowNs += rng.nextInt(2 * (int) RTT_NS);
            switch (rng.nextInt(5)) {
                case 0 -> any.onLoss(nowNs, rng.nextInt(400), rng.nextInt(400));
                case 1 -> any.onTimeout(nowNs);
                default -> any.onAck(nowNs, rng.nextInt(300), rng.nextInt(), rng.nextLong() >> 40);
            }
            assertThat(any.windowPackets()).isBetween(1, max);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 65_537})
    void largestWindowOutOfRangeIsNamed(int max) {
        assertThatThrownBy(() -> new EcnAimd(max))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("maxPackets " + max);
    }
}
