package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.testing.Pair;
import dev.metaroce.wire.NetAddress;

import org.junit.jupiter.api.Test;

/** Senders that the target holds to a rate. */
class PacingTest {
    private static final long MS = 1_000_000;
    private static final long SECOND = 1_000 * MS;

    /**
     * 1 MiB at 95 % of 50 Mb/s takes 177 ms; everything sent is acknowledged between two packets.
     */
    @Test
    void aSenderThatMayNotSendYetIsWokenWhenItMay() {
        DeviceLimits limits =
                DeviceLimits.defaults().toBuilder()
                        .maxPaths(1)
                        .payloadMtu(1024)
                        .inboundRateBitsPerSecond(50_000_000)
                        .build();
        Pair pair = new Pair(1, limits, 1, 2 << 20).connect();
        pair.clientEnd.fill(pair.lab.rng("data"));
        pair.write(0, 1, 0, 1 << 20);
        pair.expectSends(1, SECOND);
        long before = pair.lab.nowNs();
        pair.write(0, 2, 1 << 20, 1 << 20);
        pair.expectSends(2, SECOND);

        assertThat(pair.mismatch()).isEqualTo(-1);
        assertThat(pair.lab.nowNs() - before).isBetween(150 * MS, 190 * MS);
    }

    /** A lease taken from the pool of spare ones starts without the backlog of its last user. */
    @Test
    void aNewLeaseIsNotHeldToTheRateOfTheOneBefore() {
        NetAddress peer = NetAddress.ofIpv4(0x0A00_0001, 50_791);
        TxLease lease = new TxLease(1, peer);
        lease.pacer.onSent(0, 1 << 20, 1_000_000);
        assertThat(lease.pacer.nextSendNs(0)).isPositive();

        lease.open(peer, 0, 0, 0, 1, true);

        assertThat(lease.pacer.nextSendNs(0)).isZero();
    }
}
