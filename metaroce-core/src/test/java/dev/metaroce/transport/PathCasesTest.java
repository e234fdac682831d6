package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.CounterId;
import dev.metaroce.testing.Pair;
import dev.metaroce.testing.Profiles;
import dev.metaroce.testing.Sender;
import dev.metaroce.wire.Profile;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Cases L06, L07, L09, L10: what goes wrong with paths, not with packets. */
class PathCasesTest {
    private static final long MS = 1_000_000;
    private static final long SECOND = 1_000 * MS;

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    @DisplayName("L07: a route that goes dead costs a second at most and no error")
    void l07ADeadRouteIsLeft(boolean bothDirections) {
        DeviceLimits limits = Profiles.only(Profile.M).maxPaths(8).routes(8).build();
        Pair pair = new Pair(7, limits, 1, 1 << 20);
        pair.lab.link(1_000_000_000L, MS / 10, 20 * MS);
        pair.connect();
        Sender sender = new Sender(pair, 0, 1 << 16, 64);
        Sender.run(pair, 100 * MS, sender);
        long healthy = Sender.run(pair, 500 * MS, sender)[0];
        pair.lab.addFault(
                packet ->
                        packet.route == 3 && (bothDirections || packet.from == pair.client)
                                ? 0
                                : 1);
        Sender.run(pair, SECOND, sender);
        long during = Sender.run(pair, 500 * MS, sender)[0];
        assertThat(pair.client.count(CounterId.REROUTES)).isPositive();
        pair.lab.heal();
        Sender.run(pair, SECOND, sender);
        long after = Sender.run(pair, 500 * MS, sender)[0];

        assertThat(during).isGreaterThan(healthy * 8 / 10);
        assertThat(after).isGreaterThan(healthy * 9 / 10);
    }

    @ParameterizedTest
    @CsvSource({"M,1", "M,2", "M,8", "S,1"})
    @DisplayName("L07: a route that is dead towards the initiator only loses no answer for good")
    void l07ARouteDeadForAnswersOnlyIsLeft(Profile profile, int paths) {
        for (int dead = 1; dead <= paths; dead++) {
            int route = dead;
            Pair pair = new Pair(7, Profiles.only(profile).maxPaths(paths).build(), 1, 4 << 20);
            pair.lab.addFault(
                    packet -> packet.route == route && packet.from == pair.server ? 0 : 1);
            pair.connect();
            pair.clientEnd.fill(pair.lab.rng("data"));
            for (int i = 0; i < 64; i++) {
                pair.write(0, i, i << 16, 1 << 16);
            }
            pair.expectSends(64, SECOND);
            assertThat(pair.mismatch()).isEqualTo(-1);
        }
    }
}
