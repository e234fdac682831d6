package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.metaroce.event.CounterId;
import dev.metaroce.ring.PostResult;
import dev.metaroce.ring.WcOpcode;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.testing.Pair;
import dev.metaroce.testing.Profiles;
import dev.metaroce.testing.RawPacket;
import dev.metaroce.util.Rng;
import dev.metaroce.verbs.QueuePair;
import dev.metaroce.wire.NakCode;
import dev.metaroce.wire.PacketType;
import dev.metaroce.wire.Profile;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** What a receive completion promises, and what happens when there is no receive. */
class OrderingTest {
    private static final long MS = 1_000_000;
    private static final long SECOND = 1_000 * MS;

    private static Pair pair(Profile profile, int streams, long bytes) {
        Pair pair = new Pair(5, Profiles.only(profile).payloadMtu(1024).build(), streams, bytes);
        pair.connect();
        pair.clientEnd.fill(pair.lab.rng("data"));
        return pair;
    }

    /** Every packet is delayed at random, by far more than a message takes. */
    private static void shuffle(Pair pair) {
        Rng chance = pair.lab.rng("shuffle");
        pair.lab.addFault(
                packet -> {
                    packet.delayNs += (long) (chance.nextDouble() * MS);
                    return 1;
                });
    }

    @ParameterizedTest
    @EnumSource(Profile.class)
    void receivesCompleteInOrderHoweverPacketsArrive(Profile profile) {
        Pair pair = pair(profile, 1, 200 * 4096L);
        shuffle(pair);
        for (int i = 0; i < 200; i++) {
            pair.receive(0, i, i * 4096L, 4096);
            pair.send(0, i, i * 4096L, i * 20);
        }
        pair.expectReceives(200, 10 * SECOND);
        pair.expectSends(200, SECOND);

        for (int i = 0; i < 200; i++) {
            WorkCompletion wc = pair.serverEnd.receives.get(i);
            assertThat(wc.wrId()).isEqualTo(i);
            assertThat(wc.status()).isEqualTo(WcStatus.SUCCESS);
            assertThat(wc.byteLength()).isEqualTo(i * 20);
            assertThat(
                            MemorySegment.mismatch(
                                    pair.clientEnd.region.segment(),
                                    i * 4096L,
                                    i * 4096L + i * 20,
                                    pair.serverEnd.region.segment(),
                                    i * 4096L,
                                    i * 4096L + i * 20))
                    .isEqualTo(-1);
        }
    }

    /**
     * WRITE, then WRITE with immediate or SEND on one stream: at the very moment the receive
     * completion can be polled, all that was written before it is in memory.
     */
    @ParameterizedTest
    @EnumSource(Profile.class)
    void whatWasWrittenBeforeIsThereWhenAReceiveCompletes(Profile profile) {
        int rounds = 40;
        Pair pair = pair(profile, 1, rounds * 3 * 8192L);
        shuffle(pair);
        for (int i = 0; i < rounds; i++) {
            long at = i * 3 * 8192L;
            pair.write(0, 3 * i, at, 8192);
            pair.write(0, 3 * i + 1, at + 8192, 700);
            if (i % 2 == 0) {
                pair.receive(0, i, at + 16384, 8192);
                pair.send(0, 3 * i + 2, at + 16384, 8000);
            } else {
                Pair.must(i, pair.serverEnd.qp().postReceive(i));
                writeWithImmediate(pair, 3 * i + 2, at + 16384, 8000, i);
            }
        }
        int[] seen = new int[1];
        long start = pair.lab.nowNs();
        while (seen[0] < rounds && pair.lab.nowNs() - start < 10 * SECOND) {
            pair.lab.step();
            pair.serverEnd.poll();
            for (; seen[0] < pair.serverEnd.receives.size(); seen[0]++) {
                long end = (seen[0] + 1) * 3 * 8192L - 192;
                checkWritten(pair, seen[0], end);
            }
        }

        assertThat(seen[0]).isEqualTo(rounds);
    }

    private static void writeWithImmediate(
            Pair pair, long wrId, long at, long length, int immediate) {
        Pair.must(
                wrId,
                pair.clientEnd
                        .qp()
                        .postWriteWithImmediate(
                                wrId,
                                pair.clientEnd.region,
                                at,
                                length,
                                pair.serverEnd.region.address() + at,
                                pair.serverEnd.region.rkey(),
                                immediate,
                                true));
    }

    private static void checkWritten(Pair pair, int round, long end) {
        for (int i = 0; i <= round; i++) {
            long at = i * 3 * 8192L;
            for (long[] range : new long[][] {{0, 8192}, {8192, 8892}, {16384, 24384}}) {
                assertThat(
                                MemorySegment.mismatch(
                                        pair.clientEnd.region.segment(),
                                        at + range[0],
                                        at + range[1],
                                        pair.serverEnd.region.segment(),
                                        at + range[0],
                                        at + range[1]))
                        .as("message of round %d at completion %d, before %d", i, round, end)
                        .isEqualTo(-1);
            }
        }
    }

    @ParameterizedTest
    @EnumSource(Profile.class)
    @DisplayName("A01: operations of length zero succeed, with any key and address")
    void a01EmptyOperations(Profile profile) {
        Pair pair = pair(profile, 1, 4096);
        QueuePair qp = pair.clientEnd.qp();
        pair.serverEnd.region.segment().fill((byte) 7);
        for (int i = 0; i < 3; i++) {
            Pair.must(i, pair.serverEnd.qp().postReceive(i));
        }
        Pair.must(0, qp.postWrite(0, pair.clientEnd.region, 0, 0, 0, 0xC0FFEE));
        Pair.must(1, qp.postSend(1, pair.clientEnd.region, 4096, 0));
        Pair.must(
                2,
                qp.postWriteWithImmediate(
                        2, pair.clientEnd.region, 0, 0, -1, 0xC0FFEE, 0x80000001, true));
        Pair.must(3, qp.postSendWithImmediate(3, pair.clientEnd.region, 0, 0, 42, true));
        pair.expectSends(4, SECOND);
        pair.expectReceives(3, SECOND);

        assertThat(pair.clientEnd.sends).allMatch(wc -> wc.byteLength() == 0);
        assertThat(pair.serverEnd.receives).allMatch(wc -> wc.byteLength() == 0);
        assertThat(pair.serverEnd.receives)
                .extracting(WorkCompletion::opcode)
                .containsExactly(
                        WcOpcode.RECEIVE, WcOpcode.RECEIVE_RDMA_WITH_IMMEDIATE, WcOpcode.RECEIVE);
        assertThat(pair.serverEnd.receives)
                .extracting(WorkCompletion::immediate)
                .containsExactly(0, 0x80000001, 42);
        assertThat(pair.serverEnd.region.segment().toArray(ValueLayout.JAVA_BYTE)).containsOnly(7);
    }

    @ParameterizedTest
    @EnumSource(Profile.class)
    @DisplayName("A07: a receive posted half a second late is found; other streams go on meanwhile")
    void a07ALateReceiveIsFound(Profile profile) {
        Pair pair = pair(profile, 2, 1 << 20);
        pair.send(0, 1, 0, 5000);
        pair.send(0, 2, 8192, 100);
        long start = pair.lab.nowNs();
        int others = 0;
        while (pair.lab.nowNs() - start < 500 * MS) {
            pair.write(1, 1000 + others, 1 << 17, 4096);
            others++;
            pair.lab.advance(10 * MS);
        }
        pair.clientEnd.poll();
        if (profile == Profile.M) {
            assertThat(pair.clientEnd.sends).hasSize(others).allMatch(wc -> wc.wrId() >= 1000);
        } else {
            // One sequence for all streams: the refused packet holds up what comes behind it.
            assertThat(pair.clientEnd.sends).isEmpty();
        }
        pair.receive(0, 1, 0, 8192);
        pair.receive(0, 2, 8192, 8192);
        long posted = pair.lab.nowNs();
        pair.expectSends(others + 2, SECOND);
        // The longest pause between two tries is 10 ms.
        assertThat(pair.lab.nowNs() - posted).isLessThan(30 * MS);
        pair.expectReceives(2, SECOND);

        assertThat(pair.serverEnd.receives.get(0).byteLength()).isEqualTo(5000);
        assertThat(pair.serverEnd.receives.get(1).byteLength()).isEqualTo(100);
        assertThat(pair.server.count(CounterId.RECEIVER_NOT_READY)).isGreaterThan(10);
    }

    /** The refusals are lost for a while, and so are the packets sent again. */
    @ParameterizedTest
    @EnumSource(Profile.class)
    void aPausedStreamIsResumedThoughRefusalsGetLost(Profile profile) {
        Pair pair = pair(profile, 1, 1 << 20);
        Rng chance = pair.lab.rng("loss");
        pair.lab.addFault(
                packet -> {
                    boolean nak =
                            RawPacket.is(packet.bytes, PacketType.NAK)
                                    && RawPacket.opcode(packet.bytes)
                                            == NakCode.RECEIVER_NOT_READY.code();
                    return (nak && chance.chance(0.5)) || chance.chance(0.2) ? 0 : 1;
                });
        for (int i = 0; i < 20; i++) {
            pair.send(0, i, i * 8192L, 3000);
        }
        for (int i = 0; i < 20; i++) {
            pair.lab.advance(20 * MS);
            pair.receive(0, i, i * 8192L, 8192);
        }
        pair.expectSends(20, SECOND);
        pair.expectReceives(20, SECOND);
        assertThat(pair.serverEnd.receives).allMatch(wc -> wc.byteLength() == 3000);
        pair.expectNoContexts(SECOND);
    }

    @ParameterizedTest
    @EnumSource(Profile.class)
    @DisplayName(
            "A07: without a receive for the give-up time the send fails, the connection does not")
    void a07NoReceiveAtAll(Profile profile) {
        Pair pair = pair(profile, 2, 1 << 20);
        long start = pair.lab.nowNs();
        pair.send(0, 1, 0, 100);
        pair.lab.expect(
                "the send fails",
                () -> {
                    pair.clientEnd.poll();
                    return !pair.clientEnd.sends.isEmpty();
                },
                10 * SECOND);
        long giveUpNs = DeviceLimits.defaults().giveUpNs();

        assertThat(pair.clientEnd.sends.get(0).status())
                .isEqualTo(WcStatus.RNR_RETRY_EXCEEDED_ERROR);
        assertThat(pair.lab.nowNs() - start).isBetween(giveUpNs, giveUpNs * 12 / 10);
        pair.write(1, 2, 0, 4096);
        pair.lab.advance(100 * MS);
        pair.clientEnd.poll();
        assertThat(pair.clientEnd.sends.get(1).status()).isEqualTo(WcStatus.SUCCESS);
        assertThat(pair.clientEnd.connection.failure()).isEmpty();
    }

    /** A stream that found a receive in the end has its whole patience again. */
    @Test
    void patienceStartsAnewAfterSuccess() {
        Pair pair = pair(Profile.M, 1, 1 << 20);
        for (int i = 0; i < 4; i++) {
            pair.send(0, i, 0, 100);
            pair.lab.advance(3 * SECOND);
            pair.receive(0, i, 0, 100);
            pair.expectSends(i + 1, SECOND);
        }
        assertThat(pair.clientEnd.qp().inError()).isFalse();
    }

    @ParameterizedTest
    @EnumSource(Profile.class)
    @DisplayName("A03: a message longer than its receive fails both ends and spoils no memory")
    void a03AMessageLongerThanItsReceive(Profile profile) {
        Pair pair = pair(profile, 1, 4 << 20);
        pair.serverEnd.region.segment().fill((byte) 7);
        pair.receive(0, 1, 1024, 4);
        pair.send(0, 1, 0, 8);
        pair.lab.advance(100 * MS);
        pair.clientEnd.poll();
        pair.serverEnd.poll();

        assertThat(pair.clientEnd.sends)
                .singleElement()
                .matches(wc -> wc.status() == WcStatus.REMOTE_INVALID_REQUEST_ERROR);
        assertThat(pair.serverEnd.receives)
                .singleElement()
                .matches(wc -> wc.status() == WcStatus.LOCAL_LENGTH_ERROR);
        assertThat(pair.serverEnd.region.segment().toArray(ValueLayout.JAVA_BYTE)).containsOnly(7);
        pair.expectNoContexts(SECOND);
    }

    @ParameterizedTest
    @EnumSource(Profile.class)
    @DisplayName("A03: one byte too many in a large message, behind good ones")
    void a03OneByteTooMany(Profile profile) {
        Pair pair = pair(profile, 1, 8 << 20);
        shuffle(pair);
        pair.serverEnd.region.segment().fill((byte) 7);
        pair.receive(0, 1, 0, 1 << 20);
        pair.receive(0, 2, 1 << 20, (1 << 20) - 1);
        pair.receive(0, 3, 2 << 20, 1 << 20);
        pair.send(0, 1, 0, 1 << 20);
        pair.send(0, 2, 1 << 20, 1 << 20);
        pair.send(0, 3, 2 << 20, 1 << 20);
        pair.lab.advance(SECOND);
        pair.clientEnd.poll();
        pair.serverEnd.poll();

        assertThat(pair.clientEnd.sends)
                .extracting(WorkCompletion::status)
                .containsExactly(
                        WcStatus.SUCCESS,
                        WcStatus.REMOTE_INVALID_REQUEST_ERROR,
                        WcStatus.WR_FLUSH_ERROR);
        assertThat(pair.serverEnd.receives)
                .extracting(WorkCompletion::status)
                .containsExactly(
                        WcStatus.SUCCESS, WcStatus.LOCAL_LENGTH_ERROR, WcStatus.WR_FLUSH_ERROR);
        assertThat(
                        pair.serverEnd
                                .region
                                .segment()
                                .asSlice(1 << 20, 1 << 20)
                                .toArray(ValueLayout.JAVA_BYTE))
                .containsOnly(7);
    }

    @ParameterizedTest
    @EnumSource(Profile.class)
    @DisplayName(
            "A05: requests without a signal give their places back with the next signalled one")
    void a05UnsignalledRequests(Profile profile) {
        Pair pair = pair(profile, 1, 1 << 20);
        QueuePair qp = pair.clientEnd.qp();
        int done = 0;
        for (int i = 0; i < 4096; i++) {
            boolean signaled = i % 16 == 15;
            while (qp.postWrite(
                            i,
                            pair.clientEnd.region,
                            i * 64L,
                            64,
                            pair.serverEnd.region.address() + i * 64L,
                            pair.serverEnd.region.rkey(),
                            signaled)
                    == PostResult.QUEUE_FULL) {
                pair.expectSends(done + 1, SECOND);
                done = pair.clientEnd.sends.size();
            }
        }
        pair.expectSends(256, SECOND);
        assertThat(pair.clientEnd.sends).hasSize(256);
        assertThat(pair.clientEnd.sends.getLast().wrId()).isEqualTo(4095);
        assertThat(
                        pair.clientEnd
                                .region
                                .segment()
                                .asSlice(0, 4096 * 64)
                                .mismatch(pair.serverEnd.region.segment().asSlice(0, 4096 * 64)))
                .isEqualTo(-1);
    }

    @Test
    @DisplayName("A10: a message of more than 2^31 bytes is refused at the post, naming the limit")
    void a10TooLongAMessageIsRefused() {
        Pair pair = pair(Profile.M, 1, 4096);
        assertThatThrownBy(
                        () ->
                                pair.clientEnd
                                        .qp()
                                        .postWrite(
                                                1, pair.clientEnd.region, 0, (1L << 31) + 1, 0, 0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(String.valueOf(1L << 31));
        assertThatThrownBy(() -> pair.clientEnd.qp().postSend(1, pair.clientEnd.region, 0, -1))
                .isInstanceOf(IllegalArgumentException.class);
    }
}
