package dev.metaroce.tools.perf;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.metaroce.util.Rng;

import org.junit.jupiter.api.Test;

import java.util.Arrays;

class LatencyMeterTest {
    @Test
    void figuresAreHalfRoundTripsAndMatchPlainArithmetic() {
        Rng rng = new Rng(0xC0FFEE);
        long[] ns = new long[5000];
        LatencyMeter meter = new LatencyMeter(LatencyMeter.HALF);
        for (int i = 0; i < ns.length; i++) {
            ns[i] = 10_000 + rng.nextInt(50_000);
            meter.onRoundTrip(ns[i]);
        }

        LatencyRow row = meter.row(8, 1, Percentile.DEFAULT);

        Arrays.sort(ns);
        double mean = Arrays.stream(ns).average().orElseThrow();
        double variance =
                Arrays.stream(ns).mapToDouble(x -> (x - mean) * (x - mean)).sum() / (ns.length - 1);
        assertThat(row.tMinUs()).isEqualTo(ns[0] / 2e3);
        assertThat(row.tMaxUs()).isEqualTo(ns[ns.length - 1] / 2e3);
        assertThat(row.tAvgUs()).isCloseTo(mean / 2e3, within(1e-6));
        assertThat(row.tStdevUs()).isCloseTo(Math.sqrt(variance) / 2e3, within(1e-6));
        assertThat(row.tTypicalUs()).isCloseTo(ns[2500] / 2e3, within(ns[2500] / 2e3 * 0.002));
        assertThat(row.tP99Us()).isCloseTo(ns[4950] / 2e3, within(ns[4950] / 2e3 * 0.002));
        assertThat(row.addsUp()).isTrue();
    }

    @Test
    void jitterBelowAMicrosecondIsNotTruncatedAway() {
        LatencyMeter meter = new LatencyMeter(LatencyMeter.HALF);
        for (int i = 0; i < 100; i++) {
            meter.onRoundTrip(i % 2 == 0 ? 10_000 : 10_400);
        }

        // perftest would print 0.00: it drops the fraction of a microsecond of every difference.
        assertThat(meter.row(8, 1, Percentile.DEFAULT).tStdevUs()).isCloseTo(0.1, within(0.001));
    }

    @Test
    void oneRoundTripHasNoDeviationAndNoneHasNoFigures() {
        LatencyMeter one = new LatencyMeter(LatencyMeter.HALF);
        one.onRoundTrip(7000);

        assertThat(one.row(8, 1, Percentile.DEFAULT).tTypicalUs()).isEqualTo(3.5);
        assertThat(one.row(8, 1, Percentile.DEFAULT).tStdevUs()).isNaN();
        assertThat(new LatencyMeter(LatencyMeter.HALF).row(8, 1, Percentile.DEFAULT).tAvgUs())
                .isNaN();
    }
}
