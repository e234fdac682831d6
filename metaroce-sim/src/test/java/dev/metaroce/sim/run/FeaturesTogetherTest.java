package dev.metaroce.sim.run;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.CounterId;
import dev.metaroce.sim.fabric.Credits;
import dev.metaroce.sim.fabric.FabricConfig;
import dev.metaroce.sim.fabric.FlowControl;
import dev.metaroce.sim.fabric.LinkChange;
import dev.metaroce.sim.fabric.LinkFaults;
import dev.metaroce.sim.fabric.LossReason;
import dev.metaroce.sim.fabric.Marking;
import dev.metaroce.sim.fabric.Pfc;
import dev.metaroce.sim.fabric.TrafficClass;
import dev.metaroce.sim.topology.Topologies;
import dev.metaroce.sim.topology.TopologySpec;
import dev.metaroce.util.Rng;

import org.junit.jupiter.api.Test;

import java.util.List;

/**
 * All that a fabric can do to packets, at once: every transfer is whole, and every run the same.
 */
class FeaturesTogetherTest {
    private static final int HOSTS = 16;
    private static final long BYTES = 300_000;
    private static final long US = 1_000_000;

    private static Simulation run(TrafficClass data, FlowControl flowControl) {
        FabricConfig fabric =
                FabricConfig.defaults().toBuilder()
                        .classes(TrafficClass.strict(TrafficClass.CONTROL), data)
                        .flowControl(flowControl)
                        .marking(new Marking(20_000, 80_000, 0.2, false))
                        .switchBufferBytes(400_000)
                        .adaptiveRouting(true)
                        .trimming(true)
                        .build();
        NicModel nic = new NicModel(20_000, 10_000, 300_000, 8, 100_000);
        Simulation simulation =
                new Simulation(
                        new SimConfig(5, SimConfig.limits(0), fabric, nic),
                        Topologies.build(
                                TopologySpec.builder(TopologySpec.Kind.FAT_TREE)
                                        .hosts(HOSTS)
                                        .build()));
        Rng rng = new Rng(7);
        for (int port = 0; port < simulation.fabric().ports(); port++) {
            simulation.fabric().fault(port, new LinkFaults.Rates(1e-3, 1e-3, 1e-4, 0.2, 1), rng);
        }
        int uplink = HOSTS;
        simulation
                .fabric()
                .plan(
                        List.of(
                                new LinkChange(30 * US, uplink, true),
                                new LinkChange(90 * US, uplink, false),
                                new LinkChange(40 * US, 3, true),
                                new LinkChange(60 * US, 3, false)));
        for (int host = 1; host < HOSTS; host++) {
            simulation.addFlow(host, 0, BYTES, 0);
            simulation.addFlow(host, (host + 4) % HOSTS, BYTES, 0);
        }
        while (simulation.flows().ended() < simulation.flows().count()
                && simulation.run(100_000)) {}
        return simulation;
    }

    private static void assertWhole(Simulation simulation) {
        assertThat(simulation.flows().ended()).isEqualTo(2 * (HOSTS - 1));
        assertThat(simulation.flows().failed()).isZero();
        long payload = 0;
        for (int host = 0; host < HOSTS; host++) {
            payload += simulation.engine(host).counters().get(CounterId.PAYLOAD_BYTES);
        }
        assertThat(payload).isEqualTo(2 * (HOSTS - 1) * BYTES);
    }

    private static long losses(Simulation simulation, LossReason reason) {
        long sum = 0;
        for (int port = 0; port < simulation.fabric().ports(); port++) {
            sum += simulation.fabric().port(port).losses(reason);
        }
        return sum;
    }

    @Test
    void lossyTransfersAreWholeAndTheRunIsTheSameEachTime() {
        TrafficClass data = TrafficClass.weighted("data", 1);
        Simulation once = run(data, Pfc.defaults());
        Simulation again = run(data, Pfc.defaults());

        assertWhole(once);
        assertThat(losses(once, LossReason.WIRE)).isPositive();
        assertThat(losses(once, LossReason.LINK_DOWN)).isPositive();
        assertThat(losses(once, LossReason.TRIMMED)).isPositive();
        assertThat(again.traceHash()).isEqualTo(once.traceHash());
        assertThat(again.eventCount()).isEqualTo(once.eventCount());
    }

    @Test
    void losslessTransfersAreWholeWithPausesAsWithCredits() {
        TrafficClass data = TrafficClass.weighted("data", 1).asLossless();
        for (FlowControl flowControl : new FlowControl[] {Pfc.defaults(), Credits.defaults()}) {
            Simulation once = run(data, flowControl);
            Simulation again = run(data, flowControl);

            assertWhole(once);
            assertThat(losses(once, LossReason.LOSSLESS)).isZero();
            assertThat(losses(once, LossReason.TRIMMED)).isZero();
            assertThat(once.fabric().deadlocks()).isEmpty();
            long pauses = 0;
            for (int port = 0; port < once.fabric().ports(); port++) {
                pauses += once.fabric().port(port).pauses();
            }
            assertThat(pauses).isPositive();
            assertThat(again.traceHash()).isEqualTo(once.traceHash());
        }
    }
}
