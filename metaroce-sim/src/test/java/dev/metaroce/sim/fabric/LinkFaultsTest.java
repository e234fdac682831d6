package dev.metaroce.sim.fabric;

import static dev.metaroce.sim.fabric.FabricRig.GBPS;
import static dev.metaroce.sim.fabric.FabricRig.US;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import dev.metaroce.event.CounterId;
import dev.metaroce.sim.ConfigException;
import dev.metaroce.sim.run.SimConfig;
import dev.metaroce.sim.run.Simulation;
import dev.metaroce.sim.topology.Topology;
import dev.metaroce.util.Rng;

import org.junit.jupiter.api.Test;

import java.util.HashSet;
import java.util.List;
import java.util.Set;

class LinkFaultsTest {
    private static final int PACKETS = 100_000;
    private static final long PACKET_PS = 80_000;

    private static FabricRig pair() {
        Topology.Builder builder = Topology.builder("pair", 2, 1);
        builder.addLink(0, 1, 100 * GBPS, 10 * US, 0);
        return new FabricRig(builder.build(), FabricConfig.defaults());
    }

    /** Numbered packets of 1000 bytes, 80 ns each. */
    private static FabricRig send(FabricRig rig, int source, int packets) {
        for (int i = 0; i < packets; i++) {
            rig.send(source, 1 - source, 1_000, i);
        }
        return rig;
    }

    @Test
    void aLossyWireLosesAsOftenAsItShouldAndInOneDirectionOnly() {
        FabricRig rig = pair();
        rig.fabric.fault(0, LinkFaults.Rates.ofLoss(0.01), new Rng(5));
        send(rig, 0, PACKETS);
        send(rig, 1, PACKETS);
        rig.run();

        double lost = rig.losses(LossReason.WIRE);
        assertThat(lost).isCloseTo(1_000, within(4 * Math.sqrt(PACKETS * 0.01 * 0.99)));
        assertThat(rig.fabric.port(1).lost()).isZero();
        assertThat(rig.arrivals).hasSize(2 * PACKETS - (int) lost);
        assertThat(rig.fabric.packets().inFlight()).isZero();
    }

    @Test
    void burstsAreAsLongAndAsFrequentAsAsked() {
        double perPacket = 0.002;
        double length = 8;
        FabricRig rig = pair();
        rig.fabric.fault(0, LinkFaults.Rates.ofBursts(perPacket, length), new Rng(6));
        send(rig, 0, PACKETS).run();

        int bursts = 0;
        int next = 0;
        for (FabricRig.Arrival arrival : rig.arrivals) {
            bursts += arrival.flowHash() > next ? 1 : 0;
            next = arrival.flowHash() + 1;
        }
        double lost = rig.losses(LossReason.WIRE);
        // Lengths are geometric: sigma of one is sqrt(1 - q)/q with q = 1/8.
        double sigma = Math.sqrt(1 - 1 / length) * length / Math.sqrt(bursts);
        assertThat(lost / bursts).isCloseTo(length, within(4 * sigma));
        // A burst and the gap before it last 1/0.002 + 8 packets.
        double expected = PACKETS / (1 / perPacket + length);
        assertThat((double) bursts).isCloseTo(expected, within(4 * Math.sqrt(expected)));
    }

    @Test
    void aPacketThatIsCorruptedTwiceStaysCorrupted() {
        Topology star = FabricRig.star(2, 100 * GBPS, US);
        FabricRig rig = new FabricRig(star, FabricConfig.defaults());
        rig.fabric.fault(0, LinkFaults.Rates.ofCorruption(1), new Rng(1));
        rig.fabric.fault(3, LinkFaults.Rates.ofCorruption(1), new Rng(1));
        int packet = rig.send(0, 1, 200, 0);
        int at = rig.fabric.offset(packet) + 4;
        int damaged = rig.fabric.memory(packet).u8(at);
        rig.run();

        assertThat(rig.arrivals).hasSize(1);
        assertThat(rig.fabric.memory(packet).u8(at)).isEqualTo(damaged);
    }

    @Test
    void corruptedPacketsAreCountedByTheReceiverAndNeverDelivered() {
        Topology star = FabricRig.star(2, 100 * GBPS, US);
        Simulation simulation =
                new Simulation(
                        new SimConfig(3, SimConfig.limits(0), FabricConfig.defaults()), star);
        long bytes = 20_000_000;
        simulation.addFlow(0, 1, bytes, 0);
        simulation.fabric().fault(0, LinkFaults.Rates.ofCorruption(0.02), new Rng(4));
        while (simulation.flows().ended() == 0 && simulation.run(100_000)) {}

        assertThat(simulation.flows().ended()).isOne();
        assertThat(simulation.flows().failed()).isZero();
        long sent = simulation.fabric().port(0).txPackets();
        double bad = simulation.engine(1).counters().get(CounterId.BAD_CRC);
        assertThat(bad).isCloseTo(sent * 0.02, within(4 * Math.sqrt(sent * 0.02 * 0.98)));
        assertThat(simulation.engine(1).counters().get(CounterId.PAYLOAD_BYTES)).isEqualTo(bytes);
    }

    @Test
    void aLinkIsAsFastInEachDirectionAsItIsBuilt() {
        Topology.Builder builder = Topology.builder("pair", 2, 1);
        builder.addLink(0, 1, 100 * GBPS, 10 * GBPS, US, 0);
        FabricRig rig = new FabricRig(builder.build(), FabricConfig.defaults());
        send(rig, 0, 1_000);
        send(rig, 1, 1_000);
        rig.run();

        long ab = rig.arrivals.stream().filter(a -> a.host() == 1).toList().getLast().atPs();
        long ba = rig.arrivals.stream().filter(a -> a.host() == 0).toList().getLast().atPs();
        assertThat(ab).isEqualTo(1_000 * PACKET_PS + US);
        assertThat(ba).isEqualTo(1_000 * 10 * PACKET_PS + US);
    }

    /** Every packet is accounted for once, whatever the link does while they pass. */
    @Test
    void aPlannedOutageLosesWhatIsOnTheWireOrWaitsAndNothingElse() {
        FabricRig rig = pair();
        // 25.5 packets have left, 125 were on the wire at most; it is up before they arrive.
        long down = 25 * PACKET_PS + PACKET_PS / 2;
        rig.fabric.plan(
                List.of(new LinkChange(down, 0, true), new LinkChange(down + 1_000, 0, false)));
        send(rig, 0, 100);
        rig.runUntil(down + 2_000);
        for (int i = 100; i < 200; i++) {
            rig.send(0, 1, 1_000, i);
        }
        rig.run();

        assertThat(rig.losses(LossReason.LINK_DOWN)).isEqualTo(100);
        assertThat(rig.arrivals).hasSize(100).allMatch(a -> a.flowHash() >= 100);
        // The port was still busy with the packet that it lost.
        assertThat(rig.arrivals.getFirst().atPs()).isEqualTo(27 * PACKET_PS + 10 * US);
        Set<Integer> distinct = new HashSet<>();
        rig.arrivals.forEach(a -> distinct.add(a.flowHash()));
        assertThat(distinct).hasSize(100);
        assertThat(rig.fabric.packets().inFlight()).isZero();
    }

    @Test
    void nothingIsSentOverALinkThatIsDown() {
        FabricRig rig = pair();
        rig.fabric.plan(List.of(new LinkChange(0, 0, true), new LinkChange(50 * US, 0, false)));
        rig.runUntil(10 * US);
        send(rig, 0, 10);
        rig.runUntil(60 * US);
        send(rig, 0, 7);
        rig.run();

        assertThat(rig.fabric.port(0).txPackets()).isEqualTo(7);
        assertThat(rig.arrivals).hasSize(7);
        assertThat(rig.losses(LossReason.LINK_DOWN)).isEqualTo(10);
    }

    @Test
    void aPacketWithNoWayOnIsCountedWhereItCameIn() {
        FabricRig rig = new FabricRig(FabricRig.star(3, 100 * GBPS, US), FabricConfig.defaults());
        rig.fabric.setDown(0, 2, true);
        rig.send(0, 2, 1_000, 0);
        rig.run();

        assertThat(rig.fabric.port(0).losses(LossReason.NO_ROUTE)).isOne();
        assertThat(rig.arrivals).isEmpty();
        assertThat(rig.fabric.packets().inFlight()).isZero();
    }

    @Test
    void aFlowOutlastsAnOutageOfTheOnlyLinkOfItsHost() {
        Topology star = FabricRig.star(2, 100 * GBPS, US);
        Simulation simulation =
                new Simulation(
                        new SimConfig(3, SimConfig.limits(0), FabricConfig.defaults()), star);
        simulation.addFlow(0, 1, 10_000_000, 0);
        simulation
                .fabric()
                .plan(
                        List.of(
                                new LinkChange(300 * US, 0, true),
                                new LinkChange(2_300 * US, 0, false)));
        while (simulation.flows().ended() == 0 && simulation.run(100_000)) {}

        assertThat(simulation.flows().failed()).isZero();
        assertThat(simulation.flows().endPs(0)).isBetween(2_800 * US, 4_500 * US);
    }

    @Test
    void whatCannotBeIsRefusedInOneLine() {
        assertThatThrownBy(() -> LinkFaults.Rates.ofLoss(1.5))
                .isInstanceOf(ConfigException.class)
                .hasMessage("link fault loss: 1.5 is not from 0 to 1");
        assertThatThrownBy(() -> pair().fabric.plan(List.of(new LinkChange(0, 1, true))))
                .isInstanceOf(ConfigException.class)
                .hasMessageContaining("there are the links 0 to 0");
    }
}
