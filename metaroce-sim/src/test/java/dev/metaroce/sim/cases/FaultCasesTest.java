package dev.metaroce.sim.cases;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.metaroce.event.CounterId;
import dev.metaroce.sim.fabric.LinkFaults;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.util.Rng;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Cases M03 and M04: a link between a leaf and a spine that loses packets, or goes down. */
class FaultCasesTest {
    private static final int LEAVES = 8;
    private static final int SPINES = 4;

    @Test
    @DisplayName("M03: all flows finish over a link with errors, no faster with more of them")
    void m03ErrorsOnOneLink() {
        double before = 0;
        for (double rate : new double[] {0, 1e-4, 1e-3, 1e-2}) {
            Net net = new Net(5, Net.leafSpine(2, SPINES, 4, Net.RATE, Net.US), limits(Net.RATE));
            for (int flow = 0; flow < 16; flow++) {
                net.simulation.addFlow(flow % 4, 4 + flow / 4, 4 << 20, 0);
            }
            // From leaf 0 to spine 0.
            int port = 2 * net.topology.hosts();
            net.simulation.fabric().fault(port, LinkFaults.Rates.ofLoss(rate), new Rng(3));
            net.runToEnd();

            double mean = 0;
            for (int flow = 0; flow < 16; flow++) {
                mean += net.durationPs(flow) / 16.0;
            }
            double sent = net.port(port).txPackets();
            double sigma = Math.sqrt(sent * rate * (1 - rate));
            assertThat(sent).isGreaterThan(2_000);
            assertThat((double) net.port(port).lost()).isCloseTo(sent * rate, within(4 * sigma));
            // Which flow meets which in a queue is chance: a thousandth.
            assertThat(mean).isGreaterThan(0.999 * before);
            before = mean;
        }
    }

    @Test
    @DisplayName("M04: a link that goes down for 5 ms carries nothing then, and is used again")
    void m04ALinkGoesDownAndUp() {
        long rate = 10 * Net.GIGABIT;
        Net net = spread(2, 16, 10 << 20, rate);
        // Between leaf 1 and spine 2.
        int link = net.topology.hosts() + SPINES + 2;
        net.runUntil(Net.MS);
        long[] sent = sent(net, link);
        assertThat(sent).doesNotContain(0);
        net.simulation.fabric().setDown(Net.MS, link, true);
        net.runUntil(6 * Net.MS);
        assertThat(sent(net, link)).isEqualTo(sent);
        assertThat(net.flows.ended()).isZero();
        net.simulation.fabric().setDown(6 * Net.MS, link, false);
        net.runToEnd();

        for (int i = 0; i < 2; i++) {
            assertThat(sent(net, link)[i]).isGreaterThan(sent[i] + 100);
        }
        assertThat(net.countAll(CounterId.CONNECTIONS_FAILED)).isZero();
    }

    private static long[] sent(Net net, int link) {
        return new long[] {net.port(2 * link).txPackets(), net.port(2 * link + 1).txPackets()};
    }

    private static DeviceLimits limits(long rate) {
        return Net.limits().inboundRateBitsPerSecond(rate).build();
    }

    /** Flows between hosts of different leaves. */
    private static Net spread(int perLeaf, int flows, long bytes, long rate) {
        Net net = new Net(5, Net.leafSpine(LEAVES, SPINES, perLeaf, rate, Net.US), limits(rate));
        int hosts = net.topology.hosts();
        for (int i = 0; i < flows; i++) {
            int to = (i * hosts / flows + hosts / 2) % hosts;
            net.simulation.addFlow(i * hosts / flows, to, bytes, 0);
        }
        return net;
    }
}
