package dev.metaroce.sim.fabric;

import static dev.metaroce.sim.fabric.FabricRig.GBPS;
import static dev.metaroce.sim.fabric.FabricRig.US;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.metaroce.sim.ConfigException;
import dev.metaroce.sim.run.SimConfig;
import dev.metaroce.sim.run.Simulation;
import dev.metaroce.sim.topology.Topology;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.util.Random;

class PauseControlTest {
    private static final TrafficClass STORAGE = TrafficClass.weighted("storage", 1).asLossless();
    private static final int MTU = 4_352;

    private static FabricConfig config(long buffer, Pfc pfc, TrafficClass... classes) {
        return FabricConfig.defaults().toBuilder()
                .classes(classes)
                .flowControl(pfc)
                .switchBufferBytes(buffer)
                .build();
    }

    private static FabricRig incast(FabricConfig config, int senders, int packetsEach, int bytes) {
        FabricRig rig = new FabricRig(FabricRig.star(senders + 1, 100 * GBPS, US), config);
        for (int i = 0; i < packetsEach; i++) {
            for (int sender = 0; sender < senders; sender++) {
                rig.send(sender, senders, bytes, i);
            }
        }
        rig.run();
        return rig;
    }

    @Test
    void aLosslessClassLosesNothingAndKeepsItsLinkBusy() {
        FabricRig rig = incast(config(1_000_000, Pfc.defaults(), STORAGE), 8, 1_000, 4_000);

        assertThat(rig.losses()).isZero();
        assertThat(rig.pauses()).isPositive();
        assertThat(rig.arrivals).hasSize(8_000);
        assertThat(rig.fabric.packets().inFlight()).isZero();
        long busyPs = 8_000 * 320_000L;
        assertThat(rig.nowPs()).isBetween(busyPs, busyPs + busyPs / 50);
    }

    @Test
    void theSameTrafficInALossyClassIsDropped() {
        FabricRig rig =
                incast(
                        config(1_000_000, Pfc.defaults(), TrafficClass.weighted("bulk", 1)),
                        8,
                        1_000,
                        4_000);

        assertThat(rig.losses(LossReason.QUEUE_FULL)).isPositive();
        assertThat(rig.pauses()).isZero();
    }

    /**
     * The hub sends on at 1 Gb/s. The second packet finds the first on the wire and no shared room:
     * its sender hears of it 84 bytes and 1 us later, and stops after the packet it then sends.
     */
    @Test
    void aSenderStopsAtThePacketBoundaryAfterThePauseFrame() {
        Topology.Builder builder = Topology.builder("step", 2, 1);
        int hub = builder.addSwitch("hub", 1, 0);
        builder.addLink(0, hub, 100 * GBPS, US, 0);
        builder.addLink(hub, 1, GBPS, US, 0);
        FabricConfig config =
                config(1_000_000, new Pfc(0, 0, 0, 0, false, true), STORAGE.withAlpha(1e-12));
        FabricRig rig = new FabricRig(builder.build(), config);
        for (int i = 0; i < 200; i++) {
            rig.send(0, 1, 1_000, i);
        }
        long foundPs = 2 * 80_000 + US;
        long heardPs = foundPs + 6_720 + US;
        rig.runUntil(heardPs - 1);
        // The first packet came to an idle port: its sender was stopped and let go at once.
        assertThat(rig.fabric.port(0).pauses()).isOne();
        assertThat(rig.fabric.port(0).pausedPs()).isEqualTo(6_720);
        rig.runUntil(heardPs + 1_000_000);
        assertThat(rig.fabric.port(0).txPackets()).isEqualTo(-Math.floorDiv(-heardPs, 80_000L));

        rig.run();
        assertThat(rig.arrivals).hasSize(200);
        assertThat(rig.losses()).isZero();
    }

    @Test
    void headroomIsEnoughAtAnyRateAndDistanceAndTwoPacketsLessAreNot() {
        Random random = new Random(4);
        int droppedWithLess = 0;
        for (int round = 0; round < 60; round++) {
            long rate = (1 + random.nextInt(16)) * 25 * GBPS;
            long delayPs = random.nextInt(20) * US / 2;
            long needed = Pfc.neededHeadroom(rate, rate, delayPs, MTU, 1);
            assertThat(overload(rate, delayPs, Pfc.defaults().withHeadroom((int) needed)).losses())
                    .isZero();
            Pfc less = Pfc.defaults().withHeadroom((int) needed - 2 * MTU).unchecked();
            FabricRig rig = overload(rate, delayPs, less);
            droppedWithLess += rig.losses(LossReason.LOSSLESS) > 0 ? 1 : 0;
            assertThat(rig.losses()).isEqualTo(rig.losses(LossReason.LOSSLESS));
        }
        assertThat(droppedWithLess).isGreaterThan(50);
    }

    /** What host 0 sends gets stuck, and pause frames to it wait for what host 1 sends it. */
    private static FabricRig overload(long rate, long delayPs, Pfc pfc) {
        Topology.Builder builder = Topology.builder("narrow", 3, 1);
        int hub = builder.addSwitch("hub", 1, 0);
        builder.addLink(0, hub, rate, delayPs, 0);
        builder.addLink(1, hub, rate, delayPs, 0);
        builder.addLink(2, hub, rate / 10_000, 0, 0);
        FabricRig rig =
                new FabricRig(builder.build(), config(32_000_000, pfc, STORAGE.withAlpha(0.001)));
        for (int i = 0; i < 1_000; i++) {
            rig.send(0, 2, MTU, i);
            rig.send(1, 0, MTU - 7, i);
        }
        rig.run();
        assertThat(rig.pauses()).isPositive();
        assertThat(rig.fabric.packets().inFlight()).isZero();
        return rig;
    }

    @Test
    void aLossyClassBesideALosslessOneIsNeitherStoppedNorInItsWay() {
        FabricRig rig =
                new FabricRig(
                        FabricRig.star(4, 100 * GBPS, US),
                        config(600_000, Pfc.defaults(), STORAGE, TrafficClass.weighted("bulk", 1)));
        for (int i = 0; i < 4_000; i++) {
            rig.send(0, 3, 2_000, i, 0);
            rig.send(1, 3, 2_000, i, 0);
            rig.send(2, 3, 2_000, i, 1);
        }
        rig.run();

        assertThat(rig.losses(LossReason.LOSSLESS)).isZero();
        assertThat(rig.losses(LossReason.QUEUE_FULL)).isPositive();
        assertThat(rig.arrivals).filteredOn(a -> a.trafficClass() == 0).hasSize(8_000);
        assertThat(rig.fabric.port(4).pauses()).isZero();
    }

    @Test
    void aLinkThatWentDownWhileItsSenderWasStoppedSendsAgainWhenItIsUp() {
        FabricRig rig =
                new FabricRig(
                        FabricRig.star(4, 100 * GBPS, US),
                        config(1_000_000, Pfc.defaults(), STORAGE.withAlpha(0.01)));
        for (int i = 0; i < 1_000; i++) {
            rig.send(0, 3, 2_000, i);
            rig.send(1, 3, 2_000, i);
        }
        long atPs = 20 * US;
        while (rig.fabric.port(0).scheduler.isPausedSince(0, rig.nowPs()) == false) {
            rig.runUntil(atPs += 10_000);
        }
        rig.fabric.setDown(rig.nowPs(), 0, true);
        rig.fabric.setDown(rig.nowPs(), 0, false);
        for (int i = 0; i < 500; i++) {
            rig.send(0, 3, 2_000, i);
        }
        rig.run();

        assertThat(rig.losses()).isEqualTo(rig.losses(LossReason.LINK_DOWN)).isPositive();
        assertThat(rig.arrivals.size() + rig.losses()).isEqualTo(2_500);
        assertThat(rig.fabric.packets().inFlight()).isZero();
    }

    @Test
    @DisplayName("M10: an incast of 1000 flows into a lossless class of 8 MB drops nothing")
    void m10_incastIntoALosslessClassDropsNothing() {
        Topology star = FabricRig.star(145, 100 * GBPS, US);
        Simulation simulation =
                new Simulation(
                        new SimConfig(
                                1, SimConfig.limits(0), config(8_000_000, Pfc.defaults(), STORAGE)),
                        star);
        for (int flow = 0; flow < 1_000; flow++) {
            simulation.addFlow(flow % 144, 144, 8 * 4_096, 0);
        }
        while (simulation.flows().ended() < 1_000 && simulation.run(100_000)) {}

        Fabric fabric = simulation.fabric();
        long pauses = 0;
        for (int port = 0; port < fabric.ports(); port++) {
            assertThat(fabric.port(port).drops()).isZero();
            pauses += fabric.port(port).pauses();
        }
        assertThat(simulation.flows().ended()).isEqualTo(1_000);
        assertThat(simulation.flows().failed()).isZero();
        assertThat(pauses).isPositive();
    }

    @Test
    @DisplayName("M10: headroom of one MTU is refused, or its drops are flagged")
    void m10_headroomOfOneMtuIsRefusedOrItsDropsAreFlagged() {
        Pfc oneMtu = Pfc.defaults().withHeadroom(MTU);
        // 2 us at 100 Gb/s, three packets, two frames of 84 bytes.
        assertThatThrownBy(() -> incast(config(8_000_000, oneMtu, STORAGE), 8, 1, 4_000))
                .isInstanceOf(ConfigException.class)
                .hasMessage(
                        "PFC: headroom of 4352 bytes is too small for the link h0->hub:"
                                + " 38224 bytes needed");
        FabricRig rig = incast(config(8_000_000, oneMtu.unchecked(), STORAGE), 144, 100, 4_000);
        assertThat(rig.losses(LossReason.LOSSLESS)).isPositive();
        assertThat(LossReason.LOSSLESS.words()).contains("lossless class");
    }

    @Test
    void aBufferThatCannotHoldTheHeadroomIsRefused() {
        assertThatThrownBy(() -> incast(config(200_000, Pfc.defaults(), STORAGE), 8, 1, 4_000))
                .isInstanceOf(ConfigException.class)
                .hasMessageStartingWith("PFC: the buffer of switch hub lacks 180881 bytes");
    }
}
