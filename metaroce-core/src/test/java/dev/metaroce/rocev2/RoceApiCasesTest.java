package dev.metaroce.rocev2;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.metaroce.event.CounterId;
import dev.metaroce.memory.Access;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.ring.PostResult;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.testing.Pair;
import dev.metaroce.testing.Reader;
import dev.metaroce.testing.RocePackets;
import dev.metaroce.transport.ConnectionState;
import dev.metaroce.verbs.QueuePair;
import dev.metaroce.verbs.QueuePairOptions;
import dev.metaroce.verbs.SendRequest;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;

/** Cases A01 to A11 for RoCEv2: what requests do, and how they end. */
class RoceApiCasesTest {
    private static final long MS = 1_000_000;
    private static final long SECOND = 1_000 * MS;

    private static Pair pair(int streams, long bytes) {
        Pair pair = Pair.ofRoce(1, RocePackets.mtu(1024), UnaryOperator.identity(), streams, bytes);
        pair.connect();
        pair.clientEnd.fill(pair.lab.rng("data"));
        return pair;
    }

    private static QueuePairOptions.Builder options(Pair.End end) {
        return QueuePairOptions.of(end.sendQueue, end.receiveQueue);
    }

    private static QueuePair addStream(Pair pair, QueuePairOptions client) {
        int number = pair.addStream(client, options(pair.serverEnd).build());
        return pair.clientEnd.pairs.get(number);
    }

    private static List<WcStatus> statuses(List<WorkCompletion> done) {
        return done.stream().map(WorkCompletion::status).toList();
    }

    /** All completions that come within a second. */
    private static void settle(Pair pair) {
        pair.lab.advance(SECOND);
        pair.clientEnd.poll();
        pair.serverEnd.poll();
    }

    private static byte[] bytes(MemorySegment memory) {
        return memory.toArray(ValueLayout.JAVA_BYTE);
    }

    @Test
    @DisplayName("A01: empty operations succeed once each, whatever their key, and touch nothing")
    void a01EmptyOperations() {
        Pair pair = pair(1, 4096);
        byte[] before = bytes(pair.serverEnd.region.segment());
        QueuePair qp = pair.clientEnd.qp();
        MemoryRegion local = pair.clientEnd.region;
        pair.receive(0, 1, 0, 0);
        pair.receive(0, 2, 0, 64);
        Pair.must(1, qp.postWrite(1, local, 0, 0, 0, 0xBADBAD));
        Pair.must(2, qp.postRead(2, local, 0, 0, 0, 0xBADBAD));
        Pair.must(3, qp.postSend(3, local, 0, 0));
        Pair.must(4, qp.postWriteWithImmediate(4, local, 0, 0, 0, 0xBADBAD, 77, true));
        settle(pair);

        assertThat(pair.clientEnd.sends)
                .extracting(WorkCompletion::wrId)
                .containsExactly(1L, 2L, 3L, 4L);
        assertThat(statuses(pair.clientEnd.sends)).containsOnly(WcStatus.SUCCESS);
        assertThat(pair.clientEnd.sends).allMatch(wc -> wc.byteLength() == 0);
        assertThat(pair.serverEnd.receives).hasSize(2).allMatch(wc -> wc.byteLength() == 0);
        assertThat(pair.serverEnd.receives.get(1).immediate()).isEqualTo(77);
        assertThat(bytes(pair.serverEnd.region.segment())).isEqualTo(before);
    }

    private static WcStatus outcome(
            Pair pair, QueuePair qp, boolean read, long va, int key, long n) {
        MemoryRegion local = pair.clientEnd.region;
        Pair.must(
                1,
                read
                        ? qp.postRead(1, local, 0, n, va, key)
                        : qp.postWrite(1, local, 0, n, va, key));
        pair.clientEnd.sends.clear();
        pair.lab.expect(
                "an outcome",
                () -> {
                    pair.clientEnd.poll();
                    return !pair.clientEnd.sends.isEmpty();
                },
                SECOND);
        return pair.clientEnd.sends.get(0).status();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    @DisplayName("A02: a region is reached to the byte and not one byte more")
    void a02BoundsAreExact(boolean read) {
        Pair pair = pair(7, 1 << 16);
        pair.clientEnd.region.segment().fill((byte) 0x11);
        MemorySegment memory = Arena.ofAuto().allocate(3 * 4096, 8);
        memory.fill((byte) 0x5A);
        MemoryRegion region =
                pair.serverEnd.domain.register(
                        memory.asSlice(4096, 4096), Access.REMOTE_WRITE | Access.REMOTE_READ);
        long va = region.address();
        int key = region.rkey();
        List<QueuePair> qps = pair.clientEnd.pairs;
        WcStatus refused = WcStatus.REMOTE_ACCESS_ERROR;

        assertThat(outcome(pair, qps.get(0), read, va, key, 4096)).isEqualTo(WcStatus.SUCCESS);
        assertThat(outcome(pair, qps.get(1), read, va + 4095, key, 1)).isEqualTo(WcStatus.SUCCESS);
        assertThat(outcome(pair, qps.get(2), read, va + 4095, key, 2)).isEqualTo(refused);
        assertThat(outcome(pair, qps.get(3), read, va + 4096, key, 1)).isEqualTo(refused);
        assertThat(outcome(pair, qps.get(4), read, va - 1, key, 1)).isEqualTo(refused);
        assertThat(outcome(pair, qps.get(5), read, va, key, 4097)).isEqualTo(refused);
        assertThat(outcome(pair, qps.get(6), read, -8, key, 16)).isEqualTo(refused);
        assertThat(bytes(memory.asSlice(0, 4096))).containsOnly(0x5A);
        assertThat(bytes(memory.asSlice(8192, 4096))).containsOnly(0x5A);
        assertThat(pair.server.count(CounterId.ACCESS_REFUSED)).isEqualTo(5);
    }

    @ParameterizedTest
    @ValueSource(longs = {4, (1 << 20) - 1})
    @DisplayName("A03: a message longer than its receive spoils nothing and fails both ends")
    void a03MessageLongerThanItsReceive(long room) {
        Pair pair = pair(1, 2 << 20);
        pair.serverEnd.region.segment().fill((byte) 0x5A);
        pair.receive(0, 1, 0, room);
        pair.receive(0, 2, 0, 64);
        pair.send(0, 1, 0, room == 4 ? 8 : 1 << 20);
        pair.send(0, 2, 0, 8);
        settle(pair);

        assertThat(statuses(pair.serverEnd.receives))
                .containsExactly(WcStatus.LOCAL_LENGTH_ERROR, WcStatus.WR_FLUSH_ERROR);
        assertThat(statuses(pair.clientEnd.sends))
                .containsExactly(WcStatus.REMOTE_INVALID_REQUEST_ERROR, WcStatus.WR_FLUSH_ERROR);
        MemorySegment behind = pair.serverEnd.region.segment().asSlice(room);
        assertThat(bytes(behind)).containsOnly(0x5A);
        assertThat(pair.clientEnd.qp().inError()).isTrue();
        assertThat(pair.serverEnd.qp().inError()).isTrue();
    }

    @Test
    @DisplayName("A04: inline payload up to the limit is copied at the post, beyond it is refused")
    void a04InlineLimits() {
        Pair pair = pair(1, 1 << 16);
        QueuePair qp = addStream(pair, options(pair.clientEnd).maxInline(100).build());
        pair.lab.advance(MS);
        SendRequest request = new SendRequest().send();
        for (int length = 99; length <= 100; length++) {
            pair.receive(1, length, length * 200L, 200);
            byte[] payload = new byte[length];
            Arrays.fill(payload, (byte) length);
            Pair.must(length, qp.post(request.wrId(length).inline(payload)));
            Arrays.fill(payload, (byte) -1);
        }
        assertThatThrownBy(() -> qp.post(request.inline(new byte[101])))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("101")
                .hasMessageContaining("at most 100");
        pair.expectReceives(2, SECOND);
        pair.expectSends(2, SECOND);

        for (int length = 99; length <= 100; length++) {
            MemorySegment there = pair.serverEnd.region.segment().asSlice(length * 200L, length);
            assertThat(bytes(there)).containsOnly((byte) length);
        }
        assertThat(pair.client.count(CounterId.DATA_SENT)).isEqualTo(2);
    }

    @Test
    @DisplayName("A05: a thousand writes, every sixteenth with a completion")
    void a05EverySixteenthIsSignalled() {
        Pair pair = pair(1, 1000 * 64);
        QueuePair qp = addStream(pair, options(pair.clientEnd).sendDepth(64).build());
        SendRequest write = new SendRequest();
        for (int i = 0; i < 1000; i++) {
            write.write(pair.serverEnd.region.address() + i * 64, pair.serverEnd.region.rkey())
                    .local(pair.clientEnd.region, i * 64, 64)
                    .signaled(i % 16 == 15);
            while (qp.post(write.wrId(i)) == PostResult.QUEUE_FULL) {
                pair.lab.advance(MS);
                pair.clientEnd.poll();
            }
        }
        settle(pair);

        assertThat(pair.clientEnd.sends).hasSize(62);
        assertThat(pair.mismatch()).isEqualTo(-1);
    }

    @Test
    @DisplayName("A05: a queue of requests that tell nothing is full one early, and goes on")
    void a05UnsignalledRequestsLeaveAPlaceForASignalledOne() {
        Pair pair = pair(1, 200 * 64);
        QueuePair qp = addStream(pair, options(pair.clientEnd).sendDepth(64).build());
        SendRequest write = new SendRequest().signaled(false);
        int full = 0;
        for (int posted = 0; posted < 200; posted++) {
            write.write(pair.serverEnd.region.address() + posted * 64, pair.serverEnd.region.rkey())
                    .local(pair.clientEnd.region, posted * 64, 64);
            if (qp.post(write.wrId(posted)) == PostResult.QUEUE_FULL) {
                full++;
                assertThat(posted % 64).as("posted when the queue is full").isEqualTo(63);
                Pair.must(posted, qp.post(write.signaled(true)));
                write.signaled(false);
                pair.expectSends(full, SECOND);
            }
        }
        settle(pair);

        assertThat(full).isEqualTo(3);
        assertThat(pair.clientEnd.sends).hasSize(3);
        assertThat(pair.mismatch()).isEqualTo(-1);
    }

    @Test
    @DisplayName("A06: posts beyond the depth are refused, and none is lost")
    void a06MorePostsThanTheQueueIsDeep() {
        Pair pair = pair(1, 300 * 512);
        QueuePair qp = addStream(pair, options(pair.clientEnd).sendDepth(256).build());
        int accepted = 0;
        while (write(pair, qp, accepted) == PostResult.OK) {
            accepted++;
        }
        assertThat(accepted).isEqualTo(256);
        pair.expectSends(256, SECOND);
        for (; accepted < 300; accepted++) {
            assertThat(write(pair, qp, accepted)).isEqualTo(PostResult.OK);
        }
        settle(pair);

        assertThat(pair.clientEnd.sends)
                .extracting(WorkCompletion::wrId)
                .containsExactlyElementsOf(
                        IntStream.range(0, 300).mapToObj(Long::valueOf).toList());
        assertThat(pair.mismatch()).isEqualTo(-1);
    }

    private static PostResult write(Pair pair, QueuePair qp, int number) {
        long at = number * 512L;
        MemoryRegion to = pair.serverEnd.region;
        return qp.postWrite(number, pair.clientEnd.region, at, 512, to.address() + at, to.rkey());
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    @DisplayName("A08: outcomes come in post order; what is behind the refused one is flushed")
    void a08FlushOrder(boolean lossy) {
        Pair pair = pair(1, 1 << 16);
        var chance = pair.lab.rng("loss");
        pair.lab.addFault(packet -> lossy && chance.chance(0.2) ? 0 : 1);
        SendRequest write = new SendRequest();
        MemoryRegion to = pair.serverEnd.region;
        for (int i = 1; i <= 10; i++) {
            write.write(to.address(), i == 4 ? to.rkey() + 1 : to.rkey())
                    .local(pair.clientEnd.region, 0, 3000)
                    .signaled(i == 2 || i == 7 || i == 10);
            Pair.must(i, pair.clientEnd.qp().post(write.wrId(i)));
        }
        settle(pair);

        assertThat(pair.clientEnd.sends)
                .extracting(WorkCompletion::wrId)
                .containsExactly(2L, 4L, 5L, 6L, 7L, 8L, 9L, 10L);
        assertThat(statuses(pair.clientEnd.sends).subList(0, 2))
                .containsExactly(WcStatus.SUCCESS, WcStatus.REMOTE_ACCESS_ERROR);
        assertThat(statuses(pair.clientEnd.sends).subList(2, 8))
                .containsOnly(WcStatus.WR_FLUSH_ERROR);
        assertThat(pair.clientEnd.connection.state()).isEqualTo(ConnectionState.OPEN);
        // What is posted afterwards is flushed as well.
        Pair.must(11, pair.clientEnd.qp().post(write.wrId(11)));
        settle(pair);
        assertThat(pair.clientEnd.sends).hasSize(9);
        assertThat(pair.clientEnd.sends.get(8).status()).isEqualTo(WcStatus.WR_FLUSH_ERROR);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    @DisplayName("A09: after deregistration not one byte changes, and the old key stays dead")
    void a09DeregistrationInMidTransfer(boolean read) {
        Pair pair = Pair.ofRoce(9, RocePackets.mtu(4096), UnaryOperator.identity(), 2, 8 << 20);
        pair.lab.link(1_000_000_000L, MS, 100 * MS);
        pair.connect();
        pair.clientEnd.region.segment().fill((byte) 0x11);
        Reader reader = new Reader(pair, 8 << 20);
        for (int i = 0; i < 128; i++) {
            if (read) {
                reader.read(0, i, i << 16, 1 << 16);
            } else {
                pair.write(0, i, i << 16, 1 << 16);
            }
        }
        pair.lab.advance(30 * MS);
        pair.clientEnd.poll();
        int before = pair.clientEnd.sends.size();
        assertThat(before).isBetween(10, 120);
        MemoryRegion old = pair.serverEnd.region;
        old.close();
        old.segment().fill((byte) 0x5A);
        MemoryRegion again = pair.serverEnd.domain.register(old.segment(), Access.ALL);
        settle(pair);

        assertThat(bytes(old.segment())).containsOnly(0x5A);
        assertThat(bytes(reader.local.segment())).doesNotContain((byte) 0x5A);
        assertThat(pair.clientEnd.sends).hasSize(128);
        List<WcStatus> statuses = statuses(pair.clientEnd.sends);
        int failed = statuses.indexOf(WcStatus.REMOTE_ACCESS_ERROR);
        assertThat(failed).isGreaterThanOrEqualTo(before);
        assertThat(statuses.subList(0, failed)).containsOnly(WcStatus.SUCCESS);
        assertThat(statuses.subList(failed + 1, 128)).containsOnly(WcStatus.WR_FLUSH_ERROR);
        assertThat(again.rkey()).isNotEqualTo(old.rkey());
        QueuePair other = pair.clientEnd.pairs.get(1);
        assertThat(outcome(pair, other, read, old.address(), old.rkey(), 64))
                .isEqualTo(WcStatus.REMOTE_ACCESS_ERROR);
    }

    @Test
    @DisplayName("A11: an empty region covers nothing; a receive without memory takes 0 bytes")
    void a11EmptyPieces() {
        Pair pair = pair(1, 4096);
        MemoryRegion empty =
                pair.serverEnd.domain.register(
                        Arena.ofAuto().allocate(8).asSlice(4, 0), Access.ALL);
        assertThat(empty.length()).isZero();
        QueuePair server = pair.serverEnd.qp();
        Pair.must(1, server.postReceive(1, empty, 0, 0));
        Pair.must(2, server.postReceive(2));
        Pair.must(3, server.postReceive(3));
        pair.send(0, 1, 0, 0);
        pair.send(0, 2, 0, 0);
        pair.send(0, 3, 0, 1);
        settle(pair);

        assertThat(statuses(pair.serverEnd.receives))
                .containsExactly(WcStatus.SUCCESS, WcStatus.SUCCESS, WcStatus.LOCAL_LENGTH_ERROR);
        assertThat(statuses(pair.clientEnd.sends))
                .containsExactly(
                        WcStatus.SUCCESS, WcStatus.SUCCESS, WcStatus.REMOTE_INVALID_REQUEST_ERROR);
    }
}
