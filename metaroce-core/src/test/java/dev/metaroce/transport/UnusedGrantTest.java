package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.CounterId;
import dev.metaroce.testing.Pair;
import dev.metaroce.wire.PacketType;

import org.junit.jupiter.api.Test;

/** A grant that comes to an initiator too slow to use it. */
class UnusedGrantTest {
    private static final long SECOND = 1_000_000_000L;
    private static final long MS = 1_000_000L;

    /**
     * The first DATA is held up until the target took the grant back: nothing was accepted, so all
     * is sent again under a new lease and the application sees nothing of it.
     */
    @Test
    void dataThatComesAfterTheGrantWasTakenBackIsSentAgain() {
        DeviceLimits limits = DeviceLimits.defaults().toBuilder().grantUnusedNs(10 * MS).build();
        Pair pair = new Pair(1, limits, 2, 1 << 20).connect();
        pair.clientEnd.fill(pair.lab.rng("data"));
        pair.lab.advance(20 * MS);
        pair.lab.addFault(
                packet -> {
                    boolean second = pair.server.count(CounterId.GRANT_UNUSED) == 1;
                    int type = packet.bytes[0] & 0x0F;
                    boolean data =
                            type == PacketType.DATA.code() || type == PacketType.PROBE.code();
                    packet.delayNs += second && data ? 15 * MS : 0;
                    return 1;
                });
        for (int i = 0; i < 8; i++) {
            pair.write(i % 2, i, i << 17, 1 << 17);
        }
        pair.expectSends(8, SECOND);
        assertThat(pair.mismatch()).isEqualTo(-1);
        assertThat(pair.server.count(CounterId.GRANT_UNUSED)).isEqualTo(2);
        assertThat(pair.client.count(CounterId.CONNECTIONS_FAILED)).isZero();
    }
}
