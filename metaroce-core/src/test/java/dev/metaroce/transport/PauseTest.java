package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.CounterId;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.testing.Lab;
import dev.metaroce.testing.Pair;
import dev.metaroce.verbs.Connection;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Case J01 in virtual time: a process is stopped in mid transfer and goes on later. */
class PauseTest {
    private static final long MS = 1_000_000;
    private static final long SECOND = 1_000 * MS;
    private static final long GIVE_UP_NS = DeviceLimits.defaults().giveUpNs();

    /** A transfer of half a second, 10 ms under way. */
    private static Pair transfer() {
        Pair pair = new Pair(1, DeviceLimits.defaults(), 1, 8 << 20).connect();
        pair.lab.link(100_000_000L, MS, 100 * MS);
        pair.clientEnd.fill(pair.lab.rng("data"));
        for (int i = 0; i < 128; i++) {
            pair.write(0, i, i << 16, 1 << 16);
        }
        pair.lab.advance(10 * MS);
        return pair;
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    @DisplayName("J01: after half the give-up time a transfer goes on, and little is sent again")
    void j01AShortPauseIsSurvived(boolean senderStops) {
        Pair pair = transfer();
        Lab.Node stopped = senderStops ? pair.client : pair.server;
        stopped.stop();
        pair.lab.advance(GIVE_UP_NS / 2);
        stopped.goOn();
        pair.expectSends(128, 5 * SECOND);

        assertThat(pair.mismatch()).isEqualTo(-1);
        assertThat(stopped.count(CounterId.PAUSES)).isOne();
        // What was on the way, and that again for each time its paths were changed.
        long windows = 8L * 256;
        assertThat(pair.client.count(CounterId.DATA_RESENT)).isLessThan(windows);
        assertThat(pair.server.count(CounterId.CONNECTIONS_FAILED)).isZero();
    }

    /** A holder with nothing to send answers what waits in its socket, though the lease is lost. */
    @ParameterizedTest
    @ValueSource(longs = {10, 60_000})
    @DisplayName("J01: an idle peer that was stopped for longer than it may be silent lives on")
    void j01AnIdlePeerIsNotTakenForDead(long lingerMs) {
        DeviceLimits limits = DeviceLimits.defaults().toBuilder().lingerNs(lingerMs * MS).build();
        Pair pair = new Pair(2, limits, DeviceLimits.defaults(), 1, 1 << 16).connect();
        pair.write(0, 1, 0, 4096);
        pair.expectSends(1, SECOND);
        pair.client.stop();
        pair.lab.advance(2 * DeviceLimits.defaults().silenceNs() + SECOND);
        assertThat(pair.server.device.contextsInUse()).isZero();
        pair.client.goOn();
        pair.lab.advance(4 * GIVE_UP_NS);

        assertThat(pair.serverEnd.connection.state()).isEqualTo(ConnectionState.OPEN);
        pair.write(0, 2, 0, 4096);
        pair.expectSends(2, SECOND);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    @DisplayName("J01: after three times the give-up time both ends fail, and the pause is named")
    void j01ALongPauseIsAnErrorAtBothEnds(boolean senderStops) {
        Pair pair = transfer();
        Lab.Node stopped = senderStops ? pair.client : pair.server;
        Connection here = (senderStops ? pair.clientEnd : pair.serverEnd).connection;
        Connection there = (senderStops ? pair.serverEnd : pair.clientEnd).connection;
        stopped.stop();
        pair.lab.advance(3 * GIVE_UP_NS);

        assertThat(there.state()).isEqualTo(ConnectionState.FAILED);
        assertThat(there.failure()).contains("silen").doesNotContain("did not run");
        stopped.goOn();
        pair.lab.expect("failed", () -> here.state() == ConnectionState.FAILED, SECOND);
        assertThat(here.failure())
                .contains("did not run for 12.0 s (stopped or starved)")
                .contains(there == pair.clientEnd.connection ? "ended the connection" : "");
        pair.clientEnd.poll();
        assertThat(pair.clientEnd.sends).hasSize(128);
        assertThat(pair.clientEnd.sends.get(127).status()).isNotEqualTo(WcStatus.SUCCESS);

        // The next connection is as good as any.
        Pair.End again = pair.dialAgain();
        pair.lab.expect(
                "connected anew", () -> again.connection.state() == ConnectionState.OPEN, SECOND);
        pair.lab.advance(2 * SECOND);
        assertThat(again.connection.failure()).isEmpty();
        pair.expectNoContexts(SECOND);
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 1, 10, 100, 1_000, 2_000})
    @DisplayName("J01: a sender that goes on when its target has just given up fails, too")
    void j01ASenderGoesOnWhenItsTargetHasGivenUp(long laterMs) {
        Pair pair = transfer();
        Connection there = pair.serverEnd.connection;
        pair.client.stop();
        pair.lab.expect("given up", () -> there.state() == ConnectionState.FAILED, 4 * GIVE_UP_NS);
        pair.lab.advance(laterMs * MS);
        pair.client.goOn();
        Connection here = pair.clientEnd.connection;
        pair.lab.expect("failed", () -> here.state() == ConnectionState.FAILED, SECOND);

        assertThat(here.failure()).contains("did not run for");
    }
}
