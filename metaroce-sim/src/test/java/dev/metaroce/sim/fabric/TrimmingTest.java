package dev.metaroce.sim.fabric;

import static dev.metaroce.sim.fabric.FabricRig.GBPS;
import static dev.metaroce.sim.fabric.FabricRig.US;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.metaroce.event.CounterId;
import dev.metaroce.sim.ConfigException;
import dev.metaroce.sim.run.SimConfig;
import dev.metaroce.sim.run.Simulation;

import org.junit.jupiter.api.Test;

class TrimmingTest {
    private static FabricConfig config(int bufferBytes) {
        return FabricConfig.defaults().toBuilder()
                .classes(
                        TrafficClass.strict(TrafficClass.CONTROL),
                        TrafficClass.weighted("data", 1).withoutEcn())
                .switchBufferBytes(bufferBytes)
                .trimming(true)
                .build();
    }

    @Test
    void whatFindsTheQueueFullGoesOnAheadOfItWithoutPayload() {
        FabricRig rig = new FabricRig(FabricRig.star(5, 100 * GBPS, US), config(200_000));
        for (int i = 0; i < 100; i++) {
            for (int host = 0; host < 4; host++) {
                rig.send(host, 4, 4_000, 100 * host + i, 1);
            }
        }
        rig.run();

        long trimmed = rig.losses(LossReason.TRIMMED);
        assertThat(trimmed).isPositive();
        assertThat(rig.losses()).isEqualTo(trimmed);
        assertThat(rig.arrivals).hasSize(400);
        assertThat(rig.arrivals)
                .filteredOn(a -> a.trafficClass() == 0)
                .hasSize((int) trimmed)
                .allMatch(a -> a.datagramBytes() == 60);
        // The last to be trimmed came long before the queue was sent.
        assertThat(rig.arrivals.getLast().trafficClass()).isOne();
    }

    @Test
    void trimmedPacketsAreDamagedForTheReceiverAndSentAgain() {
        int senders = 32;
        long bytes = 400_000;
        Simulation simulation =
                new Simulation(
                        new SimConfig(1, SimConfig.limits(0), config(150_000)),
                        FabricRig.star(senders + 1, 100 * GBPS, US));
        for (int host = 0; host < senders; host++) {
            simulation.addFlow(host, senders, bytes, 0);
        }
        while (simulation.flows().ended() < senders && simulation.run(100_000)) {}

        assertThat(simulation.flows().ended()).isEqualTo(senders);
        assertThat(simulation.flows().failed()).isZero();
        Port toReceiver = simulation.fabric().port(2 * senders + 1);
        long trimmed = toReceiver.losses(LossReason.TRIMMED);
        assertThat(trimmed).isPositive();
        assertThat(toReceiver.losses(LossReason.QUEUE_FULL)).isZero();
        assertThat(simulation.engine(senders).counters().get(CounterId.BAD_CRC)).isEqualTo(trimmed);
        assertThat(simulation.engine(senders).counters().get(CounterId.PAYLOAD_BYTES))
                .isEqualTo(senders * bytes);
    }

    @Test
    void trimmingWithoutAControlClassIsRefused() {
        assertThatThrownBy(() -> FabricConfig.defaults().toBuilder().trimming(true).build())
                .isInstanceOf(ConfigException.class)
                .hasMessage("trimming needs a traffic class named control");
    }
}
