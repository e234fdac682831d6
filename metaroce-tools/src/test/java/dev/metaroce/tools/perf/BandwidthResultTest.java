package dev.metaroce.tools.perf;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.util.Map;

class BandwidthResultTest {
    private static final Traffic LOCAL =
            Traffic.of(Map.of("data_sent", 90L, "data_resent", 10L, "resent_bytes", 5L), true);
    private static final Traffic REMOTE = Traffic.of(Map.of("data_sent", 100L), true);

    @Test
    @DisplayName("I06: with -b the directions add up to their total, and each adds up by itself")
    void directionsAddUpToTheirTotalAlsoWhenOneEndsEarlier() {
        Sent local = new Sent(1000, 10_000, 0.2);
        Sent remote = new Sent(500, 20_000, 0.1);

        BandwidthResult both = BandwidthResult.of(8, local, LOCAL, remote, REMOTE);

        BandwidthRow total = both.total().figures();
        BandwidthRow sent = both.local().figures();
        BandwidthRow received = both.remote().figures();
        assertThat(total.addsUp() && sent.addsUp() && received.addsUp()).isTrue();
        assertThat(total.iterations()).isEqualTo(1500);
        assertThat(total.bwAverageGbps())
                .isCloseTo(sent.bwAverageGbps() + received.bwAverageGbps(), within(1e-9));
        assertThat(total.msgRateMpps())
                .isCloseTo(sent.msgRateMpps() + received.msgRateMpps(), within(1e-9));
        assertThat(sent.elapsedS()).isEqualTo(total.elapsedS());
        assertThat(sent.activeS()).isEqualTo(10e-6);
        assertThat(received.activeS()).isEqualTo(20e-6);
    }

    @Test
    void packetsOfBothDirectionsAreCountedTogether() {
        Traffic total = LOCAL.plus(REMOTE);

        assertThat(total.dataPackets()).isEqualTo(190);
        assertThat(total.retransmittedPackets()).isEqualTo(10);
        assertThat(total.retransmittedBytes()).isEqualTo(5);
        assertThat(total.retransmittedPercent()).isCloseTo(5, within(1e-9));
        assertThat(total.dataIntact()).isTrue();
    }

    @Test
    void dataIsIntactOnlyWhenItIsAtBothEnds() {
        Traffic wrong = Traffic.of(Map.of(), false);
        Traffic unknown = Traffic.of(Map.of(), null);

        assertThat(LOCAL.plus(wrong).dataIntact()).isFalse();
        assertThat(wrong.plus(LOCAL).dataIntact()).isFalse();
        assertThat(LOCAL.plus(unknown).dataIntact()).isNull();
        assertThat(unknown.retransmittedPercent()).isZero();
    }
}
