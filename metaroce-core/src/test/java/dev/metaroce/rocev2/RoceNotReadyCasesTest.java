package dev.metaroce.rocev2;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.CounterId;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.testing.Pair;
import dev.metaroce.testing.RocePackets;
import dev.metaroce.transport.ConnectionState;
import dev.metaroce.verbs.QueuePair;
import dev.metaroce.verbs.QueuePairOptions;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.util.function.UnaryOperator;

/** Case A07 for RoCEv2: how often and how long a sender tries that finds no receive. */
class RoceNotReadyCasesTest {
    private static final long MS = 1_000_000;
    private static final long SECOND = 1_000 * MS;

    private static Pair pair(int rnrRetry, int rnrTimerUs) {
        Pair pair = Pair.ofRoce(7, RocePackets.mtu(1024), UnaryOperator.identity(), 0, 1 << 20);
        addStream(pair, rnrRetry, rnrTimerUs);
        pair.connect();
        pair.clientEnd.fill(pair.lab.rng("data"));
        return pair;
    }

    private static void addStream(Pair pair, int rnrRetry, int rnrTimerUs) {
        Pair.End client = pair.clientEnd;
        Pair.End server = pair.serverEnd;
        pair.addStream(
                QueuePairOptions.of(client.sendQueue, client.receiveQueue)
                        .rnrRetry(rnrRetry)
                        .build(),
                QueuePairOptions.of(server.sendQueue, server.receiveQueue)
                        .minRnrTimerUs(rnrTimerUs)
                        .build());
    }

    private static long untilOutcome(Pair pair, WcStatus status) {
        pair.clientEnd.sends.clear();
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

    @Test
    @DisplayName("A07: with retry 0 the first refusal is the end of the send")
    void a07NoRetryFailsAtOnce() {
        Pair pair = pair(0, 10_000);
        pair.send(0, 1, 0, 100);

        assertThat(untilOutcome(pair, WcStatus.RNR_RETRY_EXCEEDED_ERROR)).isLessThan(MS);
        assertThat(pair.server.count(CounterId.RNR_NAKS_SENT)).isEqualTo(1);
        assertThat(pair.client.count(CounterId.RNR_NAKS_RECEIVED)).isEqualTo(1);
        assertThat(pair.clientEnd.connection.state()).isEqualTo(ConnectionState.OPEN);
    }

    /** 10 ms are told as 10.24 ms, the next of the table. */
    @Test
    @DisplayName("A07: with retry 3 and 10 ms the send fails after about 30 ms")
    void a07ThreeRetriesOfTenMilliseconds() {
        Pair pair = pair(3, 10_000);
        pair.send(0, 1, 0, 100);

        assertThat(untilOutcome(pair, WcStatus.RNR_RETRY_EXCEEDED_ERROR))
                .isBetween(3 * 10_240_000L, 3 * 10_240_000L + MS);
        assertThat(pair.server.count(CounterId.RECEIVER_NOT_READY)).isEqualTo(4);
    }

    @Test
    @DisplayName("A07: with retry 7 a receive is found after half a second, or after half a minute")
    void a07RetryForEver() {
        Pair pair = pair(7, 10_000);
        pair.send(0, 1, 0, 50_000);
        pair.lab.advance(500 * MS);
        pair.receive(0, 1, 0, 50_000);
        assertThat(untilOutcome(pair, WcStatus.SUCCESS)).isLessThan(12 * MS);
        pair.send(0, 2, 0, 50_000);
        pair.lab.advance(30 * SECOND);
        pair.receive(0, 2, 0, 50_000);

        assertThat(untilOutcome(pair, WcStatus.SUCCESS)).isLessThan(12 * MS);
        assertThat(pair.client.count(CounterId.RTO_FIRED)).isZero();
    }

    @Test
    @DisplayName("A07: another queue pair loses less than a tenth of its rate meanwhile")
    void a07AnotherQueuePairHardlyNotices() {
        int alone = writesOfAnother(false);
        int beside = writesOfAnother(true);

        assertThat(alone).isGreaterThan(500);
        assertThat(beside).isGreaterThan(alone * 9 / 10);
    }

    private static int writesOfAnother(boolean refused) {
        Pair pair = pair(7, 1000);
        pair.lab.link(1_000_000_000L, MS, 10 * MS);
        addStream(pair, 7, 1000);
        QueuePair other = pair.clientEnd.pairs.get(1);
        for (int i = 0; i < 20 && refused; i++) {
            pair.send(0, i, 0, 40_000);
        }
        long end = pair.lab.nowNs() + 500 * MS;
        int posted = 0;
        while (pair.lab.nowNs() < end) {
            pair.clientEnd.poll();
            while (posted < pair.clientEnd.sends.size() + 16) {
                other.postWrite(
                        posted++,
                        pair.clientEnd.region,
                        0,
                        1 << 16,
                        pair.serverEnd.region.address(),
                        pair.serverEnd.region.rkey());
            }
            pair.lab.step();
        }
        assertThat(pair.client.count(CounterId.RNR_NAKS_RECEIVED) > 0).isEqualTo(refused);
        return pair.clientEnd.sends.size();
    }

    /** All packets of a window that are refused together are one try. */
    @Test
    void aLongMessageIsRefusedOnce() {
        Pair pair = pair(1, 5_000);
        pair.send(0, 1, 0, 1 << 20);
        pair.lab.advance(3 * MS);
        pair.receive(0, 1, 0, 1 << 20);
        pair.expectSends(1, SECOND);

        assertThat(pair.server.count(CounterId.RNR_NAKS_SENT)).isEqualTo(1);
        assertThat(pair.server.count(CounterId.SEQUENCE_NAKS_SENT)).isZero();
        assertThat(pair.mismatch()).isEqualTo(-1);
    }

    /** Only the last packet of a WRITE with immediate needs a receive, and only it is repeated. */
    @Test
    void aWriteWithImmediateWaitsWithItsLastPacket() {
        Pair pair = pair(7, 1_000);
        Pair.must(
                1,
                pair.clientEnd
                        .qp()
                        .postWriteWithImmediate(
                                1,
                                pair.clientEnd.region,
                                0,
                                10_000,
                                pair.serverEnd.region.address(),
                                pair.serverEnd.region.rkey(),
                                5,
                                true));
        pair.lab.advance(MS / 2);
        pair.receive(0, 1, 0, 0);
        pair.expectSends(1, SECOND);
        pair.expectReceives(1, SECOND);

        assertThat(pair.client.count(CounterId.DATA_SENT)).isEqualTo(10);
        assertThat(pair.client.count(CounterId.DATA_RESENT)).isEqualTo(1);
        assertThat(pair.serverEnd.receives.get(0).immediate()).isEqualTo(5);
    }

    /** Who did not say how often, tries for the give-up time of the device, 4 s. */
    @Test
    void withoutACountTheGiveUpTimeOfTheDeviceCounts() {
        Pair pair = pair(QueuePairOptions.UNTIL_GIVE_UP, 10_000);
        pair.send(0, 1, 0, 100);

        assertThat(untilOutcome(pair, WcStatus.RNR_RETRY_EXCEEDED_ERROR))
                .isBetween(4 * SECOND, 4 * SECOND + 20 * MS);
    }
}
