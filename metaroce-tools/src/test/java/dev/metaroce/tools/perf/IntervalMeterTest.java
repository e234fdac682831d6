package dev.metaroce.tools.perf;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;

class IntervalMeterTest {
    private final List<Interval> heard = new ArrayList<>();
    private long resent;
    private final IntervalMeter meter = new IntervalMeter(1000, 100, () -> resent, heard::add);

    @Test
    void intervalsFollowEachOtherAndAddUpToTheRow() {
        meter.begin(50);
        meter.onTurn(900, 5);
        meter.onTurn(1050, 10);
        resent = 3;
        meter.onTurn(2100, 12);
        meter.end(2500, 20);

        assertThat(heard).extracting(Interval::iterations).containsExactly(10L, 2L, 8L);
        assertThat(heard).extracting(Interval::bytes).containsExactly(1000L, 200L, 800L);
        assertThat(heard).extracting(Interval::retransmittedPackets).containsExactly(0L, 3L, 0L);
        assertThat(heard).extracting(Interval::fromS).containsExactly(0.0, 1e-6, 2.05e-6);
        assertThat(heard).extracting(Interval::toS).containsExactly(1e-6, 2.05e-6, 2.45e-6);
        // 1000 bytes in 1000 ns are 8 Gb/s; 10 messages in a microsecond are 10 M/s.
        assertThat(heard.getFirst().bwGbps()).isCloseTo(8, within(1e-9));
        assertThat(heard.getFirst().bwMibS()).isCloseTo(1e9 / (1 << 20), within(1e-6));
        assertThat(heard.getFirst().msgRateMpps()).isCloseTo(10, within(1e-9));
    }

    @Test
    void aStandstillIsAnIntervalToo() {
        meter.begin(0);
        meter.onTurn(1000, 7);
        meter.onTurn(2000, 7);
        meter.end(2100, 7);

        assertThat(heard).extracting(Interval::iterations).containsExactly(7L, 0L);
    }
}
