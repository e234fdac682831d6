package dev.metaroce.sim.cases;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.metaroce.event.CounterId;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Case M12: several planes, and one that is switched off and on again. */
class PlaneCasesTest {
    private static final int HOSTS = 4;
    private static final long ROUND_TRIP_PS = 5 * Net.US;

    private static Net allToAll(int planes, long bytes) {
        Net net =
                new Net(
                        1,
                        Net.star(HOSTS, planes, Net.RATE, Net.US),
                        Net.limits().inboundRateBitsPerSecond(planes * Net.RATE).build());
        for (int from = 0; from < HOSTS; from++) {
            for (int to = 0; to < HOSTS; to++) {
                if (from != to) {
                    net.simulation.addFlow(from, to, bytes, 0);
                }
            }
        }
        return net;
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 4, 8})
    @DisplayName("M12: an all-to-all over planes is as many times as fast, within 5 %")
    void m12PlanesAddUp(int planes) {
        long bytes = 32 << 20;
        long onePs = allToAll(1, bytes).runToEnd().lastEndPs();
        long manyPs = allToAll(planes, bytes).runToEnd().lastEndPs();

        assertThat((double) onePs / manyPs / planes).isCloseTo(1, within(0.05));
    }

    @Test
    @DisplayName(
            "M12: three of four planes give 70 % after 20 round trips, all four 95 % after 100")
    void m12APlaneGoesOffAndOn() {
        Net net = allToAll(4, 1L << 31);
        net.runUntil(Net.MS / 2);
        double all = rate(net, Net.MS / 2);
        plane(net, 2, true);
        net.runUntil(Net.MS + 20 * ROUND_TRIP_PS);
        for (int i = 0; i < 7; i++) {
            assertThat(rate(net, Net.MS / 2) / all).isBetween(0.70, 0.76);
        }
        net.runUntil(5 * Net.MS);
        plane(net, 2, false);
        net.runUntil(5 * Net.MS + 100 * ROUND_TRIP_PS);
        for (int i = 0; i < 4; i++) {
            assertThat(rate(net, Net.MS / 4) / all).isGreaterThan(0.95);
        }

        assertThat(net.flows.failed()).isZero();
        assertThat(net.countAll(CounterId.CONNECTIONS_FAILED)).isZero();
    }

    private static void plane(Net net, int plane, boolean down) {
        for (int host = 0; host < HOSTS; host++) {
            net.simulation.fabric().setDown(net.simulation.nowPs(), plane * HOSTS + host, down);
        }
    }

    private static double rate(Net net, long spanPs) {
        long before = net.countAll(CounterId.PAYLOAD_BYTES);
        long fromPs = net.simulation.nowPs();
        net.runUntil(fromPs + spanPs);
        return (double) (net.countAll(CounterId.PAYLOAD_BYTES) - before) / spanPs;
    }
}
