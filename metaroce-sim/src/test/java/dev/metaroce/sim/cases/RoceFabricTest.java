package dev.metaroce.sim.cases;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.metaroce.congestion.DcqcnSettings;
import dev.metaroce.event.CounterId;
import dev.metaroce.sim.event.Events;
import dev.metaroce.sim.fabric.FabricConfig;
import dev.metaroce.sim.run.Connections;
import dev.metaroce.sim.run.NicModel;
import dev.metaroce.sim.run.SimConfig;
import dev.metaroce.sim.study.ContextStudy;
import dev.metaroce.sim.study.DcqcnStudy;
import dev.metaroce.sim.study.PfcStudy;
import dev.metaroce.sim.study.PfcStudy.Operation;
import dev.metaroce.sim.topology.Topologies;
import dev.metaroce.sim.topology.Topology;
import dev.metaroce.sim.topology.TopologySpec;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** RoCEv2 on lossless, lossy and mixed networks: pauses, victims, deadlock, DCQCN, contexts. */
class RoceFabricTest {
    private static PfcStudy.Outcome incast(Operation operation, long spanPs) {
        return PfcStudy.run(
                new PfcStudy.Setup(1, operation, 64, Net.RATE, 1_250 * Net.NS, spanPs), () -> true);
    }

    @Test
    void pausesKeepAnIncastFromLossAndStopItsVictimInstead() {
        PfcStudy.Outcome pfc = incast(Operation.PFC, 2 * Net.MS);

        assertThat(pfc.dropped()).isZero();
        assertThat(pfc.resent()).isZero();
        assertThat(pfc.pauses()).isGreaterThan(1_000);
        assertThat(pfc.gbps()).as("the receiver's link is busy").isGreaterThan(97);
        // From the receiver's leaf back to the senders, each of which has a 64th of a link.
        assertThat(pfc.spinePausedShare()).isGreaterThan(0.5);
        assertThat(pfc.leafPausedShare()).isGreaterThan(0.3);
        assertThat(pfc.hostPausedShare()).isGreaterThan(0.9);
        assertThat(pfc.victimGbps()).as("alone it has 98 Gb/s").isLessThan(5);
        assertThat(pfc.deadlocks()).isZero();
    }

    @Test
    void dcqcnMakesPausesRareAndGivesTheVictimBackMostOfItsRate() {
        PfcStudy.Outcome both = incast(Operation.PFC_DCQCN, 40 * Net.MS);

        assertThat(both.dropped()).isZero();
        assertThat(both.cnps()).isPositive();
        assertThat(both.hostPausedShare()).isLessThan(0.05);
        assertThat(both.victimGbps()).isGreaterThan(50);
        assertThat(both.gbps()).isGreaterThan(85);
    }

    @Test
    void aLossyNetworkDropsAndGoBackNPaysForIt() {
        PfcStudy.Outcome lossy = incast(Operation.LOSSY, 5 * Net.MS);

        assertThat(lossy.dropped()).isGreaterThan(10_000);
        assertThat(lossy.resent()).isGreaterThan(10_000);
        assertThat(lossy.pauses()).isZero();
    }

    @Test
    void aLossyClassBesideALosslessOneIsNoVictimOfPauses() {
        PfcStudy.Outcome mixed = incast(Operation.MIXED, 10 * Net.MS);
        PfcStudy.Outcome one = incast(Operation.PFC_DCQCN, 10 * Net.MS);

        assertThat(mixed.pauses()).isPositive();
        assertThat(mixed.startVictimGbps()).isGreaterThan(3 * one.startVictimGbps());
    }

    /** Seven switches in a ring, each host sends to the third one on. */
    @Test
    void aRingOfStoppedPortsIsFoundAndNamed() {
        Topology ring =
                Topologies.build(
                        TopologySpec.builder(TopologySpec.Kind.RING)
                                .hosts(7)
                                .switches(7)
                                .hostRate(Net.RATE)
                                .delayPs(Net.US)
                                .build());
        Net net = new Net(ring, roce(FabricConfig.roce(true), false));
        for (int host = 0; host < 7; host++) {
            net.simulation.addFlow(host, (host + 3) % 7, 1 << 30, 0);
        }
        net.runUntil(20 * Net.MS);

        assertThat(net.simulation.fabric().deadlocks())
                .containsExactly("ring0->ring1->ring2->ring3->ring4->ring5->ring6->ring0");
        assertThat(net.lost(port -> true)).isZero();
        assertThat(net.rate(3, 5 * Net.MS)).as("nothing moves").isZero();
    }

    /** D.9: published are about 100 ms. */
    @ParameterizedTest
    @CsvSource({"40,true", "40,false", "100,true"})
    void twoFlowsUnderDcqcnShareTheirLinkWithinTheirTimeScale(int gigabits, boolean lossless) {
        DcqcnStudy.Outcome both =
                DcqcnStudy.run(
                        new DcqcnStudy.Setup(
                                3,
                                DcqcnSettings.published(),
                                gigabits * Net.GIGABIT,
                                2_500 * Net.NS,
                                lossless,
                                Net.MS,
                                200),
                        () -> true);

        assertThat(both.samples().getFirst().secondGbps()).isZero();
        assertThat(both.reachedMs()).isLessThanOrEqualTo(110);
        assertThat(both.firstShare()).isCloseTo(1, within(0.1));
        assertThat(both.secondShare()).isCloseTo(1, within(0.1));
        assertThat(both.dropped() + both.pauses()).as("marks were enough").isZero();
    }

    /** 9.1: 94.6 M requests per second over 140 contexts, 20.1 M over 2,240. */
    @ParameterizedTest
    @CsvSource({"140,94.6", "2240,20.1"})
    void aNicFallsOffThePublishedCliff(int queuePairs, double million) {
        ContextStudy.Setup setup = new ContextStudy.Setup(1, queuePairs, NicModel.published());

        assertThat(setup.law() / 1e6).isCloseTo(million, within(0.01 * million));
        assertThat(ContextStudy.run(setup, () -> true).requestsPerSecond() / 1e6)
                .isCloseTo(million, within(0.03 * million));
    }

    @Test
    void cnpsOvertakeWhatWaits() {
        // The first sender's CNPs have to pass a queue of data that goes to it.
        Net net = new Net(Net.star(4, 1, Net.RATE, Net.US), roce(FabricConfig.roce(false), true));
        net.simulation.addFlow(0, 2, 64 << 20, 0);
        net.simulation.addFlow(1, 2, 64 << 20, 0);
        net.simulation.addFlow(2, 0, 64 << 20, 0);
        net.simulation.addFlow(3, 0, 64 << 20, 0);
        net.runUntil(200 * Net.US);

        assertThat(net.count(2, CounterId.CNPS_SENT)).isPositive();
        assertThat(net.count(0, CounterId.CNPS_RECEIVED) + net.count(1, CounterId.CNPS_RECEIVED))
                .isEqualTo(net.count(2, CounterId.CNPS_SENT));
    }

    /** PFC stops one class of a port, and CNPs are of another. */
    @Test
    void aStoppedHostSendsCnpsButNeitherDataNorAcknowledgements() {
        FabricConfig fabric =
                FabricConfig.roce(true).toBuilder().switchBufferBytes(64 << 20).build();
        Net net = new Net(Net.star(3, 1, Net.RATE, Net.US), roce(fabric, true));
        net.simulation.addFlow(0, 1, 64 << 20, 0);
        net.simulation.addFlow(1, 0, 64 << 20, 0);
        net.simulation.addFlow(2, 0, 64 << 20, 0);
        net.runUntil(20 * Net.US);
        assertThat(net.count(0, CounterId.CNPS_SENT)).isZero();
        // The switch stops the first host, and never lets it go on.
        int stop = fabric.dataClass() << 1 | 1;
        net.simulation
                .fabric()
                .onEvent(net.simulation.nextEventPs(), Events.of(Events.FLOW_CONTROL, 1, stop));
        net.runUntil(40 * Net.US);
        long data = net.count(1, CounterId.PAYLOAD_BYTES);
        long acks = net.count(2, CounterId.ACKS_RECEIVED);
        net.runUntil(400 * Net.US);

        assertThat(net.count(1, CounterId.PAYLOAD_BYTES)).isEqualTo(data).isPositive();
        assertThat(net.count(2, CounterId.ACKS_RECEIVED)).isEqualTo(acks).isPositive();
        assertThat(net.count(1, CounterId.CNPS_RECEIVED)).isPositive();
        assertThat(net.count(2, CounterId.CNPS_RECEIVED)).isPositive();
    }

    /** Warm RoCEv2. */
    static SimConfig roce(FabricConfig fabric, boolean dcqcn) {
        return new SimConfig(5, SimConfig.limits(0), fabric, NicModel.NONE, Connections.WARM)
                .with(
                        SimConfig.roce(Net.RATE).toBuilder()
                                .dcqcn(dcqcn ? DcqcnSettings.published() : null)
                                .build());
    }
}
