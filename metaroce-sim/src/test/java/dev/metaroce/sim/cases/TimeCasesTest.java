package dev.metaroce.sim.cases;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.metaroce.sim.ConfigException;
import dev.metaroce.sim.topology.TopologySpec;
import dev.metaroce.transport.DeviceLimits;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Case M09: times and rates far from the usual, to the picosecond. */
class TimeCasesTest {
    /** A single packet of 64 bytes there, and its ACK back. */
    private static final int THERE_AND_BACK_BYTES = 64 + Net.DATA_OVERHEAD + Net.ACK_BYTES;

    /** Engines that wait for a way of any length, and ask for nothing twice on the way. */
    private static DeviceLimits patient() {
        long years = Long.MAX_VALUE / 16;
        return Net.withoutHints()
                .giveUpNs(years)
                .silenceNs(years)
                .lingerNs(years)
                .rtoFloorNs(years)
                .build();
    }

    @ParameterizedTest
    @ValueSource(longs = {2_200, 4_400, 5_000_000, 1_000_000_000})
    @DisplayName("M09: a flow after an idle gap of up to 10^6 s takes as long as the first")
    void m09AFlowAfterALongGap(long gapMs) {
        Net net = new Net(1, Net.chain(2, Net.RATE, Net.US), Net.limits().build());
        long firstPs = net.timePs(0, 1, 1 << 20);
        long againPs = net.simulation.nowPs() + gapMs * Net.MS;
        int second = net.simulation.addFlow(0, 1, 1 << 20, againPs);
        net.runToEnd();

        assertThat(net.flows.startPs(second)).isEqualTo(againPs);
        // Packets choose their paths by round trips measured meanwhile, and the last ones differ.
        long differencePs = net.flows.endPs(second) - againPs - firstPs;
        assertThat(differencePs).isBetween(-10 * Net.NS, 10 * Net.NS);
    }

    @Test
    @DisplayName("M09: over a link of 10 s a lease takes one round trip and each flow another")
    void m09ALinkOfTenSeconds() {
        Net net = new Net(1, Net.chain(1, Net.RATE, 10 * Net.SECOND), patient());

        assertThat(net.timePs(0, 1, 64)).isBetween(40 * Net.SECOND, 40 * Net.SECOND + Net.US);
        assertThat(net.timePs(0, 1, 64))
                .isEqualTo(20 * Net.SECOND + Net.wirePs(THERE_AND_BACK_BYTES));
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 7, 1_000, 999_999_937, 1_600_000_000_000L})
    @DisplayName("M09: links of 1 b/s to 1.6 Tb/s are exact")
    void m09RatesFromOneBit(long rate) {
        Net net = new Net(1, Net.chain(1, rate, 0), patient());
        net.timePs(0, 1, 64);
        int flows = 5;
        long tookPs = 0;
        for (int i = 0; i < flows; i++) {
            tookPs += net.timePs(0, 1, 64);
        }

        // What is rounded off is carried from packet to packet, in each direction.
        long bits = 8L * THERE_AND_BACK_BYTES * flows;
        long exactPs = Math.multiplyExact(bits, Net.SECOND) / rate;
        assertThat(tookPs).isBetween(exactPs - 2, exactPs + 2);
    }

    @Test
    @DisplayName("M09: what is out of range is refused before anything runs")
    void m09OutOfRange() {
        TopologySpec.Builder pair = TopologySpec.builder(TopologySpec.Kind.PAIR);
        assertThatThrownBy(() -> pair.delayPs(1_001 * Net.SECOND).build())
                .isInstanceOf(ConfigException.class)
                .hasMessageContaining("link-delay 1001000000000000");
        assertThatThrownBy(() -> pair.delayPs(0).hostRate(1_600_000_000_001L).build())
                .isInstanceOf(ConfigException.class)
                .hasMessageContaining("host-rate 1600000000001");

        Net net = new Net(1, Net.chain(1, Net.RATE, Net.US), patient());
        for (long atPs : new long[] {-1, Long.MAX_VALUE}) {
            assertThatThrownBy(() -> net.simulation.addFlow(0, 1, 64, atPs))
                    .isInstanceOf(ConfigException.class)
                    .hasMessageContaining(Long.toString(atPs));
        }
    }
}
