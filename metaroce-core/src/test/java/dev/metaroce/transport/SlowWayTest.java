package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.CounterId;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.testing.Pair;
import dev.metaroce.testing.Peers;
import dev.metaroce.testing.Profiles;
import dev.metaroce.wire.Profile;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

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
}
