package dev.metaroce.sim.fabric;

import static dev.metaroce.sim.fabric.FabricRig.GBPS;
import static dev.metaroce.sim.fabric.FabricRig.US;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.metaroce.sim.topology.Topology;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.math.BigInteger;

class StoreAndForwardTest {
    private static final long SECOND = 1_000_000_000_000L;
    private static final long NS = 1_000;

    /** Two hosts with switches between them, each link of its own rate and delay. */
    private static FabricRig chain(long[] rates, long[] delaysPs) {
        Topology.Builder builder = Topology.builder("chain", 2, 1);
        int from = 0;
        for (int i = 0; i < rates.length; i++) {
            int to = i == rates.length - 1 ? 1 : builder.addSwitch("s" + i, 1, 0);
            builder.addLink(from, to, rates[i], delaysPs[i], 0);
            from = to;
        }
        FabricConfig config =
                FabricConfig.defaults().toBuilder().switchBufferBytes(1L << 40).build();
        return new FabricRig(builder.build(), config);
    }

    private static long serializationPs(long packets, int bytes, long rate) {
        return BigInteger.valueOf(8L * bytes * packets)
                .multiply(BigInteger.valueOf(SECOND))
                .divide(BigInteger.valueOf(rate))
                .longValueExact();
    }

    @ParameterizedTest
    @ValueSource(ints = {67, 576, 1_500, 4_162, 65_535})
    void aPacketTakesTheSumOfItsLinksToTheNanosecond(int bytes) {
        long[] rates = {100 * GBPS, 3 * GBPS, 7 * GBPS / 3, 1_600 * GBPS, 1_000_003};
        long[] delaysPs = {US, 0, 1, 123_456_789, 10 * SECOND};
        FabricRig rig = chain(rates, delaysPs);
        rig.send(0, 1, bytes, 0);
        rig.run();

        long expected = 0;
        for (int i = 0; i < rates.length; i++) {
            expected += serializationPs(1, bytes, rates[i]) + delaysPs[i];
        }
        assertThat(rig.arrivals).hasSize(1);
        assertThat(rig.arrivals.getFirst().atPs()).isCloseTo(expected, within(NS));
    }

    @Test
    @DisplayName("M09: times are exact at 1 b/s, at 1.6 Tb/s, over 10 s of cable and after idling")
    void m09_timesAreExactAtExtremes() {
        int bytes = 1_500;
        for (long rate : new long[] {1, 3, 1_600 * GBPS, 3 * GBPS}) {
            FabricRig rig = chain(new long[] {rate, rate}, new long[] {10 * SECOND, 10 * SECOND});
            long onePs = 2 * serializationPs(1, bytes, rate) + 20 * SECOND;
            long startPs = 0;
            for (long gap : new long[] {0, 2_200, 4_400, 5_000_000, 1_000_000_000}) {
                startPs = rig.nowPs() + gap * SECOND / 1_000;
                rig.runUntil(startPs);
                rig.send(0, 1, bytes, 0);
                rig.run();
                assertThat(rig.arrivals.getLast().atPs() - startPs).isCloseTo(onePs, within(NS));
            }
            assertThat(rig.arrivals).hasSize(5);
        }
    }

    @Test
    void whatIsRoundedOffIsNotLostOverManyPackets() {
        for (long rate : new long[] {3 * GBPS, 7 * GBPS, 999_999_999_937L}) {
            FabricRig rig = chain(new long[] {rate}, new long[] {US});
            int packets = 100_000;
            for (int i = 0; i < packets; i++) {
                rig.send(0, 1, 4_162, 0);
            }
            rig.run();
            assertThat(rig.arrivals.getLast().atPs())
                    .isEqualTo(serializationPs(packets, 4_162, rate) + US);
        }
    }
}
