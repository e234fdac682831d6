package dev.metaroce.net;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

import java.net.InetSocketAddress;
import java.util.List;

class FaultsTest {
    @Test
    void everyFaultTheBuilderTakesArrives() {
        Faults faults =
                Faults.builder()
                        .datagramBytesMax(1)
                        .burst(2, 3, 4)
                        .dropEvery(5)
                        .dropRate(0.1)
                        .corruptRate(0.2)
                        .duplicate(0.3, 6)
                        .reorderEvery(7, 8)
                        .reorderRate(0.4, 9)
                        .delay(10, 11)
                        .skewNs(List.of(12L))
                        .build();

        assertThat(faults)
                .isEqualTo(
                        new Faults(
                                1, 2, 3, 4, 5, 0.1, 0.2, 0.3, 6, 7, 0.4, 9, 10, 11, List.of(12L)));
        assertThat(faults.toBuilder().build()).isEqualTo(faults);
        assertThat(Faults.builder().build()).isEqualTo(Faults.NONE);
    }

    @Test
    void wrongValuesAreNamed() {
        assertThatThrownBy(() -> Faults.builder().dropRate(1.5).build())
                .hasMessage("Faults: dropRate 1.5 is not in 0..1");
        assertThatThrownBy(() -> Faults.builder().corruptRate(Double.NaN).build())
                .hasMessage("Faults: corruptRate NaN is not in 0..1");
        assertThatThrownBy(() -> Faults.builder().burst(1, 0, 0).build())
                .hasMessageStartingWith("Faults: burstLength 0 is not in 1..");
        assertThatThrownBy(() -> Faults.builder().skewNs(List.of(-1L)).build())
                .hasMessageStartingWith("Faults: skewNs -1 is not in 0..");
    }

    @Test
    void aRelayNeedsATargetWithPort() {
        InetSocketAddress any = new InetSocketAddress(0);
        assertThatThrownBy(() -> RelayOptions.between(any, any))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("target");
    }
}
