package dev.metaroce.rocev2;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.metaroce.event.CounterId;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.testing.Pair;
import dev.metaroce.testing.RocePackets;
import dev.metaroce.verbs.QueuePair;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Case A10 for RoCEv2, with regions that have addresses and no bytes. */
class RoceLargeMessageTest {
    private static final long LARGEST = 1L << 31;

    @ParameterizedTest
    @ValueSource(longs = {LARGEST - 1, LARGEST, LARGEST + 1, 2 * LARGEST, 2 * LARGEST + 1})
    @DisplayName("A10: a message at the edge of 31 bits arrives whole or is refused at the post")
    void a10SizesAtTheEdgeOf31Bits(long length) {
        Pair pair =
                Pair.ofVirtualRoce(
                        10,
                        RocePackets.mtu(4096),
                        plain -> plain.toBuilder().windowPackets(1024).packetsPerAck(256).build(),
                        1,
                        2 * LARGEST + 8);
        pair.connect();
        if (length > LARGEST) {
            assertThatThrownBy(() -> write(pair, length))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining(Long.toString(LARGEST));
            return;
        }
        write(pair, length);
        pair.expectSends(1, 60_000_000_000L);
        assertThat(pair.clientEnd.sends.get(0).byteLength()).isEqualTo(length);
        assertThat(pair.client.count(CounterId.DATA_SENT)).isEqualTo((length + 4095) / 4096);
        assertThat(pair.server.count(CounterId.PAYLOAD_BYTES)).isEqualTo(length);
        assertThat(pair.client.count(CounterId.DATA_RESENT)).isZero();
    }

    private static void write(Pair pair, long length) {
        QueuePair qp = pair.clientEnd.qp();
        MemoryRegion to = pair.serverEnd.region;
        Pair.must(1, qp.postWrite(1, pair.clientEnd.region, 0, length, to.address(), to.rkey()));
    }

    @ParameterizedTest
    @ValueSource(longs = {LARGEST - 1, LARGEST})
    @DisplayName("A10: a READ at the edge of 31 bits brings everything")
    void a10ReadsAtTheEdgeOf31Bits(long length) {
        Pair pair = Pair.ofVirtualRoce(11, RocePackets.mtu(4096), plain -> plain, 1, LARGEST);
        pair.connect();
        MemoryRegion to = pair.serverEnd.region;
        Pair.must(
                1,
                pair.clientEnd
                        .qp()
                        .postRead(1, pair.clientEnd.region, 0, length, to.address(), to.rkey()));
        pair.expectSends(1, 60_000_000_000L);
        assertThat(pair.clientEnd.sends.get(0).byteLength()).isEqualTo(length);
        assertThat(pair.client.count(CounterId.PAYLOAD_BYTES)).isEqualTo(length);
        // In parts of half a window, 64 packets.
        assertThat(pair.client.count(CounterId.DATA_SENT)).isEqualTo(LARGEST / (64 * 4096));
    }
}
