package dev.metaroce.sim.fabric;

import static dev.metaroce.sim.fabric.FabricRig.GBPS;
import static dev.metaroce.sim.fabric.FabricRig.US;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import dev.metaroce.sim.ConfigException;

import org.junit.jupiter.api.Test;

import java.util.List;

class MarkingTest {
    private static final int BYTES = 1_000;

    /** Two hosts send as much as the link to the third takes; a part of it is marked. */
    private static List<FabricRig.Arrival> burst(Marking marking, long rate, int packetsEach) {
        FabricConfig config =
                FabricConfig.defaults().toBuilder()
                        .marking(marking)
                        .switchBufferBytes(1 << 30)
                        .build();
        FabricRig rig = new FabricRig(FabricRig.star(3, rate, US), config);
        for (int i = 0; i < packetsEach; i++) {
            rig.send(0, 2, BYTES, i);
            rig.send(1, 2, BYTES, i);
        }
        rig.run();
        assertThat(rig.arrivals).hasSize(2 * packetsEach);
        return rig.arrivals;
    }

    private static int firstMarked(List<FabricRig.Arrival> arrivals) {
        for (int i = 0; i < arrivals.size(); i++) {
            if (arrivals.get(i).ce()) {
                return i;
            }
        }
        return -1;
    }

    @Test
    void aStepMarksAllThatFindAsMuchWaitingAndNothingElse() {
        List<FabricRig.Arrival> arrivals = burst(Marking.step(50_000), 100 * GBPS, 200);

        // Of each pair that comes one leaves, so packet n finds n/2, rounded up, waiting.
        assertThat(firstMarked(arrivals)).isEqualTo(99);
        assertThat(arrivals.subList(99, 400)).allMatch(FabricRig.Arrival::ce);
    }

    @Test
    void theThresholdGrowsWithTheRateOfThePortUnlessItIsAbsolute() {
        assertThat(firstMarked(burst(Marking.step(50_000), 400 * GBPS, 600))).isEqualTo(399);
        assertThat(firstMarked(burst(Marking.step(50_000), 25 * GBPS, 600))).isEqualTo(25);
        Marking absolute = new Marking(50_000, 50_000, 1, true);
        assertThat(firstMarked(burst(absolute, 400 * GBPS, 600))).isEqualTo(99);
    }

    @Test
    void betweenTheThresholdsTheProbabilityGrowsInAStraightLine() {
        // The queue grows by one packet in two: from 100 to 300 kB while packets 200..600 come.
        Marking marking = new Marking(100_000, 300_000, 0.5, false);
        int runs = 50;
        double[] marked = new double[4];
        double beyond = 0;
        for (int run = 0; run < runs; run++) {
            FabricConfig config =
                    FabricConfig.defaults().toBuilder()
                            .marking(marking)
                            .switchBufferBytes(1 << 30)
                            .build();
            FabricRig rig = new FabricRig(FabricRig.star(3, 100 * GBPS, US), config, 1_000 + run);
            for (int i = 0; i < 400; i++) {
                rig.send(0, 2, BYTES, i);
                rig.send(1, 2, BYTES, i);
            }
            rig.run();
            for (int quarter = 0; quarter < 4; quarter++) {
                marked[quarter] += marks(rig.arrivals, 200 + quarter * 100, 300 + quarter * 100);
            }
            beyond += marks(rig.arrivals, 610, 800);
            assertThat(marks(rig.arrivals, 0, 200)).isZero();
        }
        int n = runs * 100;
        for (int quarter = 0; quarter < 4; quarter++) {
            double p = 0.5 * (quarter + 0.5) / 4;
            double sigma = Math.sqrt(n * p * (1 - p));
            // A tenth of a quarter more or less, for the packets in flight at its ends.
            double slack = n * 0.5 * 0.005;
            assertThat(marked[quarter]).isCloseTo(n * p, within(4 * sigma + slack));
        }
        assertThat(beyond).isEqualTo(runs * 190.0);
    }

    private static long marks(List<FabricRig.Arrival> arrivals, int from, int to) {
        return arrivals.subList(from, to).stream().filter(FabricRig.Arrival::ce).count();
    }

    /** The thresholds published for 25, 50 and 100 Gb/s are one law in terms of the rate. */
    @Test
    void theThresholdsOfDcqcnGrowWithTheRate() {
        Marking red = Marking.red();

        for (long rate : new long[] {25, 50, 100}) {
            assertThat(red.bytes(red.fromBytes(), rate * GBPS)).isEqualTo(rate * 4_000);
            assertThat(red.bytes(red.allBytes(), rate * GBPS)).isEqualTo(rate * 16_000);
        }
        assertThat(red.probabilityMax()).isEqualTo(0.2);
        // 100 packets of 1 kB wait at 25 Gb/s before any is marked; 400 before all are.
        List<FabricRig.Arrival> arrivals = burst(red, 25 * GBPS, 600);
        assertThat(firstMarked(arrivals)).isGreaterThanOrEqualTo(199);
        assertThat(marks(arrivals, 199, 799)).isBetween(1L, 120L);
        assertThat(arrivals.subList(810, 1_200)).allMatch(FabricRig.Arrival::ce);
    }

    @Test
    void thresholdsInTheWrongOrderAreRefused() {
        assertThatThrownBy(() -> new Marking(2, 1, 1, false))
                .isInstanceOf(ConfigException.class)
                .hasMessage("ECN: thresholds 2 and 1 bytes are not 0 <= Kmin <= Kmax");
        assertThatThrownBy(() -> new Marking(1, 2, 1.5, false))
                .isInstanceOf(ConfigException.class)
                .hasMessage("ECN: Pmax 1.5 is not from 0 to 1");
    }
}
