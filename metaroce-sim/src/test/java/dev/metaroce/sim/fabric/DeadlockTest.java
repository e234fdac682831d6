package dev.metaroce.sim.fabric;

import static dev.metaroce.sim.fabric.FabricRig.GBPS;
import static dev.metaroce.sim.fabric.FabricRig.US;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.sim.topology.Topology;

import org.junit.jupiter.api.Test;

/**
 * A ring of seven switches, a host on each, and every host sends to the third one clockwise: the
 * shortest way, so that all links of the ring are used in one direction, and twice as much is
 * offered as they carry. With lossless links the buffers fill in a circle.
 */
class DeadlockTest {
    private static final int RING = 7;
    private static final int PACKETS = 3_000;

    private static FabricRig ring(FlowControl flowControl) {
        Topology.Builder builder = Topology.builder("ring", RING, 1);
        for (int i = 0; i < RING; i++) {
            builder.addSwitch("s" + i, 1, 0);
        }
        for (int i = 0; i < RING; i++) {
            builder.addLink(i, RING + i, 100 * GBPS, US, 0);
            builder.addLink(RING + i, RING + (i + 1) % RING, 100 * GBPS, US, 0);
        }
        FabricConfig config =
                FabricConfig.defaults().toBuilder()
                        .classes(TrafficClass.weighted("storage", 1).asLossless().withAlpha(0.1))
                        .flowControl(flowControl)
                        .switchBufferBytes(300_000)
                        .build();
        FabricRig rig = new FabricRig(builder.build(), config);
        for (int i = 0; i < PACKETS; i++) {
            for (int host = 0; host < RING; host++) {
                rig.send(host, (host + 3) % RING, 4_000, i);
            }
        }
        return rig;
    }

    @Test
    void aCircleOfStoppedPortsIsFoundAndNamed() {
        FabricRig rig = ring(Pfc.defaults());
        rig.run();

        assertThat(rig.losses()).isZero();
        assertThat(rig.arrivals.size()).isLessThan(RING * PACKETS);
        assertThat(rig.fabric.deadlocks()).containsExactly("s0->s1->s2->s3->s4->s5->s6->s0");
    }

    @Test
    void creditsCloseTheSameCircle() {
        FabricRig rig = ring(Credits.defaults());
        rig.run();

        assertThat(rig.losses()).isZero();
        assertThat(rig.arrivals.size()).isLessThan(RING * PACKETS);
        assertThat(rig.fabric.deadlocks()).containsExactly("s0->s1->s2->s3->s4->s5->s6->s0");
    }

    @Test
    void theWatchdogBreaksTheCircleAtThePriceOfDroppedPackets() {
        FabricRig rig = ring(Pfc.defaults().withWatchdog(200 * US));
        rig.run();

        assertThat(rig.fabric.watchdogs()).isPositive();
        assertThat(rig.losses(LossReason.WATCHDOG)).isPositive();
        assertThat(rig.losses()).isEqualTo(rig.losses(LossReason.WATCHDOG));
        assertThat(rig.arrivals.size() + rig.losses()).isEqualTo(RING * PACKETS);
        assertThat(rig.fabric.packets().inFlight()).isZero();
        for (int port = 0; port < rig.fabric.ports(); port++) {
            assertThat(rig.fabric.port(port).scheduler.isDraining(0)).isFalse();
        }
    }

    @Test
    void aLineOfStoppedPortsIsNoDeadlock() {
        FabricRig rig =
                new FabricRig(
                        FabricRig.star(9, 100 * GBPS, US),
                        FabricConfig.defaults().toBuilder()
                                .classes(TrafficClass.weighted("storage", 1).asLossless())
                                .flowControl(new Pfc(4_096, 0, 3_072, US, false, true))
                                .switchBufferBytes(1_000_000)
                                .build());
        for (int i = 0; i < 1_000; i++) {
            for (int host = 0; host < 8; host++) {
                rig.send(host, 8, 4_000, i);
            }
        }
        rig.run();

        assertThat(rig.pauses()).isPositive();
        assertThat(rig.fabric.deadlocks()).isEmpty();
        assertThat(rig.arrivals).hasSize(8_000);
    }
}
