package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.metaroce.memory.Access;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.ring.PostResult;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.testing.Pair;
import dev.metaroce.testing.Profiles;
import dev.metaroce.testing.RawPacket;
import dev.metaroce.testing.Seeded;
import dev.metaroce.util.Rng;
import dev.metaroce.verbs.QueuePair;
import dev.metaroce.verbs.QueuePairOptions;
import dev.metaroce.verbs.ReceiveRequest;
import dev.metaroce.verbs.SendRequest;
import dev.metaroce.wire.Profile;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.util.Arrays;

/** What a work request can say: lists of memory, inline payload, flags; and what a post refuses. */
class RequestCasesTest {
    private static final long MS = 1_000_000;
    private static final long SECOND = 1_000 * MS;

    private static Pair pair(Profile profile) {
        Pair pair = new Pair(4, Profiles.only(profile).payloadMtu(1024).build(), 1, 1 << 16);
        return pair.connect();
    }

    private static QueuePairOptions.Builder options(Pair.End end) {
        return QueuePairOptions.of(end.sendQueue, end.receiveQueue);
    }

    /** Stream 1 between both ends. */
    private static QueuePair openStream(Pair pair, QueuePairOptions client) {
        pair.serverEnd.pairs.add(
                pair.serverEnd.connection.createQueuePair(
                        pair.serverEnd.domain, options(pair.serverEnd).build()));
        QueuePair qp = pair.clientEnd.connection.createQueuePair(pair.clientEnd.domain, client);
        pair.clientEnd.pairs.add(qp);
        return qp;
    }

    /** Every DATA packet is lost the first time. */
    private static void loseFirstCopies(Pair pair) {
        pair.lab.addFault(
                packet ->
                        RawPacket.isData(packet.bytes) && (RawPacket.flags(packet.bytes) & 32) == 0
                                ? 0
                                : 1);
    }

    private static byte[] received(Pair pair, long at, int bytes) {
        return pair.serverEnd.region.segment().asSlice(at, bytes).toArray(ValueLayout.JAVA_BYTE);
    }

    private static byte[] bytes(int count, int first) {
        byte[] made = new byte[count];
        for (int i = 0; i < count; i++) {
            made[i] = (byte) (first + i);
        }
        return made;
    }

    @ParameterizedTest
    @EnumSource(Profile.class)
    @DisplayName("A04: inline payload up to the limit is copied at the post, beyond it is refused")
    void a04InlineLimits(Profile profile) {
        Pair pair = pair(profile);
        QueuePair qp = openStream(pair, options(pair.clientEnd).maxInline(100).build());
        loseFirstCopies(pair);
        SendRequest request = new SendRequest().send();
        byte[] heap = bytes(99, 1);
        ByteBuffer buffer = ByteBuffer.allocateDirect(120).put(10, bytes(100, 50));
        buffer.position(10).limit(110);
        MemorySegment segment = Arena.ofAuto().allocate(100).copyFrom(heapOf(100, 120));
        pair.receive(1, 1, 0, 200);
        pair.receive(1, 2, 200, 200);
        pair.receive(1, 3, 400, 200);
        Pair.must(1, qp.post(request.wrId(1).inline(heap)));
        Arrays.fill(heap, (byte) -1);
        Pair.must(2, qp.post(request.wrId(2).inline(buffer)));
        buffer.put(10, new byte[100]);
        Pair.must(3, qp.post(request.wrId(3).inline(segment)));
        segment.fill((byte) -1);
        assertThatThrownBy(() -> qp.post(request.wrId(4).inline(new byte[101])))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("101")
                .hasMessageContaining("at most 100");
        pair.expectReceives(3, SECOND);
        pair.expectSends(3, SECOND);

        assertThat(pair.serverEnd.receives)
                .extracting(WorkCompletion::byteLength)
                .containsExactly(99L, 100L, 100L);
        assertThat(received(pair, 0, 99)).isEqualTo(bytes(99, 1));
        assertThat(received(pair, 200, 100)).isEqualTo(bytes(100, 50));
        assertThat(received(pair, 400, 100)).isEqualTo(bytes(100, 120));
        assertThat(pair.clientEnd.sends)
                .extracting(WorkCompletion::wrId)
                .containsExactly(1L, 2L, 3L);
    }

    private static MemorySegment heapOf(int count, int first) {
        return MemorySegment.ofArray(bytes(count, first));
    }

    /** MR-4.9-3: also payload of several packets, and none. */
    @ParameterizedTest
    @EnumSource(Profile.class)
    void inlinePayloadMayBeLongerThanAPacketOrEmpty(Profile profile) {
        Pair pair = pair(profile);
        QueuePair qp = openStream(pair, options(pair.clientEnd).maxInline(4096).build());
        pair.receive(1, 1, 0, 4096);
        pair.receive(1, 2, 4096, 4096);
        byte[] payload = bytes(4000, 3);
        SendRequest request = new SendRequest().send();
        Pair.must(1, qp.post(request.inline(payload)));
        Arrays.fill(payload, (byte) 0);
        Pair.must(2, qp.post(request.inline(new byte[0])));
        pair.expectReceives(2, SECOND);

        assertThat(pair.serverEnd.receives.get(1).byteLength()).isZero();
        assertThat(received(pair, 0, 4000)).isEqualTo(bytes(4000, 3));
    }

    /**
     * Messages from and to lists of pieces of any size, empty ones too, over a network that loses
     * and shuffles; what is not written to keeps its bytes. MR-4.9-1.
     */
    @Seeded(cases = 40)
    void messagesGoFromPiecesToPieces(long seed) {
        Rng rng = new Rng(seed);
        Pair pair = pair(rng.chance(0.5) ? Profile.M : Profile.S);
        pair.clientEnd.fill(rng);
        pair.serverEnd.region.segment().fill((byte) 0x5A);
        byte[] expected = received(pair, 0, 1 << 16);
        QueuePair qp = openStream(pair, options(pair.clientEnd).build());
        pair.lab.addFault(
                packet -> {
                    packet.delayNs += rng.nextInt(100_000);
                    return rng.chance(0.1) ? 0 : 1;
                });
        SendRequest send = new SendRequest();
        ReceiveRequest receive = new ReceiveRequest();
        for (int i = 0; i < 8; i++) {
            int base = i * 8192;
            ByteBuffer message = ByteBuffer.allocate(8192);
            send.empty();
            for (int piece = rng.nextInt(5); piece > 0; piece--) {
                int length = rng.nextInt(1600);
                int from = rng.nextInt((1 << 16) - length);
                send.add(pair.clientEnd.region, from, length);
                message.put(sent(pair, from, length));
            }
            message.flip();
            if (rng.chance(0.3)) {
                send.write(pair.serverEnd.region.address() + base, pair.serverEnd.region.rkey());
                message.get(expected, base, message.remaining());
            } else {
                send.send();
                int at = base;
                receive.empty();
                for (int piece = 0; piece < 4; piece++) {
                    int room = piece < 3 ? rng.nextInt(900) : 5000;
                    at += 1 + rng.nextInt(100);
                    receive.add(pair.serverEnd.region, at, room);
                    message.get(expected, at, Math.min(room, message.remaining()));
                    at += room;
                }
                Pair.must(i, pair.serverEnd.pairs.get(1).post(receive.wrId(i)));
            }
            assertThat(message.hasRemaining()).isFalse();
            Pair.must(i, qp.post(send.wrId(i)));
        }
        pair.expectSends(8, 10 * SECOND);

        assertThat(received(pair, 0, 1 << 16)).isEqualTo(expected);
    }

    private static byte[] sent(Pair pair, long at, int bytes) {
        return pair.clientEnd.region.segment().asSlice(at, bytes).toArray(ValueLayout.JAVA_BYTE);
    }

    private static void refused(QueuePair qp, SendRequest request, String... says) {
        assertThatThrownBy(() -> qp.post(request))
                .isInstanceOf(IllegalArgumentException.class)
                .message()
                .contains(says)
                .doesNotContain("\n");
    }

    /** MR-4.9-2: nothing of such a request is sent, and it takes no place in the queue. */
    @Test
    void aRequestThatCannotBeRightIsRefusedAtThePost() {
        Pair pair = pair(Profile.M);
        MemoryRegion region = pair.clientEnd.region;
        QueuePair qp = openStream(pair, options(pair.clientEnd).sendDepth(2).maxSendSge(2).build());
        SendRequest request = new SendRequest();
        refused(qp, request.local(region, 0, 1), "operation");
        request.send();
        refused(qp, request.local(region, 65_536, 1), "65536+1", "65536 bytes");
        refused(qp, request.local(region, -1, 1), "-1+1");
        refused(qp, request.local(region, 0, -1), "-1", "0.." + (1L << 31));
        refused(
                qp,
                request.local(region, 0, 1).add(region, 1, 1).add(region, 2, 1),
                "3 pieces",
                "at most 2");
        MemoryRegion closed = pair.clientEnd.domain.register(Arena.ofAuto().allocate(8), 0);
        closed.close();
        refused(qp, request.local(closed, 0, 8), "is closed");
        MemoryRegion homeless;
        try (Arena arena = Arena.ofShared()) {
            homeless = pair.clientEnd.domain.register(arena.allocate(8), 0);
        }
        refused(qp, request.local(homeless, 0, 8), "arena", "closed");
        MemoryRegion foreign =
                pair.client
                        .device
                        .allocProtectionDomain()
                        .register(Arena.ofAuto().allocate(8), Access.LOCAL_WRITE);
        refused(qp, request.local(region, 0, 8).add(foreign, 0, 8), "domain 1", "of 0");
        MemoryRegion huge = pair.clientEnd.domain.registerVirtual(1L << 40, 0);
        refused(qp, request.local(huge, 0, (1L << 31) + 1), "2147483649", "2147483648");
        refused(qp, request.local(huge, 0, 8).add(region, 0, 8), "virtual");
        MemoryRegion readOnly = pair.clientEnd.domain.register(Arena.ofAuto().allocate(8), 0);
        assertThatThrownBy(() -> qp.post(new ReceiveRequest().local(readOnly, 0, 8)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("LOCAL_WRITE");

        assertThat(qp.post(request.local(region, 0, 8))).isEqualTo(PostResult.OK);
        assertThat(qp.post(request)).isEqualTo(PostResult.OK);
        assertThat(qp.post(request)).isEqualTo(PostResult.QUEUE_FULL);
    }

    /** What is changed after the post is not in what was posted. */
    @Test
    void aRequestIsReusedAtOnce() {
        Pair pair = pair(Profile.M);
        pair.clientEnd.fill(pair.lab.rng("data"));
        QueuePair qp = openStream(pair, options(pair.clientEnd).build());
        SendRequest request = new SendRequest().send();
        ReceiveRequest receive = new ReceiveRequest();
        for (int i = 0; i < 50; i++) {
            receive.wrId(i)
                    .local(pair.serverEnd.region, i * 1000, 300)
                    .add(pair.serverEnd.region, i * 1000 + 300, 700);
            Pair.must(i, pair.serverEnd.pairs.get(1).post(receive));
            request.wrId(i).local(pair.clientEnd.region, i * 1000, 500);
            Pair.must(i, qp.post(request.add(pair.clientEnd.region, i * 1000 + 500, 500)));
        }
        pair.expectReceives(50, SECOND);
        pair.expectSends(50, SECOND);

        assertThat(received(pair, 0, 50_000)).isEqualTo(sent(pair, 0, 50_000));
        assertThat(pair.clientEnd.sends.get(49).wrId()).isEqualTo(49);
    }

    @Test
    @DisplayName("A05: a queue of requests that tell nothing is full one early, and goes on")
    void a05UnsignalledRequestsLeaveAPlaceForASignalledOne() {
        Pair pair = pair(Profile.M);
        pair.clientEnd.fill(pair.lab.rng("data"));
        QueuePair qp = openStream(pair, options(pair.clientEnd).sendDepth(64).build());
        SendRequest write = new SendRequest().signaled(false);
        int posted = 0;
        int full = 0;
        while (posted < 200) {
            write.write(pair.serverEnd.region.address() + posted * 64, pair.serverEnd.region.rkey())
                    .local(pair.clientEnd.region, posted * 64, 64);
            if (qp.post(write.wrId(posted)) == PostResult.OK) {
                posted++;
                continue;
            }
            full++;
            assertThat(posted % 64).as("posted when the queue is full").isEqualTo(63);
            pair.lab.advance(SECOND);
            // All is done, but nobody was told: still full.
            assertThat(qp.post(write)).isEqualTo(PostResult.QUEUE_FULL);
            assertThat(qp.post(write.signaled(true))).isEqualTo(PostResult.OK);
            write.signaled(false);
            posted++;
            pair.expectSends(full, SECOND);
        }
        pair.lab.advance(SECOND);
        pair.clientEnd.poll();

        assertThat(full).isEqualTo(3);
        assertThat(pair.clientEnd.sends).hasSize(3);
        assertThat(received(pair, 0, 200 * 64)).isEqualTo(sent(pair, 0, 200 * 64));
    }

    @Test
    void signalAllGivesEveryRequestACompletion() {
        Pair pair = pair(Profile.M);
        QueuePair qp =
                openStream(pair, options(pair.clientEnd).sendDepth(4).signalAll(true).build());
        SendRequest write = new SendRequest().signaled(false);
        write.write(pair.serverEnd.region.address(), pair.serverEnd.region.rkey());
        for (int i = 0; i < 4; i++) {
            assertThat(qp.post(write.wrId(i))).isEqualTo(PostResult.OK);
        }
        pair.expectSends(4, SECOND);
    }

    @ParameterizedTest
    @EnumSource(Profile.class)
    @DisplayName("A11: an empty region covers nothing; a receive without memory takes 0 bytes")
    void a11EmptyPieces(Profile profile) {
        Pair pair = pair(profile);
        MemoryRegion empty =
                pair.serverEnd.domain.register(
                        Arena.ofAuto().allocate(8).asSlice(4, 0), Access.ALL);
        assertThat(empty.length()).isZero();
        QueuePair server = pair.serverEnd.qp();
        Pair.must(1, server.postReceive(1, empty, 0, 0));
        Pair.must(2, server.postReceive(2));
        assertThatThrownBy(() -> server.postReceive(3, empty, 0, 1))
                .isInstanceOf(IllegalArgumentException.class);
        Pair.must(3, server.postReceive(3));
        pair.send(0, 1, 0, 0);
        pair.send(0, 2, 0, 0);
        pair.send(0, 3, 0, 1);
        pair.lab.advance(SECOND);
        pair.serverEnd.poll();
        pair.clientEnd.poll();

        assertThat(pair.serverEnd.receives)
                .extracting(WorkCompletion::status)
                .containsExactly(WcStatus.SUCCESS, WcStatus.SUCCESS, WcStatus.LOCAL_LENGTH_ERROR);
        assertThat(pair.serverEnd.receives.get(1).byteLength()).isZero();
        assertThat(pair.clientEnd.sends)
                .extracting(WorkCompletion::status)
                .containsExactly(
                        WcStatus.SUCCESS, WcStatus.SUCCESS, WcStatus.REMOTE_INVALID_REQUEST_ERROR);
    }

    /** MR-4.9-7 */
    @ParameterizedTest
    @EnumSource(Profile.class)
    void aReceiveWhoseMemoryIsGoneFailsBothEnds(Profile profile) {
        Pair pair = pair(profile);
        MemoryRegion gone =
                pair.serverEnd.domain.register(Arena.ofAuto().allocate(64), Access.LOCAL_WRITE);
        pair.receive(0, 1, 0, 64);
        Pair.must(2, pair.serverEnd.qp().postReceive(2, gone, 0, 64));
        pair.receive(0, 3, 0, 64);
        gone.close();
        for (int i = 1; i <= 3; i++) {
            pair.send(0, i, 0, 64);
        }
        pair.lab.advance(SECOND);
        pair.serverEnd.poll();
        pair.clientEnd.poll();

        assertThat(pair.serverEnd.receives)
                .extracting(WorkCompletion::status)
                .containsExactly(
                        WcStatus.SUCCESS, WcStatus.LOCAL_PROTECTION_ERROR, WcStatus.WR_FLUSH_ERROR);
        assertThat(pair.clientEnd.sends)
                .extracting(WorkCompletion::status)
                .containsExactly(
                        WcStatus.SUCCESS, WcStatus.REMOTE_OPERATION_ERROR, WcStatus.WR_FLUSH_ERROR);
        assertThat(pair.clientEnd.connection.state()).isEqualTo(ConnectionState.OPEN);
    }
}
