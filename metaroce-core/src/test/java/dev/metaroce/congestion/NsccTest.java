package dev.metaroce.congestion;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;

/**
 * The law against its closed forms, at its reference network: 100 Gb/s, 12 us, so that a and b are
 * 1, one path, and packets of 1,500 bytes: 100 in one bandwidth-delay product.
 */
class NsccTest {
    private static final long BASE_NS = 12_000;
    private static final long RATE = 100_000_000_000L;
    private static final int PRODUCT = 100;

    private final Nscc law = new Nscc(1_024);
    private long nowNs = Long.MAX_VALUE - 20 * BASE_NS; // times wrap on the way

    NsccTest() {
        start(1);
    }

    private void start(int paths) {
        law.onLine(RATE, 1_500, paths);
        law.reset(10);
        ack(1, 0, BASE_NS);
    }

    private void ack(int packets, int marked, long rttNs) {
        law.onAck(nowNs, packets, marked, rttNs);
    }

    /** One base round trip in which so many packets come back, one by one. */
    private void round(int packets, int marked, long delayNs) {
        for (int i = 0; i < packets; i++) {
            nowNs += BASE_NS / packets;
            ack(1, i < marked ? 1 : 0, BASE_NS + delayNs);
        }
        nowNs += BASE_NS % packets;
    }

    /** Losses, in an epoch that carried enough not to be judged by them. */
    private void shrinkTo(int packets) {
        law.onLoss(nowNs, law.windowPackets() - packets, law.windowPackets());
        ack(PRODUCT, PRODUCT, BASE_NS + BASE_NS / 2);
        nowNs += 2 * BASE_NS;
        ack(1, 1, BASE_NS + BASE_NS / 2);
    }

    /** MR-5.2-8. */
    @Test
    void theFirstRoundTripOpensTheWindowToOneAndAHalfProducts() {
        law.reset(10);
        assertThat(law.windowPackets()).isEqualTo(10);

        ack(1, 0, BASE_NS);

        assertThat(law.windowPackets()).isEqualTo(3 * PRODUCT / 2);
    }

    @Test
    void pathsShareTheProduct() {
        start(10);
        assertThat(law.windowPackets()).isEqualTo(3 * PRODUCT / 20);
        start(1_000);
        assertThat(law.windowPackets()).isEqualTo(1);
    }

    @Test
    void aShorterRoundTripIsTheNewBase() {
        ack(1, 0, BASE_NS / 2);

        assertThat(law.windowPackets()).isEqualTo(3 * PRODUCT / 4);
    }

    @Test
    void theLargestWindowHoldsWhateverTheProduct() {
        Nscc small = new Nscc(64);
        small.onLine(RATE, 1_500, 1);
        small.reset(10);
        small.onAck(nowNs, 1, 0, BASE_NS);

        assertThat(small.windowPackets()).isEqualTo(64);
    }

    /** MR-5.2-9: Each round: 4 (target - delay) / target from all packets, and eta 0.15. */
    @Test
    void withoutMarksAndBelowTheTargetItGrowsByWhatIsLeftToTheTarget() {
        shrinkTo(50);
        int before = law.windowPackets();
        for (int i = 0; i < 10; i++) {
            round(law.windowPackets(), 0, BASE_NS / 4);
        }

        assertThat(law.windowPackets())
                .isCloseTo(before + (int) (10 * (0.75 * 4 + 0.15)), Offset.offset(2));
    }

    /** Each round: fi, 5, from all packets, and eta 0.15. */
    @Test
    void withoutMarksAndAboveTheTargetItGrowsAsFastAsAllOthers() {
        shrinkTo(50);
        int before = law.windowPackets();
        for (int i = 0; i < 10; i++) {
            round(law.windowPackets(), 0, 2 * BASE_NS);
        }

        assertThat(law.windowPackets()).isCloseTo(before + (int) (10 * 5.15), Offset.offset(2));
    }

    @Test
    void marksBelowTheTargetChangeNothingButEta() {
        shrinkTo(50);
        int before = law.windowPackets();
        round(50, 50, BASE_NS / 2);

        assertThat(law.windowPackets()).isBetween(before, before + 1);
    }

    /** MR-5.2-11: The smoothed delay needs 1 / 0.0125 packets, then it is near three targets. */
    @Test
    void marksAboveTheTargetCutByTheSmoothedDelayOncePerRoundTrip() {
        for (int i = 0; i < 6; i++) {
            round(PRODUCT, 0, 3 * BASE_NS);
        }
        nowNs += BASE_NS;
        int before = law.windowPackets();
        ack(1, 1, 4 * BASE_NS);

        // 1 - 0.8 * (3 - 1) / 3 = 0.467 is below the floor of a half.
        assertThat(law.windowPackets()).isEqualTo(before / 2);
        ack(20, 20, 4 * BASE_NS);
        assertThat(law.windowPackets()).isBetween(before / 2, before / 2 + 1);
        nowNs += BASE_NS;
        ack(1, 1, 4 * BASE_NS);
        assertThat(law.windowPackets()).isBetween(before / 4, before / 4 + 1);
    }

    /** MR-5.2-10: After a whole window without delay every packet adds a quarter of one. */
    @Test
    void aWindowWithoutAnyDelayLeadsToFastIncrease() {
        shrinkTo(40);
        int before = law.windowPackets();
        round(before, 0, 500);
        int after = law.windowPackets();
        assertThat(after).isLessThanOrEqualTo(before + 5);

        round(40, 0, 500);

        assertThat(law.windowPackets()).isBetween(after + 9, after + 11);
    }

    /** MR-5.2-12. */
    @Test
    void aLossTakesItselfAway() {
        law.onLoss(nowNs, 3, 100);

        assertThat(law.windowPackets()).isEqualTo(3 * PRODUCT / 2 - 3);
        law.onLoss(nowNs, 1_000, 1_000);
        assertThat(law.windowPackets()).isEqualTo(1);
    }

    @Test
    void aTimeOutLeavesOnePacket() {
        law.onTimeout(nowNs);

        assertThat(law.windowPackets()).isEqualTo(1);
    }

    /** MR-5.2-13: An epoch of base and target carried 6 packets, less than an eighth of 150. */
    @Test
    void withLossesAWindowThatCarriesNearlyNothingBecomesWhatItCarries() {
        nowNs += 2 * BASE_NS;
        ack(1, 1, BASE_NS + BASE_NS / 2);
        law.onLoss(nowNs, 1, 150);
        ack(5, 5, BASE_NS + BASE_NS / 2);
        nowNs += 2 * BASE_NS;
        ack(1, 1, BASE_NS + BASE_NS / 2);

        assertThat(law.windowPackets()).isEqualTo(6);

        // What was in flight says nothing of the new window.
        ack(100, 0, 2 * BASE_NS);
        assertThat(law.windowPackets()).isEqualTo(6);
    }

    @Test
    void whatAPeerInventsDoesNotHurt() {
        ack(1, 1_000_000, Long.MAX_VALUE / 2);
        ack(0, -5, -1);
        ack(5, -5, 0);

        assertThat(law.windowPackets()).isBetween(1, 3 * PRODUCT / 2);
    }

    @Test
    void aMaximumOutOfRangeIsRefused() {
        assertThatThrownBy(() -> new Nscc(0)).isInstanceOf(IllegalArgumentException.class);
    }
}
