package dev.metaroce.sim.run;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

import java.util.stream.IntStream;

class DistributionTest {
    @Test
    void percentilesAreValuesThatOccurred() {
        Distribution d = Distribution.of(IntStream.rangeClosed(1, 200).asDoubleStream().toArray());

        assertThat(d).isEqualTo(new Distribution(1, 100.5, 100, 198, 200));
    }

    @Test
    void ofOneValueAllIsThatValue() {
        assertThat(Distribution.of(new double[] {7})).isEqualTo(new Distribution(7, 7, 7, 7, 7));
    }

    @Test
    void orderDoesNotMatter() {
        assertThat(Distribution.of(new double[] {3, 1, 2}))
                .isEqualTo(new Distribution(1, 2, 2, 3, 3));
    }

    @Test
    void withoutValuesThereIsNothing() {
        assertThat(Distribution.of(new double[0]).mean()).isNaN();
        assertThat(Distribution.of(new double[0]).max()).isNaN();
    }
}
