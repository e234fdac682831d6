package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.ring.WcStatus;
import dev.metaroce.testing.Pair;
import dev.metaroce.testing.Profiles;
import dev.metaroce.testing.RawPacket;
import dev.metaroce.wire.Profile;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** When a sender gives up, and what it says. */
class GiveUpTest {
    private static final long MS = 1_000_000;
    private static final long SECOND = 1_000 * MS;
    private static final long GIVE_UP_NS = DeviceLimits.defaults().giveUpNs();

    private static void expectFailed(Pair pair, long fromNs) {
        pair.lab.expect(
                "failed",
                () -> pair.clientEnd.connection.state() == ConnectionState.FAILED,
                2 * GIVE_UP_NS);
        assertThat(pair.lab.nowNs() - fromNs).isBetween(GIVE_UP_NS * 9 / 10, GIVE_UP_NS * 12 / 10);
        pair.clientEnd.poll();
        assertThat(pair.clientEnd.sends.get(0).status()).isEqualTo(WcStatus.RETRY_EXCEEDED_ERROR);
    }

    @ParameterizedTest
    @EnumSource(Profile.class)
    void aPeerThatDiesInMidTransferFailsTheConnection(Profile profile) {
        Pair pair = new Pair(1, Profiles.only(profile).build(), 1, 1 << 20).connect();
        pair.lab.link(100_000_000L, MS, 100 * MS);
        pair.write(0, 1, 0, 1 << 20);
        pair.lab.advance(20 * MS);
        long start = pair.lab.nowNs();
        pair.server.kill();
        expectFailed(pair, start);

        assertThat(pair.clientEnd.connection.failure()).contains("went silent");
    }

    /** Case O05: without a lease at hand, too, a peer that died is not one that never was. */
    @Test
    void aPeerThatDiesBetweenTwoLeasesWentSilent() {
        Pair pair = new Pair(1, DeviceLimits.defaults(), 1, 1 << 20).connect();
        pair.lab.advance(SECOND);
        assertThat(pair.clientEnd.connection.cid()).isEqualTo(-1);
        pair.server.kill();
        long start = pair.lab.nowNs();
        pair.write(0, 1, 0, 4096);
        expectFailed(pair, start);

        assertThat(pair.clientEnd.connection.failure())
                .contains("went silent")
                .contains(pair.server.address.toString());
    }

    /**
     * A lease that lay idle for longer than the give-up time has its time from the first packet on.
     */
    @Test
    void idleTimeDoesNotCount() {
        DeviceLimits limits = DeviceLimits.defaults().toBuilder().lingerNs(100 * SECOND).build();
        Pair pair = new Pair(1, limits, 1, 1 << 20).connect();
        pair.clientEnd.fill(pair.lab.rng("data"));
        pair.write(0, 1, 0, 4096);
        pair.expectSends(1, SECOND);
        // Not even keepalives arrive while nothing is sent.
        pair.lab.addFault(packet -> packet.from == pair.server ? 0 : 1);
        pair.lab.advance(3 * SECOND);
        pair.lab.heal();
        pair.lab.advance(2 * SECOND);
        pair.lab.addFault(packet -> packet.from == pair.server ? 0 : 1);
        pair.lab.advance(3 * SECOND);
        long start = pair.lab.nowNs();
        pair.write(0, 2, 0, 1 << 20);
        pair.lab.advance(500 * MS);
        assertThat(pair.clientEnd.connection.failure()).isEmpty();
        pair.lab.heal();
        pair.expectSends(2, start + SECOND - pair.lab.nowNs());
        assertThat(pair.mismatch()).isEqualTo(-1);
    }

    /** One packet of one stream never gets through; everything else does. */
    @Test
    void onePacketThatNeverArrivesFailsTheConnectionThoughOthersDo() {
        Pair pair = new Pair(1, DeviceLimits.defaults(), 2, 1 << 20).connect();
        pair.lab.addFault(
                packet -> {
                    boolean first =
                            RawPacket.isData(packet.bytes) && RawPacket.stream(packet.bytes) == 0;
                    return first ? 0 : 1;
                });
        pair.write(0, 1, 0, 100);
        long start = pair.lab.nowNs();
        for (int i = 0; i < 600 && pair.clientEnd.connection.failure().isEmpty(); i++) {
            pair.write(1, 2, 4096, 4096);
            pair.lab.advance(10 * MS);
            pair.clientEnd.poll();
        }

        assertThat(pair.clientEnd.connection.state()).isEqualTo(ConnectionState.FAILED);
        assertThat(pair.lab.nowNs() - start).isBetween(GIVE_UP_NS * 9 / 10, GIVE_UP_NS * 12 / 10);
    }
}
