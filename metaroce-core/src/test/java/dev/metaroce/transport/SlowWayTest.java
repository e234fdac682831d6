package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.CounterId;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.testing.Pair;
import dev.metaroce.testing.Peers;
import dev.metaroce.testing.Profiles;
import dev.metaroce.testing.RawPacket;
import dev.metaroce.wire.PacketType;
import dev.metaroce.wire.Profile;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Round trips of hundreds of milliseconds, with the limits that come by default. */
class SlowWayTest {
    private static final long MS = 1_000_000;
    private static final long SECOND = 1_000 * MS;

    @ParameterizedTest
    @CsvSource({"S,20", "M,20", "S,200", "M,200", "S,500", "M,500"})
    void aTransferOverALongWayIsOrdinary(Profile profile, long oneWayMs) {
        Pair pair = new Pair(1, Profiles.only(profile).build(), 1, 1 << 20);
        pair.lab.latencyNs(oneWayMs * MS);
        pair.connect();
        pair.clientEnd.fill(pair.lab.rng("data"));
        for (int i = 0; i < 16; i++) {
            pair.write(0, i, i << 16, 1 << 16);
            if (i % 4 == 3) {
                pair.expectSends(i + 1, 20 * SECOND);
                pair.lab.advance(SECOND);
            }
        }

        assertThat(pair.mismatch()).isEqualTo(-1);
        assertThat(pair.client.count(CounterId.DATA_RESENT)).isZero();
        assertThat(pair.client.count(CounterId.REROUTES)).isZero();
    }

    /** More initiators than contexts, each further away than a grant may stay unused. */
    @ParameterizedTest
    @EnumSource(ExhaustionPolicy.class)
    void farInitiatorsShareAFewContexts(ExhaustionPolicy policy) {
        DeviceLimits limits =
                DeviceLimits.defaults().toBuilder()
                        .contexts(2)
                        .policy(policy)
                        .packetLifetimeNs(10 * MS)
                        .build();
        DeviceLimits patient = DeviceLimits.defaults().toBuilder().giveUpNs(300 * SECOND).build();
        Peers peers = new Peers(1, limits, 8, 1 << 16, 8);
        peers.lab.latencyNs(300 * MS);
        peers.add(8, patient);
        for (Peers.Client client : peers.clients) {
            client.write(1 << 16);
            client.write(1 << 16);
        }
        peers.expectDone(200 * SECOND);

        assertThat(peers.clients)
                .allMatch(Peers.Client::isPlaced)
                .allMatch(
                        c -> c.completions.stream().allMatch(w -> w.status() == WcStatus.SUCCESS));
    }

    /**
     * All DATA and probes of a holder are lost for longer than a holder may be silent. Whether it
     * was asked to give the context back or not, it is there and says so.
     */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aHolderWhoseDataIsLostForAWhileKeepsItsContext(boolean othersWait) {
        DeviceLimits limits =
                DeviceLimits.defaults().toBuilder()
                        .contexts(1)
                        .silenceNs(250 * MS)
                        .packetLifetimeNs(10 * MS)
                        .build();
        Peers peers = new Peers(1, limits, 2, 1 << 20, 8);
        peers.lab.latencyNs(50 * MS);
        Peers.Client holder = peers.add(DeviceLimits.defaults());
        holder.write(1 << 20);
        peers.lab.expect("data", () -> peers.server.count(CounterId.DATA_ACCEPTED) > 9, SECOND);
        if (othersWait) {
            peers.add(DeviceLimits.defaults()).write(1 << 20);
        }
        peers.lab.advance(100 * MS);
        int[] lost = new int[1];
        long untilNs = peers.lab.nowNs() + SECOND;
        peers.lab.addFault(
                packet -> {
                    boolean said =
                            RawPacket.isData(packet.bytes)
                                    || RawPacket.is(packet.bytes, PacketType.PROBE);
                    boolean drop = said && peers.lab.nowNs() < untilNs;
                    lost[0] += drop ? 1 : 0;
                    return drop ? 0 : 1;
                });
        peers.expectDone(20 * SECOND);

        assertThat(lost[0]).isPositive();
        assertThat(peers.server.count(CounterId.RECLAIMS)).isEqualTo(othersWait ? 1 : 0);
        assertThat(peers.server.count(CounterId.EXPIRED)).isZero();
        assertThat(peers.clients).allMatch(Peers.Client::isPlaced);
    }

    /**
     * A target that was busy when it was asked, as one that just started: the wait for its grant
     * says little of the way, and must not be the measure of how long a lost packet is waited for.
     */
    @Test
    void aLateGrantDoesNotMakeLossesExpensive_E01() {
        DeviceLimits patient = DeviceLimits.defaults().toBuilder().lingerNs(100 * SECOND).build();
        Pair pair = new Pair(1, patient, 1, 1 << 16);
        pair.lab.latencyNs(500 * MS);
        pair.connect();
        pair.lab.latencyNs(MS / 200);
        for (int i = 1; i <= 16; i++) {
            pair.write(0, i, 0, 100);
            pair.expectSends(i, SECOND);
        }
        boolean[] dropped = new boolean[1];
        pair.lab.addFault(
                packet -> {
                    boolean hit = !dropped[0] && RawPacket.isData(packet.bytes);
                    dropped[0] |= hit;
                    return hit ? 0 : 1;
                });
        pair.write(0, 17, 0, 100);
        pair.expectSends(17, 20 * MS);
        assertThat(dropped[0]).isTrue();
    }
}
