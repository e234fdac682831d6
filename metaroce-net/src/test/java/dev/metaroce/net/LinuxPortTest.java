package dev.metaroce.net;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardProtocolFamily;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;

class LinuxPortTest extends PortContract {
    @Override
    Port open(PortOptions options) {
        assertThat(LinuxPort.obstacle()).isEmpty();
        return LinuxPort.open(options, new NativeLibc());
    }

    @Override
    int routesWithoutAllocation() {
        return 3;
    }

    @Override
    int mostPerCall(int datagramsMax) {
        return datagramsMax + 16 * 64;
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

    @ParameterizedTest
    @ValueSource(strings = {"127.0.0.1", "::1"})
    void congestionMarksAreSeenAndTheOthersAreNot(String host) throws IOException {
        RecordingSink sink = new RecordingSink();
        try (Port port = open(TestPorts.wildcard(0, 1 << 20));
                DatagramChannel sender = DatagramChannel.open(familyOf(host))) {
            InetSocketAddress to =
                    new InetSocketAddress(host, port.localAddresses().getFirst().getPort());
            // the four values of the ECN field (RFC 3168), with a DSCP beside them
            for (int ecn = 0; ecn < 4; ecn++) {
                sender.setOption(StandardSocketOptions.IP_TOS, 10 << 2 | ecn);
                sender.send(ByteBuffer.allocate(64).putInt(0, ecn), to);
            }
            assertThat(Until.holds(() -> port.receive(sink, 64) >= 0 && sink.datagrams.size() == 4))
                    .isTrue();
        }
        assertThat(sink.congestionMarks).isEqualTo(1);
    }

    private static StandardProtocolFamily familyOf(String host) {
        return host.contains(":") ? StandardProtocolFamily.INET6 : StandardProtocolFamily.INET;
    }
}
