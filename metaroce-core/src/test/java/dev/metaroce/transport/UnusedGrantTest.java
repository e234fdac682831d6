package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.CounterId;
import dev.metaroce.testing.Lab;
import dev.metaroce.testing.Pair;
import dev.metaroce.wire.PacketType;

import org.junit.jupiter.api.Test;

/** Grants that come to an initiator too slow to use them. */
class UnusedGrantTest {
    private static final long SECOND = 1_000_000_000L;
    private static final long MS = 1_000_000L;
    private static final long OTHER_SERVICE = 8;

    private static DeviceLimits limits() {
        return DeviceLimits.defaults().toBuilder().grantUnusedNs(10 * MS).contexts(1).build();
    }

    /** Holds the client's data up for 15 ms from the second grant on. */
    private static Pair slowPair() {
        Pair pair = new Pair(1, limits(), 2, 1 << 20).connect();
        pair.clientEnd.fill(pair.lab.rng("data"));
        pair.lab.advance(20 * MS);
        pair.lab.addFault(
                packet -> {
                    int type = packet.bytes[0] & 0x0F;
                    boolean data =
                            type == PacketType.DATA.code() || type == PacketType.PROBE.code();
                    packet.delayNs += data && packet.from == pair.client ? 15 * MS : 0;
                    return 1;
                });
        for (int i = 0; i < 8; i++) {
            pair.write(i % 2, i, i << 17, 1 << 17);
        }
        return pair;
    }

    /**
     * Somebody waits for the only context: the grant is taken back before the first data comes.
     * Nothing was accepted, so all is sent again under a new lease and the application sees nothing
     * of it.
     */
    @Test
    void dataThatComesAfterTheGrantWasTakenBackIsSentAgain() {
        Pair pair = slowPair();
        Lab.Node other = pair.lab.add(limits());
        pair.lab.advance(MS);
        pair.server.device.listen(OTHER_SERVICE, request -> request.accept(request.privateData()));
        other.device.connect(pair.server.address, OTHER_SERVICE, new byte[0]);
        pair.expectSends(8, 10 * SECOND);
        assertThat(pair.mismatch()).isEqualTo(-1);
        assertThat(pair.server.count(CounterId.GRANT_UNUSED)).isPositive();
        assertThat(pair.client.count(CounterId.RESETS_RECEIVED)).isPositive();
        assertThat(pair.client.count(CounterId.CONNECTIONS_FAILED)).isZero();
    }

    /** Nobody waits: a slow initiator keeps its grant. */
    @Test
    void aGrantNobodyElseWantsIsKept() {
        Pair pair = slowPair();
        pair.expectSends(8, SECOND);
        assertThat(pair.mismatch()).isEqualTo(-1);
        assertThat(pair.server.count(CounterId.GRANT_UNUSED)).isZero();
    }
}
