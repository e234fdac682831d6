package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.metaroce.event.AsyncEventType;
import dev.metaroce.event.CounterId;
import dev.metaroce.ring.PostResult;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.testing.Pair;
import dev.metaroce.testing.RawPacket;
import dev.metaroce.testing.Seeded;
import dev.metaroce.util.Rng;
import dev.metaroce.verbs.AsyncEvent;
import dev.metaroce.verbs.AsyncEvents;
import dev.metaroce.verbs.QueuePair;
import dev.metaroce.verbs.QueuePairOptions;
import dev.metaroce.verbs.ReceiveRequest;
import dev.metaroce.verbs.SharedReceiveQueue;
import dev.metaroce.wire.Opcode;

import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;

/** One receive queue for the streams of several connections. MR-4.9-9 to MR-4.9-13. */
class SharedReceivesTest {
    private static final long MS = 1_000_000;
    private static final long SECOND = 1_000 * MS;
    private static final int SLOT = 8192;

    private final ReceiveRequest receive = new ReceiveRequest();

    /** Two connections with a stream each, number 1, that shares its receives at the server. */
    private static final class Shared {
        final Pair pair;
        final List<Pair.End> ends = new ArrayList<>();
        final List<QueuePair> senders = new ArrayList<>();
        final List<QueuePair> takers = new ArrayList<>();
        final SharedReceiveQueue queue;

        Shared(long seed, int depth) {
            DeviceLimits limits = DeviceLimits.defaults().toBuilder().payloadMtu(1024).build();
            pair = new Pair(seed, limits, 1, 1 << 20).connect();
            pair.clientEnd.fill(pair.lab.rng("data"));
            queue = pair.server.device.createSharedReceiveQueue(pair.serverEnd.domain, depth, 2, 0);
            add(pair.clientEnd);
            Pair.End second = pair.dialAgain();
            pair.lab.expect(
                    "connected", () -> second.connection.state() == ConnectionState.OPEN, SECOND);
            second.fill(pair.lab.rng("more"));
            add(second);
        }

        private void add(Pair.End end) {
            QueuePairOptions options =
                    QueuePairOptions.of(pair.serverEnd.sendQueue, pair.serverEnd.receiveQueue)
                            .sharedReceiveQueue(queue)
                            .build();
            takers.add(pair.serverEnd.connection.createQueuePair(pair.serverEnd.domain, options));
            senders.add(
                    end.connection.createQueuePair(
                            end.domain,
                            QueuePairOptions.of(end.sendQueue, end.receiveQueue).build()));
            ends.add(end);
        }

        void send(int connection, long wrId, long at, long length) {
            Pair.must(
                    wrId,
                    senders.get(connection)
                            .postSend(wrId, ends.get(connection).region, at, length));
        }
    }

    private void post(Shared shared, int from, int count) {
        for (int i = from; i < from + count; i++) {
            receive.wrId(i).local(shared.pair.serverEnd.region, i * (long) SLOT, 100);
            receive.add(shared.pair.serverEnd.region, i * (long) SLOT + 100, SLOT - 100);
            Pair.must(i, shared.queue.post(receive));
        }
    }

    /** Messages of both connections, over a bad network, into whatever receives there are. */
    @Seeded(cases = 25)
    void everyMessageTakesOneReceiveAndCompletesInStreamOrder(long seed) {
        Rng rng = new Rng(seed);
        Shared shared = new Shared(seed, 16);
        shared.pair.lab.addFault(
                packet -> {
                    packet.delayNs += rng.nextInt(200_000);
                    return rng.chance(0.05) ? 0 : 1;
                });
        int each = 40;
        for (int i = 0; i < each; i++) {
            shared.send(0, i, i * 20L, 1 + i * 60);
            shared.send(1, i, i * 20L, 1 + i * 70);
        }
        int[] next = new int[2];
        int posted = 0;
        WorkCompletion wc = new WorkCompletion();
        long end = shared.pair.lab.nowNs() + 100 * SECOND;
        while (next[0] + next[1] < 2 * each && shared.pair.lab.nowNs() < end) {
            if (posted < 2 * each && rng.chance(0.2)) {
                receive.wrId(posted % 100)
                        .local(shared.pair.serverEnd.region, posted % 100 * (long) SLOT, 50);
                receive.add(
                        shared.pair.serverEnd.region, posted % 100 * (long) SLOT + 50, SLOT - 50);
                posted += shared.queue.post(receive) == PostResult.OK ? 1 : 0;
            }
            shared.pair.lab.step();
            while (shared.pair.serverEnd.receiveQueue.poll(wc)) {
                assertThat(wc.status()).isEqualTo(WcStatus.SUCCESS);
                int from = shared.takers.indexOf(wc.owner());
                int number = next[from]++;
                int length = 1 + number * (from == 0 ? 60 : 70);
                assertThat(wc.byteLength()).isEqualTo(length);
                assertThat(
                                shared.pair
                                        .serverEnd
                                        .region
                                        .segment()
                                        .asSlice(wc.wrId() * SLOT, length)
                                        .mismatch(
                                                shared.ends
                                                        .get(from)
                                                        .region
                                                        .segment()
                                                        .asSlice(number * 20L, length)))
                        .isEqualTo(-1);
            }
        }
        assertThat(next).containsExactly(each, each);
    }

    /**
     * The packet of the second message comes first and there is one receive: it must not get it, or
     * the first would find none for ever.
     */
    @Test
    void theOnlyReceiveIsForTheFirstMessageThoughTheSecondComesFirst() {
        Shared shared = new Shared(1, 1);
        shared.pair.lab.addFault(
                packet -> {
                    boolean first =
                            RawPacket.isData(packet.bytes)
                                    && RawPacket.opcode(packet.bytes) == Opcode.SEND.code()
                                    && RawPacket.msn(packet.bytes) == 0;
                    packet.delayNs += first ? MS : 0;
                    return 1;
                });
        post(shared, 0, 1);
        shared.send(0, 1, 0, 100);
        shared.send(0, 2, 100, 200);
        shared.pair.expectReceives(1, SECOND);
        assertThat(shared.pair.serverEnd.receives.get(0).byteLength()).isEqualTo(100);
        post(shared, 1, 1);
        shared.pair.expectReceives(2, SECOND);
        assertThat(shared.pair.serverEnd.receives.get(1).byteLength()).isEqualTo(200);
    }

    /** Places come back when completions are polled, not before. */
    @Test
    void theQueueIsFullUntilCompletionsArePolled() {
        Shared shared = new Shared(1, 4);
        post(shared, 0, 4);
        receive.wrId(5);
        assertThat(shared.queue.post(receive)).isEqualTo(PostResult.QUEUE_FULL);
        for (int i = 0; i < 4; i++) {
            shared.send(i % 2, i, 0, 10);
        }
        shared.pair.lab.advance(100 * MS);
        assertThat(shared.queue.post(receive)).isEqualTo(PostResult.QUEUE_FULL);
        WorkCompletion wc = new WorkCompletion();
        assertThat(shared.pair.serverEnd.receiveQueue.poll(wc)).isTrue();
        assertThat(shared.queue.post(receive)).isEqualTo(PostResult.OK);
        assertThat(shared.queue.post(receive)).isEqualTo(PostResult.QUEUE_FULL);
    }

    @Test
    void theLimitIsToldOnceWhenArmed() {
        Shared shared = new Shared(1, 16);
        AsyncEvents events = shared.pair.server.device.events();
        post(shared, 0, 6);
        shared.queue.arm(4);
        shared.send(0, 1, 0, 10);
        shared.send(1, 2, 0, 10);
        shared.pair.expectReceives(2, SECOND);
        assertThat(events.poll()).as("four are left").isNull();
        assertThat(shared.queue.armed()).isEqualTo(4);
        shared.send(0, 3, 0, 10);
        shared.send(0, 4, 0, 10);
        shared.pair.expectReceives(4, SECOND);
        assertThat(events.poll())
                .extracting(AsyncEvent::type, AsyncEvent::source)
                .containsExactly(AsyncEventType.SRQ_LIMIT_REACHED, shared.queue);
        assertThat(events.poll()).isNull();
        assertThat(shared.queue.armed()).isZero();
        shared.queue.arm(1);
        shared.send(0, 5, 0, 10);
        shared.pair.expectReceives(5, SECOND);
        assertThat(events.poll()).isNull();
        shared.send(1, 6, 0, 10);
        shared.pair.expectReceives(6, SECOND);
        assertThat(events.poll()).isNotNull();
        assertThatThrownBy(() -> shared.queue.arm(17)).hasMessageContaining("17");
    }

    /** An empty queue refuses as a receive queue of one's own does. */
    @Test
    void anEmptyQueueMakesSendersWait() {
        Shared shared = new Shared(1, 16);
        shared.send(0, 1, 0, 5000);
        shared.pair.lab.advance(50 * MS);
        assertThat(shared.pair.server.count(CounterId.RECEIVER_NOT_READY)).isGreaterThan(0);
        post(shared, 0, 1);
        shared.pair.expectReceives(1, SECOND);
    }

    /** Errors of one stream: what it took is flushed, the others and the queue go on. */
    @Test
    void aFailedStreamGivesUpWhatItTookAndNothingElse() {
        Shared shared = new Shared(1, 16);
        receive.wrId(0).local(shared.pair.serverEnd.region, 0, 10);
        Pair.must(0, shared.queue.post(receive));
        post(shared, 1, 3);
        // The first packet of a long message takes a receive; then its sender is told to stop.
        shared.send(0, 1, 0, 11);
        shared.pair.lab.advance(100 * MS);
        shared.send(1, 2, 0, 4000);
        shared.pair.lab.advance(100 * MS);
        shared.pair.serverEnd.poll();

        assertThat(shared.pair.serverEnd.receives)
                .extracting(WorkCompletion::status)
                .containsExactly(WcStatus.LOCAL_LENGTH_ERROR, WcStatus.SUCCESS);
        assertThat(shared.pair.serverEnd.receives)
                .extracting(WorkCompletion::wrId)
                .containsExactly(0L, 1L);
        assertThat(shared.takers.get(0).inError()).isTrue();
        assertThat(shared.takers.get(1).inError()).isFalse();
    }

    /** A connection that ends in mid-message flushes the receive it took. */
    @Test
    void theEndOfAConnectionFlushesWhatItsStreamTook() {
        Shared shared = new Shared(1, 16);
        post(shared, 0, 2);
        shared.pair.lab.addFault(
                packet -> {
                    boolean last =
                            RawPacket.isData(packet.bytes)
                                    && (RawPacket.flags(packet.bytes) & 0x40) != 0;
                    return last ? 0 : 1;
                });
        shared.send(0, 1, 0, 5000);
        shared.pair.lab.advance(20 * MS);
        shared.pair.lab.heal();
        shared.takers.get(0).close();
        shared.pair.lab.advance(20 * MS);
        shared.pair.serverEnd.poll();
        assertThat(shared.pair.serverEnd.receives)
                .singleElement()
                .matches(wc -> wc.status() == WcStatus.WR_FLUSH_ERROR && wc.wrId() == 0);
        shared.send(1, 2, 0, 5000);
        shared.pair.expectReceives(2, SECOND);
        assertThat(shared.pair.serverEnd.receives.get(1).wrId()).isEqualTo(1);
    }

    @Test
    void wrongUseIsToldSo() {
        Shared shared = new Shared(1, 4);
        assertThatThrownBy(() -> shared.takers.get(0).postReceive(1))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("shared");
        assertThatThrownBy(shared.queue::close)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("2 queue pairs");
        shared.takers.forEach(QueuePair::close);
        shared.pair.lab.advance(MS);
        shared.queue.close();
        assertThatThrownBy(() -> shared.queue.post(receive))
                .isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(
                        () ->
                                shared.pair.serverEnd.connection.createQueuePair(
                                        shared.pair.server.device.allocProtectionDomain(),
                                        QueuePairOptions.of(
                                                        shared.pair.serverEnd.sendQueue,
                                                        shared.pair.serverEnd.receiveQueue)
                                                .sharedReceiveQueue(shared.queue)
                                                .build()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("domain");
    }
}
