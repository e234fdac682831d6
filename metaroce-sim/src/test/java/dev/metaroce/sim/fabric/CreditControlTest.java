package dev.metaroce.sim.fabric;

import static dev.metaroce.sim.fabric.FabricRig.GBPS;
import static dev.metaroce.sim.fabric.FabricRig.US;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import dev.metaroce.sim.ConfigException;
import dev.metaroce.sim.run.SimConfig;
import dev.metaroce.sim.run.Simulation;
import dev.metaroce.util.Rng;

import org.junit.jupiter.api.Test;

class CreditControlTest {
    private static final int MTU = 4_352;

    private static FabricConfig config(Credits credits) {
        return FabricConfig.defaults().toBuilder()
                .classes(TrafficClass.weighted("storage", 1).asLossless())
                .flowControl(credits)
                .switchBufferBytes(2_000_000)
                .build();
    }

    @Test
    void anIncastLosesNothingAndKeepsItsLinkBusy() {
        FabricRig rig =
                new FabricRig(FabricRig.star(9, 100 * GBPS, 2 * US), config(Credits.defaults()));
        for (int i = 0; i < 1_000; i++) {
            for (int host = 0; host < 8; host++) {
                rig.send(host, 8, 4_000, i);
            }
        }
        rig.run();

        long busyPs = 8_000 * 320_000L;
        assertThat(rig.losses()).isZero();
        assertThat(rig.arrivals).hasSize(8_000);
        assertThat(rig.fabric.packets().inFlight()).isZero();
        assertThat(rig.nowPs()).isBetween(busyPs, busyPs + busyPs / 100);
        // No sender ever had more in the switch than its buffer there.
        long buffers = 8 * Pfc.neededHeadroom(100 * GBPS, 100 * GBPS, 2 * US, MTU, 1);
        assertThat(rig.fabric.port(17).queueBytesMax()).isLessThanOrEqualTo(buffers);
    }

    /** The buffer goes out once in the time of one packet and of the cable both ways. */
    @Test
    void aLinkCarriesItsBufferInARoundTrip() {
        for (int packets : new int[] {1, 4, 16, 200}) {
            FabricRig rig =
                    new FabricRig(
                            FabricRig.star(2, 100 * GBPS, 10 * US),
                            config(Credits.defaults().withBuffer(packets * MTU)));
            for (int i = 0; i < 2_000; i++) {
                rig.send(0, 1, MTU, i);
            }
            rig.run();
            double packetPs = MTU * 80.0;
            double perPacketPs = Math.max(packetPs, (packetPs + 20 * US) / packets);
            assertThat((double) rig.nowPs()).isCloseTo(2_000 * perPacketPs, within(40.0 * US));
            assertThat(rig.arrivals).hasSize(2_000);
        }
    }

    @Test
    void creditThatWasUnderWayWhenALinkFailedIsNeitherLostNorCountedTwice() {
        FabricRig rig =
                new FabricRig(
                        FabricRig.star(3, 100 * GBPS, 5 * US),
                        config(Credits.defaults().withBuffer(40 * MTU)));
        for (int round = 0; round < 50; round++) {
            for (int i = 0; i < 300; i++) {
                rig.send(0, 2, MTU, i);
                rig.send(1, 2, MTU, i);
            }
            rig.runUntil(rig.nowPs() + 20 * US + round * 100_000L);
            rig.fabric.setDown(rig.nowPs(), 0, true);
            rig.runUntil(rig.nowPs() + (round % 3) * US);
            rig.fabric.setDown(rig.nowPs(), 0, false);
        }
        rig.run();
        int before = rig.arrivals.size();
        long startPs = rig.nowPs();
        for (int i = 0; i < 1_000; i++) {
            rig.send(0, 2, MTU, i);
        }
        rig.run();

        assertThat(rig.losses()).isEqualTo(rig.losses(LossReason.LINK_DOWN));
        assertThat(rig.arrivals).hasSize(before + 1_000);
        assertThat(rig.fabric.packets().inFlight()).isZero();
        // All credit is back: 40 packets in 10 us and their own time are more than the link takes.
        assertThat(rig.nowPs() - startPs).isLessThan(1_000 * MTU * 80L + 12 * US);
    }

    /** A buffer of ten packets, and a wire that loses hundreds. */
    @Test
    void creditOfPacketsThatTheWireLosesComesBack() {
        FabricRig rig =
                new FabricRig(
                        FabricRig.star(2, 100 * GBPS, 5 * US),
                        config(Credits.defaults().withBuffer(10 * MTU)));
        rig.fabric.fault(0, LinkFaults.Rates.ofLoss(0.3), new Rng(1));
        for (int i = 0; i < 1_000; i++) {
            rig.send(0, 1, MTU, i);
        }
        rig.run();

        assertThat(rig.losses(LossReason.WIRE)).isBetween(200L, 400L);
        assertThat(rig.arrivals).hasSize(1_000 - (int) rig.losses());
        assertThat(rig.fabric.packets().inFlight()).isZero();
    }

    /** Packets that the switch cannot send on take no room there for good. */
    @Test
    void creditOfPacketsWithoutAWayComesBack() {
        FabricRig rig =
                new FabricRig(
                        FabricRig.star(3, 100 * GBPS, 5 * US),
                        config(Credits.defaults().withBuffer(10 * MTU)));
        rig.fabric.setDown(0, 1, true);
        for (int i = 0; i < 100; i++) {
            rig.send(0, 1, MTU, i);
        }
        for (int i = 0; i < 100; i++) {
            rig.send(0, 2, MTU, i);
        }
        rig.run();

        assertThat(rig.losses()).isEqualTo(100);
        assertThat(rig.arrivals).hasSize(100);
    }

    @Test
    void transfersCompleteOverCreditedLinks() {
        Simulation simulation =
                new Simulation(
                        new SimConfig(1, SimConfig.limits(0), config(Credits.defaults())),
                        FabricRig.star(17, 100 * GBPS, US));
        for (int host = 0; host < 16; host++) {
            simulation.addFlow(host, 16, 200_000, 0);
        }
        while (simulation.flows().ended() < 16 && simulation.run(100_000)) {}

        assertThat(simulation.flows().ended()).isEqualTo(16);
        assertThat(simulation.flows().failed()).isZero();
        for (int port = 0; port < simulation.fabric().ports(); port++) {
            assertThat(simulation.fabric().port(port).drops()).isZero();
        }
    }

    @Test
    void buffersThatCannotBeAreRefused() {
        assertThatThrownBy(
                        () ->
                                new FabricRig(
                                        FabricRig.star(3, GBPS, US),
                                        config(Credits.defaults().withBuffer(1_000))))
                .isInstanceOf(ConfigException.class)
                .hasMessage("credits: a buffer of 1000 bytes does not hold a packet of 4352 bytes");
        assertThatThrownBy(
                        () ->
                                new FabricRig(
                                        FabricRig.star(3, GBPS, US),
                                        config(Credits.defaults().withBuffer(900_000))))
                .isInstanceOf(ConfigException.class)
                .hasMessage(
                        "credits: the buffer of switch hub is too small for 900000 bytes for each"
                                + " link");
    }
}
