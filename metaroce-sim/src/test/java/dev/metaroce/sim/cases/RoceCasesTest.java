package dev.metaroce.sim.cases;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import dev.metaroce.event.CounterId;
import dev.metaroce.sim.ConfigException;
import dev.metaroce.sim.fabric.FabricConfig;
import dev.metaroce.sim.fabric.LinkFaults;
import dev.metaroce.sim.fabric.LossReason;
import dev.metaroce.sim.fabric.Pfc;
import dev.metaroce.util.Rng;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Cases M03, M04 and M10 with RoCEv2. */
class RoceCasesTest {
    private static final int SPINES = 4;

    @Test
    @DisplayName("M03: all RoCEv2 flows finish over a link with errors, no faster with more")
    void m03ErrorsOnOneLink() {
        double before = 0;
        for (double rate : new double[] {0, 1e-4, 1e-3, 1e-2}) {
            Net net =
                    new Net(
                            Net.leafSpine(2, SPINES, 4, Net.RATE, Net.US),
                            RoceFabricTest.roce(FabricConfig.roce(true), false));
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
            assertThat(mean).isGreaterThan(0.999 * before);
            before = mean;
        }
    }

    /**
     * Documented: the switch at the link takes another way at once, but one behind another switch
     * does not know; flows hashed that way stand still until a timer after the repair.
     */
    @Test
    @DisplayName("M04: RoCEv2 flows hashed to a dead link stand still until their timer")
    void m04ALinkGoesDownAndUp() {
        int leaves = 8;
        Net net =
                new Net(
                        Net.leafSpine(leaves, SPINES, 2, 10 * Net.GIGABIT, Net.US),
                        RoceFabricTest.roce(FabricConfig.roce(true), true));
        int hosts = net.topology.hosts();
        for (int i = 0; i < 4 * hosts; i++) {
            int from = i % hosts;
            net.simulation.addFlow(from, (from + 2 * (1 + i / hosts)) % hosts, 5 << 20, 0);
        }
        // Between leaf 1 and spine 2.
        int link = hosts + SPINES + 2;
        net.runUntil(Net.MS);
        long[] sent = sent(net, link);
        assertThat(sent).doesNotContain(0);
        net.simulation.fabric().setDown(Net.MS, link, true);
        net.runUntil(6 * Net.MS);
        assertThat(sent(net, link)).as("nothing goes over a dead link").isEqualTo(sent);
        net.simulation.fabric().setDown(6 * Net.MS, link, false);
        net.runToEnd();

        assertThat(sent(net, link)[0] + sent(net, link)[1]).isGreaterThan(sent[0] + sent[1] + 100);
        assertThat(net.countAll(CounterId.CONNECTIONS_FAILED)).isZero();
        assertThat(net.countAll(CounterId.RTO_FIRED)).isPositive();
        // 4.096 us * 2^14 from the last answer on.
        assertThat(net.lastEndPs()).isGreaterThan(68 * Net.MS);
    }

    private static long[] sent(Net net, int link) {
        return new long[] {net.port(2 * link).txPackets(), net.port(2 * link + 1).txPackets()};
    }

    @Test
    @DisplayName("M10: 1000 RoCEv2 flows into one host behind 8 MB with PFC drop nothing")
    void m10AnIncastIntoALosslessClassDropsNothing() {
        Net net = incast(Pfc.defaults());
        for (int flow = 0; flow < 1_000; flow++) {
            net.simulation.addFlow(flow % 144, 144, 8 * Net.MTU, 0);
        }
        net.runToEnd();

        long pauses = 0;
        for (int port = 0; port < net.simulation.fabric().ports(); port++) {
            pauses += net.port(port).pauses();
        }
        assertThat(net.lost(port -> true)).isZero();
        assertThat(pauses).isPositive();
        assertThat(net.countAll(CounterId.DATA_RESENT)).isZero();
    }

    @Test
    @DisplayName("M10: headroom of one MTU is refused, or what it drops is called a fault")
    void m10HeadroomOfOneMtuIsRefusedOrItsDropsAreFlagged() {
        int mtu = 4_352;
        assertThatThrownBy(() -> incast(Pfc.defaults().withHeadroom(mtu)))
                .isInstanceOf(ConfigException.class)
                .hasMessageContaining("headroom of 4352 bytes is too small")
                .hasMessageContaining("bytes needed");

        Net net = incast(Pfc.defaults().withHeadroom(mtu).unchecked());
        for (int flow = 0; flow < 288; flow++) {
            net.simulation.addFlow(flow % 144, 144, 64 * Net.MTU, 0);
        }
        net.runUntil(5 * Net.MS);
        long dropped = 0;
        for (int port = 0; port < net.simulation.fabric().ports(); port++) {
            dropped += net.port(port).losses(LossReason.LOSSLESS);
        }
        assertThat(dropped).isPositive();
        assertThat(net.simulation.fabric().warnings())
                .anyMatch(warning -> warning.startsWith("lossless class dropped: "));
    }

    private static Net incast(Pfc pfc) {
        FabricConfig fabric =
                FabricConfig.roce(true).toBuilder()
                        .flowControl(pfc)
                        .switchBufferBytes(8_000_000)
                        .build();
        return new Net(Net.star(145, 1, Net.RATE, Net.US), RoceFabricTest.roce(fabric, true));
    }
}
