package dev.metaroce.sim.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import dev.metaroce.sim.ConfigException;
import dev.metaroce.sim.fabric.FabricConfig;
import dev.metaroce.sim.topology.Topology;

import org.junit.jupiter.api.Test;

class NicModelTest {
    private static final long RATE = 100_000_000_000L;
    private static final long NS = 1_000;
    private static final long US = 1_000_000;

    /** One flow from each of some senders to the last host; returns when all have ended. */
    private static Simulation incast(int senders, long bytes, NicModel nic) {
        Topology.Builder builder = Topology.builder("star", senders + 1, 1);
        int hub = builder.addSwitch("hub", 1, 0);
        for (int host = 0; host <= senders; host++) {
            builder.addLink(host, hub, RATE, US, 0);
        }
        SimConfig config = new SimConfig(1, SimConfig.limits(RATE), FabricConfig.defaults(), nic);
        Simulation simulation = new Simulation(config, builder.build());
        for (int sender = 0; sender < senders; sender++) {
            simulation.addFlow(sender, senders, bytes, 0);
        }
        while (simulation.flows().ended() < senders && simulation.run(10_000)) {}
        assertThat(simulation.flows().ended()).isEqualTo(senders);
        assertThat(simulation.flows().failed()).isZero();
        return simulation;
    }

    private static long lastEndPs(Simulation simulation) {
        long last = 0;
        for (int flow = 0; flow < simulation.flows().count(); flow++) {
            last = Math.max(last, simulation.flows().endPs(flow));
        }
        return last;
    }

    @Test
    void aPacketTakesTheTimeOfBothNicsAndBothBuses() {
        long plain = lastEndPs(incast(1, 64, NicModel.NONE));
        long slow = lastEndPs(incast(1, 64, new NicModel(100 * NS, 50 * NS, 700 * NS, 0, 0)));

        // Request, grant, data, acknowledgement.
        assertThat(slow - plain).isEqualTo(4 * (100 + 50 + 2 * 700) * NS);
    }

    @Test
    void aNicThatIsSlowPerPacketBoundsTheRate() {
        long bytes = 40_960_000;
        long receiver = lastEndPs(incast(1, bytes, new NicModel(US, 0, 0, 0, 0)));
        long sender = lastEndPs(incast(1, bytes, new NicModel(0, US, 0, 0, 0)));

        // 10,000 packets of a microsecond each; answers are received by the other side.
        assertThat((double) sender).isCloseTo(10_000.0 * US, within(200.0 * US));
        assertThat((double) receiver).isCloseTo(10_000.0 * US, within(300.0 * US));
    }

    @Test
    void aNicAsFastAsItsLinkSendsAsFastAsOneWithoutAModel() {
        long bytes = 40_960_000;
        long plain = lastEndPs(incast(1, bytes, NicModel.NONE));
        long quick = lastEndPs(incast(1, bytes, new NicModel(0, 0, NS, 0, 0)));

        assertThat((double) quick).isCloseTo(plain, within(plain * 0.02));
    }

    @Test
    void contextsBeyondWhatTheNicHoldsCostTime() {
        NicModel nic = new NicModel(0, 0, 0, 64, 500 * NS);
        long perSender = 65_536;
        Simulation few = incast(32, perSender, nic);
        Simulation many = incast(128, perSender, nic);

        assertThat(few.contextMisses(32)).isEqualTo(32);
        assertThat(few.contextHits(32)).isGreaterThan(16 * 32 - 33);
        assertThat(many.contextMisses(128)).isGreaterThan(128 * 4);
        double fewPerSender = lastEndPs(few) / 32.0;
        double manyPerSender = lastEndPs(many) / 128.0;
        assertThat(manyPerSender).isGreaterThan(1.2 * fewPerSender);
    }

    @Test
    void leasedContextsFitWhateverTheNumberOfSenders() {
        Simulation simulation = incast(600, 16_384, new NicModel(0, 0, 0, 256, 500 * NS));

        assertThat(simulation.contextMisses(600)).isLessThanOrEqualTo(256);
        assertThat(simulation.contextHits(600)).isGreaterThan(600);
    }

    @Test
    void negativeTimesAreRefused() {
        assertThatThrownBy(() -> new NicModel(0, -1, 0, 0, 0))
                .isInstanceOf(ConfigException.class)
                .hasMessageStartingWith("NIC: rx 0 ps, tx -1 ps");
    }
}
