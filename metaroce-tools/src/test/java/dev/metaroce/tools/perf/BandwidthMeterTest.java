package dev.metaroce.tools.perf;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import org.junit.jupiter.api.Test;

class BandwidthMeterTest {
    @Test
    void averageRunsFromTheFirstPostToTheLastCompletion() {
        BandwidthMeter meter = new BandwidthMeter(4);
        for (int i = 0; i < 4; i++) {
            meter.onPosts(1, 1000);
        }
        for (int i = 1; i <= 4; i++) {
            meter.onCompletions(1, 1000 + i * 500);
        }

        BandwidthRow row = BandwidthRow.of(1000, Sent.of(meter), 2000);

        // 4000 bytes in 2000 ns are 2 GB/s.
        assertThat(row.bwAverageGbps()).isCloseTo(16, within(1e-9));
        assertThat(row.bwAverageMibS()).isCloseTo(2e9 / (1 << 20), within(1e-6));
        assertThat(row.msgRateMpps()).isCloseTo(2, within(1e-9));
        assertThat(row.iterations()).isEqualTo(4);
        assertThat(row.elapsedS()).isCloseTo(2e-6, within(1e-15));
        assertThat(row.addsUp()).isTrue();
    }

    @Test
    void peakIsTheBestWindowAndNeverFasterThanThePostsAllow() {
        // Depth 2; the second half runs four times as fast as the first.
        //   post        0    0   100   200   225   250
        //   completion      100  200   225   250   275   300
        BandwidthMeter meter = new BandwidthMeter(6);
        long[] posts = {0, 0, 100, 200, 225, 250};
        long[] ends = {100, 200, 225, 250, 275, 300};
        for (int i = 0; i < 6; i++) {
            meter.onPosts(1, posts[i]);
        }
        for (int i = 0; i < 6; i++) {
            meter.onCompletions(1, ends[i]);
        }

        // Windows of 1: 50 ns each at the end; of 2: 250-100=150, 275-200=75 (k=3), 300-225=75;
        // of 4: 275-0=275... (k=2: 300-100=200). Best: 2 messages in 75 ns.
        assertThat(meter.peakMessagesPerNs()).isCloseTo(2 / 75.0, within(1e-12));
    }

    @Test
    void aRunWithoutTimesTakesItsPeakFromWholeSlices() {
        BandwidthMeter meter = new BandwidthMeter(0);
        long now = 0;
        meter.onPosts(1, 0);
        for (int i = 0; i < 1000; i++) { // 20 ms of one message per 20 us
            now += 20_000;
            meter.onPosts(1, now);
            meter.onCompletions(1, now);
        }
        for (int i = 0; i < 1000; i++) { // 10 ms of one message per 10 us
            now += 10_000;
            meter.onPosts(1, now);
            meter.onCompletions(1, now);
        }

        assertThat(meter.peakMessagesPerNs()).isCloseTo(1 / 10_000.0, within(1e-7));
    }

    @Test
    void peakOfALongRunDoesNotFallBelowItsAverage() {
        BandwidthMeter meter = new BandwidthMeter(0);
        meter.onPosts(1, 0);
        meter.onCompletions(1, 10);

        assertThat(meter.peakMessagesPerNs()).isEqualTo(0.1);
    }

    @Test
    void figuresThatContradictEachOtherAreNoticed() {
        BandwidthRow row =
                new BandwidthRow(1000, 4, 2e-6, 2e-6, 16, 16, 2e9 / (1 << 20), 2e9 / (1 << 20), 3);

        assertThat(row.addsUp()).isFalse();
    }

    @Test
    void depthShrinksForHugeMessagesOnly() {
        Posting usual = Posting.ofDepth(128);

        assertThat(usual.fitting(65_536)).isEqualTo(usual);
        assertThat(usual.fitting(8L << 20).depth()).isEqualTo(32);
        assertThat(usual.fitting(1L << 31).depth()).isEqualTo(2);
        assertThat(Posting.ofDepth(1).fitting(1L << 31).depth()).isEqualTo(1);
        assertThat(new Posting(128, 64, 100).fitting(1L << 31)).isEqualTo(new Posting(2, 2, 2));
    }
}
