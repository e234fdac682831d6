package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.metaroce.event.CounterId;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.testing.Pair;
import dev.metaroce.testing.Profiles;
import dev.metaroce.testing.Seeded;
import dev.metaroce.util.Rng;
import dev.metaroce.verbs.QueuePairOptions;
import dev.metaroce.wire.Profile;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Case A07: how often and how long a sender tries that finds no receive. */
class ReceiverNotReadyTest {
    private static final long US = 1_000;
    private static final long MS = 1_000_000;
    private static final long SECOND = 1_000 * MS;

    private static Pair pair(DeviceLimits.Builder limits) {
        Pair pair = new Pair(7, limits.build(), 1, 1 << 20).connect();
        pair.clientEnd.fill(pair.lab.rng("data"));
        return pair;
    }

    private static Pair pair(Profile profile) {
        return pair(Profiles.only(profile));
    }

    /** Opens a stream with this patience at the client and this timer at the server. */
    private static int stream(Pair pair, int retry, int timerUs) {
        pair.serverEnd.pairs.add(
                pair.serverEnd.connection.createQueuePair(
                        pair.serverEnd.domain,
                        QueuePairOptions.of(pair.serverEnd.sendQueue, pair.serverEnd.receiveQueue)
                                .minRnrTimerUs(timerUs)
                                .build()));
        pair.clientEnd.pairs.add(
                pair.clientEnd.connection.createQueuePair(
                        pair.clientEnd.domain,
                        QueuePairOptions.of(pair.clientEnd.sendQueue, pair.clientEnd.receiveQueue)
                                .rnrRetry(retry)
                                .build()));
        return pair.clientEnd.pairs.size() - 1;
    }

    /** Runs until the first outcome, and returns how long that took. */
    private static long untilOutcome(Pair pair, WcStatus status) {
        long start = pair.lab.nowNs();
        pair.lab.expect(
                "an outcome",
                () -> {
                    pair.clientEnd.poll();
                    return !pair.clientEnd.sends.isEmpty();
                },
                100 * SECOND);
        assertThat(pair.clientEnd.sends.get(0).status()).isEqualTo(status);
        return pair.lab.nowNs() - start;
    }

    @ParameterizedTest
    @EnumSource(Profile.class)
    @DisplayName("A07: with retry 0 the first refusal is the end of the send")
    void a07NoRetryFailsAtOnce(Profile profile) {
        Pair pair = pair(profile);
        pair.send(stream(pair, 0, 10_000), 1, 0, 100);
        long ns = untilOutcome(pair, WcStatus.RNR_RETRY_EXCEEDED_ERROR);

        assertThat(ns).isLessThan(2 * MS);
        assertThat(pair.server.count(CounterId.RECEIVER_NOT_READY)).isEqualTo(1);
        assertThat(pair.clientEnd.connection.state()).isEqualTo(ConnectionState.OPEN);
    }

    @ParameterizedTest
    @EnumSource(Profile.class)
    @DisplayName("A07: with retry 3 and 10 ms the send fails after about 30 ms")
    void a07ThreeRetriesOfTenMilliseconds(Profile profile) {
        Pair pair = pair(profile);
        pair.send(stream(pair, 3, 10_000), 1, 0, 100);
        long ns = untilOutcome(pair, WcStatus.RNR_RETRY_EXCEEDED_ERROR);

        assertThat(ns).isBetween(30 * MS, 33 * MS);
        assertThat(pair.server.count(CounterId.RECEIVER_NOT_READY)).isEqualTo(4);
    }

    @ParameterizedTest
    @EnumSource(Profile.class)
    @DisplayName("A07: with retry 7 a receive is found after half a second, or after half a minute")
    void a07RetryForEver(Profile profile) {
        Pair pair = pair(profile);
        int stream = stream(pair, 7, 10_000);
        pair.send(stream, 1, 0, 50_000);
        pair.lab.advance(500 * MS);
        pair.receive(stream, 1, 0, 50_000);
        assertThat(untilOutcome(pair, WcStatus.SUCCESS)).isLessThan(12 * MS);
        pair.send(stream, 2, 0, 50_000);
        pair.lab.advance(30 * SECOND);
        pair.receive(stream, 2, 0, 50_000);
        pair.expectSends(2, 12 * MS);

        assertThat(pair.clientEnd.connection.state()).isEqualTo(ConnectionState.OPEN);
    }

    @ParameterizedTest
    @EnumSource(Profile.class)
    @DisplayName("A07: another connection loses less than a tenth of its rate meanwhile")
    void a07AnotherConnectionHardlyNotices(Profile profile) {
        int alone = writesOfAnother(profile, false);
        int beside = writesOfAnother(profile, true);

        assertThat(alone).isGreaterThan(500);
        assertThat(beside).isGreaterThan(alone * 9 / 10);
    }

    private static int writesOfAnother(Profile profile, boolean refused) {
        Pair pair = new Pair(7, Profiles.only(profile).build(), 1, 1 << 20);
        pair.lab.link(1_000_000_000L, MS, 10 * MS);
        pair.connect();
        Pair.End other = pair.dialAgain();
        pair.lab.expect(
                "connected", () -> other.connection.state() == ConnectionState.OPEN, SECOND);
        int stream = stream(pair, 7, 1000);
        for (int i = 0; i < 20 && refused; i++) {
            pair.send(stream, i, 0, 40_000);
        }
        long end = pair.lab.nowNs() + 500 * MS;
        int posted = 0;
        while (pair.lab.nowNs() < end) {
            other.poll();
            while (posted < other.sends.size() + 16) {
                other.qp()
                        .postWrite(
                                posted++,
                                other.region,
                                0,
                                1 << 16,
                                pair.serverEnd.region.address(),
                                pair.serverEnd.region.rkey());
            }
            pair.lab.step();
        }
        assertThat(pair.client.count(CounterId.NAKS_RECEIVED) > 0).isEqualTo(refused);
        return other.sends.size();
    }

    /** Streams that share a path keep their own time. */
    @Test
    void aShortPauseOfOneStreamDoesNotShortenTheLongOneOfAnother() {
        Pair pair = pair(Profiles.only(Profile.M).maxPaths(1));
        int patient = stream(pair, 7, 200);
        int strict = stream(pair, 3, 10_000);
        pair.send(patient, 1, 0, 100);
        pair.send(strict, 2, 0, 100);
        long ns = untilOutcome(pair, WcStatus.RNR_RETRY_EXCEEDED_ERROR);

        assertThat(pair.clientEnd.sends.get(0).wrId()).isEqualTo(2);
        assertThat(ns).isBetween(30 * MS, 33 * MS);
        pair.receive(patient, 1, 0, 100);
        pair.lab.advance(5 * MS);
        pair.clientEnd.poll();
        assertThat(pair.clientEnd.sends.getLast().wrId()).isEqualTo(1);
        assertThat(pair.clientEnd.sends.getLast().status()).isEqualTo(WcStatus.SUCCESS);
    }

    /** All packets of a window that are refused together are one try. */
    @ParameterizedTest
    @EnumSource(Profile.class)
    void aLongMessageIsRefusedOnce(Profile profile) {
        Pair pair = pair(profile);
        int stream = stream(pair, 1, 5_000);
        pair.send(stream, 1, 0, 1 << 20);
        pair.lab.advance(3 * MS);
        pair.receive(stream, 1, 0, 1 << 20);
        pair.expectSends(1, SECOND);
        pair.expectReceives(1, SECOND);
        assertThat(pair.mismatch()).isEqualTo(-1);
    }

    /** The count holds whatever gets lost: never too few tries, never without end. */
    @Seeded(cases = 30)
    void triesAreCountedOverALossyNetwork(long seed) {
        Rng rng = new Rng(seed);
        Pair pair = pair(Profiles.only(rng.chance(0.5) ? Profile.M : Profile.S));
        int stream = stream(pair, 3, 10_000);
        pair.lab.addFault(packet -> rng.chance(0.2) ? 0 : 1);
        pair.send(stream, 1, 0, 1 + rng.nextInt(50_000));
        long ns = untilOutcome(pair, WcStatus.RNR_RETRY_EXCEEDED_ERROR);
        assertThat(ns).isBetween(30 * MS, SECOND);
    }

    /** Who set nothing waits as long as asked, too, and fails by time. */
    @Test
    void theTargetsTimerIsHeededWithoutRetrySetting() {
        Pair pair = pair(Profile.M);
        pair.send(stream(pair, QueuePairOptions.UNTIL_GIVE_UP, 500_000), 1, 0, 100);
        long ns = untilOutcome(pair, WcStatus.RNR_RETRY_EXCEEDED_ERROR);

        assertThat(ns).isBetween(4 * SECOND, 5 * SECOND);
        assertThat(pair.server.count(CounterId.RECEIVER_NOT_READY)).isBetween(8L, 10L);
    }

    /** A pause that is longer than the give-up time does not end the connection. MR-4.5-12. */
    @Test
    void aPauseBeyondTheGiveUpTimeIsNoReasonToGiveUp() {
        Pair pair = pair(DeviceLimits.defaults().toBuilder().giveUpNs(300 * MS));
        int stream = stream(pair, 7, 655_360);
        pair.send(stream, 1, 0, 100);
        pair.lab.advance(3 * SECOND);
        pair.receive(stream, 1, 0, 100);
        pair.expectSends(1, 655_360 * US + MS);
        assertThat(pair.clientEnd.connection.failure()).isEmpty();
    }

    /** Who waits for ever does so for a target that says so. MR-4.5-12. */
    @Test
    void aTargetThatDiesWhileASenderWaitsForItsReceiveIsNoticed() {
        Pair pair = pair(DeviceLimits.defaults().toBuilder().giveUpNs(300 * MS));
        int stream = stream(pair, 7, 5_000);
        pair.send(stream, 1, 0, 100);
        pair.lab.advance(SECOND);
        assertThat(pair.clientEnd.connection.state()).isEqualTo(ConnectionState.OPEN);
        pair.server.kill();
        assertThat(untilOutcome(pair, WcStatus.RETRY_EXCEEDED_ERROR)).isLessThan(SECOND);
        assertThat(pair.clientEnd.connection.failure()).contains("went silent");
    }

    @Test
    void settingsOutOfRangeAreNamed() {
        Pair pair = pair(Profile.M);
        QueuePairOptions.Builder options =
                QueuePairOptions.of(pair.clientEnd.sendQueue, pair.clientEnd.sendQueue);
        assertThatThrownBy(() -> options.rnrRetry(8).build())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("rnrRetry 8")
                .hasMessageContaining("7");
        assertThatThrownBy(() -> options.rnrRetry(0).minRnrTimerUs(0).build())
                .hasMessageContaining("minRnrTimerUs 0");
        assertThatThrownBy(() -> options.minRnrTimerUs(1).maxSendSge(17).build())
                .hasMessageContaining("maxSendSge 17");
    }
}
