package dev.metaroce.sim.fabric;

import static dev.metaroce.sim.fabric.FabricRig.GBPS;
import static dev.metaroce.sim.fabric.FabricRig.US;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import dev.metaroce.sim.ConfigException;

import org.junit.jupiter.api.Test;

class TrafficClassTest {
    private static final TrafficClass CONTROL = TrafficClass.strict(TrafficClass.CONTROL);

    private static FabricRig rig(TrafficClass... classes) {
        FabricConfig config =
                FabricConfig.defaults().toBuilder()
                        .switchBufferBytes(1 << 30)
                        .classes(classes)
                        .build();
        return new FabricRig(FabricRig.star(4, 100 * GBPS, US), config);
    }

    @Test
    void weightedClassesShareTheLinkByteForByteWhateverTheirPackets() {
        FabricRig rig = rig(TrafficClass.weighted("gold", 3), TrafficClass.weighted("iron", 1));
        for (int i = 0; i < 20_000; i++) {
            rig.send(0, 2, i % 2 == 0 ? 1_500 : 900, i, 0);
            rig.send(1, 2, 4_162, i, 1);
        }
        rig.runUntil(500 * US);

        double gold = rig.bytes(0);
        double iron = rig.bytes(1);
        assertThat(gold / (gold + iron)).isCloseTo(0.75, within(0.02 * 0.75));
        assertThat(iron / (gold + iron)).isCloseTo(0.25, within(0.02 * 0.25));
        assertThat((gold + iron) * 8 / 500e-6 / 1e9).isCloseTo(99.5, within(0.5));
    }

    @Test
    void whatAWeightedClassDoesNotUseIsForTheOthers() {
        FabricRig rig =
                rig(
                        TrafficClass.weighted("a", 8),
                        TrafficClass.weighted("b", 2),
                        TrafficClass.weighted("c", 1));
        for (int i = 0; i < 3_000; i++) {
            rig.send(0, 3, 1_000, i, 1);
            rig.send(1, 3, 1_000, i, 2);
        }
        rig.runUntil(200 * US);

        assertThat((double) rig.bytes(1) / rig.bytes(2)).isCloseTo(2, within(0.02));
        assertThat(rig.bytes(0)).isZero();
    }

    @Test
    void aStrictClassOvertakesAllThatWaits() {
        FabricRig rig = rig(TrafficClass.weighted("bulk", 1), CONTROL);
        for (int i = 0; i < 1_000; i++) {
            rig.send(0, 2, 4_000, i, 0);
            rig.send(1, 2, 4_000, i, 0);
        }
        rig.runUntil(100 * US);
        rig.send(3, 2, 100, 0, 1);
        rig.runUntil(103 * US);

        FabricRig.Arrival overtaker =
                rig.arrivals.stream().filter(a -> a.trafficClass() == 1).findFirst().orElseThrow();
        // 8 ns on each link, 1 us along each, and at most the one packet that is being sent.
        assertThat(overtaker.atPs() - 100 * US).isBetween(2_016_000L, 2_016_000L + 320_000L);
        assertThat(rig.fabric.port(5).queueBytes()).isGreaterThan(1_000_000);
    }

    @Test
    void strictClassesGoInTheOrderOfTheirList() {
        FabricRig rig = rig(TrafficClass.strict("first"), TrafficClass.strict("second"));
        for (int i = 0; i < 100; i++) {
            rig.send(0, 2, 1_000, i, 1);
            rig.send(1, 2, 1_000, i, 0);
        }
        rig.run();

        // Both arrive at full rate: the second gets on when the first is through.
        int[] order = rig.arrivals.stream().mapToInt(FabricRig.Arrival::trafficClass).toArray();
        assertThat(rig.arrivals).hasSize(200);
        assertThat(order[1]).isZero();
        assertThat(order[99]).isZero();
        assertThat(order[102]).isOne();
        assertThat(order[199]).isOne();
    }

    @Test
    void packetsThatAreNotEcnCapableAreOfTheControlClass() {
        FabricRig rig = rig(TrafficClass.weighted("data", 1), CONTROL);
        int answer = rig.fabric.packet(0, 1, 0, 100, 60, false);
        int data = rig.fabric.packet(0, 1, 0, 100, 60, true);

        assertThat(rig.fabric.packets().get(answer, Packets.TRAFFIC_CLASS)).isOne();
        assertThat(rig.fabric.packets().get(data, Packets.TRAFFIC_CLASS)).isZero();
    }

    @Test
    void noticesAndControlAndDataHaveAClassEachOrShareOne() {
        FabricConfig roce = FabricConfig.roce(true);
        FabricConfig plain = FabricConfig.defaults();
        FabricConfig two = plain.toBuilder().classes(TrafficClass.strict("x"), CONTROL).build();

        assertThat(roce.cnpClass()).isZero();
        assertThat(roce.controlClass()).isOne();
        assertThat(roce.dataClass()).isEqualTo(2);
        assertThat(roce.classes())
                .extracting(TrafficClass::lossless)
                .containsExactly(false, false, true);
        assertThat(FabricConfig.roce(false).hasLossless()).isFalse();
        assertThat(two.cnpClass()).isEqualTo(two.controlClass()).isOne();
        assertThat(two.dataClass()).isZero();
        assertThat(plain.cnpClass() + plain.controlClass() + plain.dataClass()).isZero();
    }

    @Test
    void aClassWithoutEcnIsNotMarkedAndOneWithSmallAlphaDropsFirst() {
        TrafficClass small = TrafficClass.weighted("small", 1).withoutEcn().withAlpha(1e-4);
        FabricRig rig = rig(TrafficClass.weighted("large", 1), small);
        for (int i = 0; i < 500; i++) {
            rig.send(0, 2, 4_000, i, 0);
            rig.send(1, 2, 4_000, i, 1);
        }
        rig.run();

        assertThat(rig.arrivals).filteredOn(FabricRig.Arrival::ce).isNotEmpty();
        assertThat(rig.arrivals)
                .filteredOn(FabricRig.Arrival::ce)
                .allMatch(a -> a.trafficClass() == 0);
        assertThat(rig.arrivals).filteredOn(a -> a.trafficClass() == 0).hasSize(500);
        assertThat(rig.losses(LossReason.QUEUE_FULL)).isPositive();
        assertThat(rig.arrivals.size() + rig.losses(LossReason.QUEUE_FULL)).isEqualTo(1_000);
    }

    @Test
    void classesThatCannotBeAreRefusedInOneLine() {
        assertThatThrownBy(() -> rig(CONTROL, CONTROL))
                .isInstanceOf(ConfigException.class)
                .hasMessageContaining("one name");
        assertThatThrownBy(() -> TrafficClass.weighted("x", -1))
                .isInstanceOf(ConfigException.class)
                .hasMessage("class x: weight -1 is not from 0 (strict) to 1000");
        assertThatThrownBy(() -> rig())
                .isInstanceOf(ConfigException.class)
                .hasMessage("0 traffic classes; there can be 1 to 8");
        assertThatThrownBy(() -> CONTROL.withAlpha(0))
                .isInstanceOf(ConfigException.class)
                .hasMessageContaining("alpha");
    }
}
