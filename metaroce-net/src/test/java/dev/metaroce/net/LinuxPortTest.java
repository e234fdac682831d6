package dev.metaroce.net;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class LinuxPortTest extends PortContract {
    @Override
    Port open(PortOptions options) {
        assertThat(LinuxPort.obstacle()).isEmpty();
        return LinuxPort.open(options, new NativeLibc());
    }

    @Override
    int mostPerCall(int datagramsMax) {
        return datagramsMax + 8 * 64;
    }

    @Test
    void allFeaturesWorkOnThisMachine() {
        try (Port port = open(TestPorts.wildcard(1, 1 << 20))) {
            assertThat(port.info().gso()).isTrue();
            assertThat(port.info().gro()).isTrue();
            assertThat(port.info().ecn()).isTrue();
            assertThat(port.info().text()).isEqualTo("Linux, GSO on, GRO on, ECN on");
        }
    }
}
