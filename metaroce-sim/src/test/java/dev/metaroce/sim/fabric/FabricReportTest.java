package dev.metaroce.sim.fabric;

import static dev.metaroce.sim.fabric.FabricRig.GBPS;
import static dev.metaroce.sim.fabric.FabricRig.US;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.entry;
import static org.assertj.core.api.Assertions.within;

import org.junit.jupiter.api.Test;

class FabricReportTest {
    @Test
    void everyPortSaysWhatItSentAndLost() {
        FabricRig rig = new FabricRig(FabricRig.star(3, 100 * GBPS, US), FabricConfig.defaults());
        for (int i = 0; i < 1_000; i++) {
            rig.send(0, 2, 4_000, i);
            rig.send(1, 2, 4_000, i);
        }
        rig.run();
        FabricReport report = rig.fabric.report(rig.nowPs());
        FabricReport.PortRow row = report.ports().get(5);

        assertThat(row.from()).isEqualTo("hub");
        assertThat(row.to()).isEqualTo("h2");
        assertThat(row.txPackets()).isEqualTo(rig.arrivals.size());
        assertThat(row.txBytes()).isEqualTo(4_000 * row.txPackets());
        assertThat(row.utilisation()).isCloseTo(1, within(0.01));
        assertThat(row.losses())
                .containsExactly(entry(LossReason.QUEUE_FULL, 2_000 - row.txPackets()));
        assertThat(row.marks()).isPositive();
        assertThat(row.queueBytesMax()).isPositive();
        assertThat(report.warnings()).isEmpty();
    }

    @Test
    void dropsInALosslessClassAreFlagged() {
        FabricConfig config =
                FabricConfig.defaults().toBuilder()
                        .classes(TrafficClass.weighted("storage", 1).asLossless())
                        .flowControl(Pfc.defaults().withHeadroom(4_352).unchecked())
                        .switchBufferBytes(1_000_000)
                        .build();
        FabricRig rig = new FabricRig(FabricRig.star(17, 100 * GBPS, US), config);
        for (int i = 0; i < 300; i++) {
            for (int host = 0; host < 16; host++) {
                rig.send(host, 16, 4_000, i);
            }
        }
        rig.run();

        assertThat(rig.fabric.report(rig.nowPs()).warnings())
                .containsExactly(
                        "lossless class dropped: %d packets at hub->h16"
                                .formatted(rig.losses(LossReason.LOSSLESS)));
    }
}
