package dev.metaroce.rocev2;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.congestion.DcqcnSettings;
import dev.metaroce.event.AsyncEventType;
import dev.metaroce.event.CounterId;
import dev.metaroce.memory.Access;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.testing.Lab;
import dev.metaroce.testing.Pair;
import dev.metaroce.testing.Reader;
import dev.metaroce.testing.RocePackets;
import dev.metaroce.verbs.AsyncEvent;
import dev.metaroce.verbs.AsyncEvents;
import dev.metaroce.verbs.ProtectionDomain;
import dev.metaroce.verbs.QueuePair;
import dev.metaroce.verbs.QueuePairOptions;
import dev.metaroce.verbs.ReceiveRequest;
import dev.metaroce.verbs.SendRequest;
import dev.metaroce.verbs.SharedReceiveQueue;
import dev.metaroce.wire.Ecn;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.roce.Bth;
import dev.metaroce.wire.roce.RcOpcode;
import dev.metaroce.wire.roce.RoceUdp;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.UnaryOperator;

/** Rules of a queue pair: who may send to it, what it takes, and in which order. */
class RoceQueuePairTest {
    private static final long MS = 1_000_000;
    private static final long SECOND = 1_000 * MS;

    private static Pair pair(int streams, UnaryOperator<RoceSettings> changes) {
        Pair pair = Pair.ofRoce(2, RocePackets.mtu(1024), changes, streams, 1 << 20);
        pair.connect();
        pair.clientEnd.fill(pair.lab.rng("data"));
        return pair;
    }

    private static Pair pair() {
        return pair(1, UnaryOperator.identity());
    }

    /** The first packet that the client sends, which does not arrive. */
    private static Lab.Packet catchFirst(Pair pair) {
        List<Lab.Packet> caught = new ArrayList<>();
        pair.lab.addFault(
                packet -> {
                    caught.add(packet);
                    return 0;
                });
        pair.lab.driveUntil(() -> !caught.isEmpty(), SECOND);
        pair.lab.heal();
        return caught.get(0);
    }

    private static void arrive(Pair pair, Lab.Packet pattern, byte[] bytes) {
        pair.lab.inject(pair.lab.copy(pattern, bytes));
        pair.lab.advance(100_000);
    }

    @Test
    void packetsOfOtherPartitionsAreDropped() {
        Pair pair = pair();
        pair.write(0, 1, 0, 100);
        Lab.Packet packet = catchFirst(pair);
        arrive(pair, packet, RocePackets.changed(packet, m -> m.put16(2, 0x1234)));
        assertThat(pair.server.count(CounterId.BAD_PKEY)).isEqualTo(1);
        // Limited members may talk to full ones.
        arrive(pair, packet, RocePackets.changed(packet, m -> m.put16(2, 0x7FFF)));

        assertThat(pair.server.count(CounterId.BAD_PKEY)).isEqualTo(1);
        pair.expectSends(1, SECOND);
    }

    @Test
    void packetsOfStrangersAreDropped() {
        Pair pair = pair();
        pair.write(0, 1, 0, 100);
        Lab.Packet packet = catchFirst(pair);
        // With the address of another host even a right ICRC does not help.
        NetAddress stranger = NetAddress.ofIpv4(0x0A00_0063, RoceUdp.PORT);
        byte[] forged =
                RocePackets.changed(packet, stranger, pair.server.address, m -> m.put16(2, 0xFFFF));
        pair.lab.inject(stranger, pair.server, forged);
        pair.lab.advance(100_000);

        assertThat(pair.server.count(CounterId.WRONG_SOURCE)).isEqualTo(1);
        assertThat(pair.server.count(CounterId.DATA_ACCEPTED)).isZero();
    }

    @ParameterizedTest
    @CsvSource({
        "SEND_MIDDLE",
        "SEND_LAST",
        "WRITE_MIDDLE",
        "WRITE_LAST",
        "WRITE_LAST_IMM",
        "SEND_LAST_INV"
    })
    void aMessageThatDoesNotBeginIsRefused(RcOpcode opcode) {
        Pair pair = pair();
        pair.receive(0, 1, 0, 4096);
        pair.send(0, 1, 0, opcode.isLast() ? 100 : 1024);
        Lab.Packet packet = catchFirst(pair);
        arrive(pair, packet, RocePackets.as(packet, opcode));
        pair.clientEnd.poll();

        assertThat(pair.server.count(CounterId.NAKS_SENT)).isEqualTo(1);
        assertThat(pair.clientEnd.sends)
                .extracting(WorkCompletion::status)
                .containsExactly(WcStatus.REMOTE_INVALID_REQUEST_ERROR);
        assertThat(pair.serverEnd.qp().inError()).isTrue();
    }

    /** The NAK that tells why is lost; the repeated request gets it again. */
    @Test
    void aRefusalThatGetsLostIsRepeated() {
        Pair pair = pair();
        int[] lost = new int[1];
        pair.lab.addFault(packet -> RocePackets.isAck(packet) && lost[0]++ < 2 ? 0 : 1);
        Pair.must(1, pair.clientEnd.qp().postWrite(1, pair.clientEnd.region, 0, 8, 0, 0xBADBAD));
        pair.lab.advance(SECOND);
        pair.clientEnd.poll();

        assertThat(pair.clientEnd.sends)
                .extracting(WorkCompletion::status)
                .containsExactly(WcStatus.REMOTE_ACCESS_ERROR);
        assertThat(pair.client.count(CounterId.RTO_FIRED)).isEqualTo(2);
    }

    /** The WRITE behind the READ would change what is read, were it not fenced. */
    @Test
    void aFencedRequestWaitsForReads() {
        Pair pair = pair();
        pair.serverEnd.region.segment().fill((byte) 1);
        Reader reader = new Reader(pair, 1 << 16);
        int[] fromClient = new int[1];
        long[] answered = {Long.MAX_VALUE};
        long[] written = new long[1];
        pair.lab.addFault(
                packet -> {
                    RcOpcode opcode = RocePackets.opcode(packet);
                    if (opcode == RcOpcode.READ_RESPONSE_LAST) {
                        answered[0] = pair.lab.nowNs();
                    }
                    if (opcode == RcOpcode.WRITE_ONLY) {
                        fromClient[0]++;
                        written[0] = pair.lab.nowNs();
                    }
                    return 1;
                });
        reader.read(0, 1, 0, 1 << 16);
        SendRequest write = new SendRequest().fence(true);
        write.write(pair.serverEnd.region.address(), pair.serverEnd.region.rkey())
                .local(pair.clientEnd.region, 0, 100);
        Pair.must(2, pair.clientEnd.qp().post(write.wrId(2)));
        pair.expectSends(2, SECOND);

        assertThat(fromClient[0]).isEqualTo(1);
        assertThat(written[0]).isGreaterThan(answered[0]);
        assertThat(reader.local.segment().toArray(ValueLayout.JAVA_BYTE)).containsOnly(1);
    }

    /** One end serves two READs and atomics at once: the other asks for no more. */
    @Test
    void noMoreReadsAreAskedForThanAreServed() {
        Pair pair = pair(1, plain -> plain.toBuilder().maxReadAtomic(2).build());
        Reader reader = new Reader(pair, 1 << 20);
        int[] open = new int[2];
        pair.lab.addFault(
                packet -> {
                    RcOpcode opcode = RocePackets.opcode(packet);
                    if (opcode == RcOpcode.READ_REQUEST) {
                        open[1] = Math.max(open[1], ++open[0]);
                    } else if (opcode.isReadResponse() && opcode.isLast()) {
                        open[0]--;
                    }
                    return 1;
                });
        for (int i = 0; i < 20; i++) {
            reader.read(0, i, i * 5000L, 5000);
        }
        pair.expectSends(20, SECOND);

        assertThat(open[1]).isEqualTo(2);
        assertThat(pair.server.count(CounterId.NAKS_SENT)).isZero();
    }

    @Test
    @DisplayName("X04: rights and domains are kept")
    void x04RightsAndDomainsAreKept() {
        Pair pair = pair(8, UnaryOperator.identity());
        MemorySegment memory = Arena.ofAuto().allocate(64, 8);
        memory.fill((byte) 0x5A);
        ProtectionDomain own = pair.serverEnd.domain;
        ProtectionDomain other = pair.server.device.allocProtectionDomain();
        MemoryRegion readOnly = own.register(memory, Access.REMOTE_READ);
        MemoryRegion writeOnly = own.register(memory, Access.REMOTE_WRITE);
        MemoryRegion foreign = other.register(memory, Access.ALL);
        List<QueuePair> qps = pair.clientEnd.pairs;
        MemoryRegion local = pair.clientEnd.region;
        long va = memory.address();
        qps.get(0).postWrite(0, local, 0, 8, va, readOnly.rkey());
        qps.get(1).postFetchAndAdd(1, local, 0, va, readOnly.rkey(), 1);
        qps.get(2).postRead(2, local, 0, 8, va, writeOnly.rkey());
        qps.get(3).postFetchAndAdd(3, local, 0, va, writeOnly.rkey(), 1);
        qps.get(4).postWrite(4, local, 0, 8, va, foreign.rkey());
        qps.get(5).postRead(5, local, 0, 8, va, foreign.rkey());
        qps.get(6).postFetchAndAdd(6, local, 0, va, foreign.rkey(), 1);
        pair.lab.advance(SECOND);
        pair.clientEnd.poll();

        assertThat(pair.clientEnd.sends)
                .hasSize(7)
                .allMatch(wc -> wc.status() == WcStatus.REMOTE_ACCESS_ERROR);
        assertThat(memory.toArray(ValueLayout.JAVA_BYTE)).containsOnly(0x5A);
        qps.get(7).postRead(7, local, 0, 8, va, readOnly.rkey());
        pair.lab.advance(SECOND);
        pair.clientEnd.poll();
        assertThat(pair.clientEnd.sends.get(7).status()).isEqualTo(WcStatus.SUCCESS);
    }

    /** An end of which it is said that it serves none is not asked. */
    @Test
    void readsFailWhereNoneAreServed() {
        Pair pair = Pair.ofRoce(2, RocePackets.mtu(1024), plain -> plain, 0, 1 << 20);
        QueuePair ours =
                pair.clientEnd.connection.createQueuePair(
                        pair.clientEnd.domain,
                        pair.clientEnd.sendQueue,
                        pair.clientEnd.receiveQueue,
                        8,
                        8);
        QueuePair theirs =
                pair.serverEnd.connection.createQueuePair(
                        pair.serverEnd.domain,
                        pair.serverEnd.sendQueue,
                        pair.serverEnd.receiveQueue,
                        8,
                        8);
        pair.clientEnd.pairs.add(ours);
        RoceConnect end = theirs.localEnd();
        ours.connect(new RoceConnect(end.address(), end.qpn(), end.psn(), end.mtu(), 0));
        theirs.connect(ours.localEnd());
        Reader reader = new Reader(pair, 64);
        pair.write(0, 1, 0, 100);
        reader.read(0, 2, 0, 64);
        pair.lab.advance(SECOND);
        pair.clientEnd.poll();

        assertThat(pair.clientEnd.sends)
                .extracting(WorkCompletion::status)
                .containsExactly(WcStatus.SUCCESS, WcStatus.REMOTE_INVALID_REQUEST_ERROR);
    }

    @Test
    void aSharedReceiveQueueServesSeveralQueuePairs() {
        Pair pair = Pair.ofRoce(2, RocePackets.mtu(1024), UnaryOperator.identity(), 0, 1 << 20);
        SharedReceiveQueue shared =
                pair.server.device.createSharedReceiveQueue(pair.serverEnd.domain, 64, 2, 0);
        for (int i = 0; i < 2; i++) {
            pair.addStream(
                    QueuePairOptions.of(pair.clientEnd.sendQueue, pair.clientEnd.receiveQueue)
                            .build(),
                    QueuePairOptions.of(pair.serverEnd.sendQueue, pair.serverEnd.receiveQueue)
                            .sharedReceiveQueue(shared)
                            .build());
        }
        pair.connect();
        ReceiveRequest receive = new ReceiveRequest();
        for (int i = 0; i < 40; i++) {
            receive.wrId(i).local(pair.serverEnd.region, i * 4096L, 4096);
            Pair.must(i, shared.post(receive));
            pair.send(i % 2, i, i * 4096L, 3000);
        }
        pair.expectSends(40, SECOND);
        pair.expectReceives(40, SECOND);

        Set<Long> ids = new HashSet<>();
        int[] next = new int[2];
        for (WorkCompletion wc : pair.serverEnd.receives) {
            assertThat(ids.add(wc.wrId())).isTrue();
            assertThat(wc.byteLength()).isEqualTo(3000);
            next[pair.serverEnd.pairs.indexOf(wc.owner())]++;
        }
        assertThat(next).containsExactly(20, 20);
    }

    @Test
    void aSendTakesTheRightsFromARegion() {
        Pair pair = pair();
        MemoryRegion region =
                pair.serverEnd.domain.register(Arena.ofAuto().allocate(64), Access.ALL);
        pair.receive(0, 1, 0, 64);
        SendRequest send = new SendRequest().sendWithInvalidate(region.rkey());
        Pair.must(1, pair.clientEnd.qp().post(send.wrId(1).local(pair.clientEnd.region, 0, 64)));
        pair.expectSends(1, SECOND);
        pair.expectReceives(1, SECOND);
        assertThat(region.isRevoked()).isTrue();
        Pair.must(
                2,
                pair.clientEnd
                        .qp()
                        .postWrite(
                                2, pair.clientEnd.region, 0, 8, region.address(), region.rkey()));
        pair.lab.advance(SECOND);
        pair.clientEnd.poll();

        assertThat(pair.clientEnd.sends.get(1).status()).isEqualTo(WcStatus.REMOTE_ACCESS_ERROR);
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 4, 7})
    void anAtomicOnAnAddressThatIsNoMultipleOfEightIsRefused(long at) {
        Pair pair = pair();
        Reader reader = new Reader(pair, 64);
        reader.add(0, 1, 0, at, 1);

        assertThat(reader.outcome()).isEqualTo(WcStatus.REMOTE_INVALID_REQUEST_ERROR);
        assertThat(pair.server.count(CounterId.ATOMICS_EXECUTED)).isZero();
    }

    /** Memory that is deregistered under posted work ends that work in its turn. */
    @Test
    void aSendWhoseMemoryIsGoneFailsInItsTurn() {
        Pair pair = pair();
        MemoryRegion gone = pair.clientEnd.domain.register(Arena.ofAuto().allocate(64), Access.ALL);
        pair.write(0, 1, 0, 5000);
        MemoryRegion to = pair.serverEnd.region;
        Pair.must(2, pair.clientEnd.qp().postWrite(2, gone, 0, 8, to.address(), to.rkey()));
        pair.write(0, 3, 0, 100);
        gone.close();
        pair.lab.advance(SECOND);
        pair.clientEnd.poll();

        assertThat(pair.clientEnd.sends)
                .extracting(WorkCompletion::status)
                .containsExactly(
                        WcStatus.SUCCESS, WcStatus.LOCAL_PROTECTION_ERROR, WcStatus.WR_FLUSH_ERROR);
    }

    @Test
    void queuePairsTakeTurns() {
        Pair pair = pair(8, plain -> plain.toBuilder().windowPackets(4096).build());
        pair.lab.link(1_000_000_000L, SECOND, SECOND);
        for (int stream = 0; stream < 8; stream++) {
            for (int i = 0; i < 4; i++) {
                pair.write(stream, i, 0, stream == 0 ? 1 << 20 : 1 << 16);
            }
        }
        pair.expectSends(28, 10 * SECOND);

        // The short ones are through long before the first 4 MiB.
        assertThat(pair.clientEnd.sends)
                .extracting(WorkCompletion::owner)
                .doesNotContain(pair.clientEnd.qp());
    }

    private static Pair withCongestionControl() {
        return pair(
                1,
                plain ->
                        plain.toBuilder()
                                .dcqcn(DcqcnSettings.reference())
                                .lineBitsPerSecond(10_000_000_000L)
                                .build());
    }

    @Test
    @DisplayName("G04: who never sees ECN says so once, and goes on")
    void g04EcnThatNeverArrivesIsNoticed() {
        Pair pair = withCongestionControl();
        AsyncEvents events = pair.server.device.events();
        pair.lab.addFault(
                packet -> {
                    packet.ecn = Ecn.NOT_ECT;
                    return 1;
                });
        pair.write(0, 1, 0, 1 << 20);
        pair.expectSends(1, SECOND);

        assertThat(pair.server.count(CounterId.NOT_ECT_PACKETS)).isEqualTo(1024);
        assertThat(pair.client.count(CounterId.NOT_ECT_PACKETS)).isZero();
        AsyncEvent event = events.poll();
        assertThat(event).isNotNull();
        assertThat(event.type()).isEqualTo(AsyncEventType.ECN_MISSING);
        assertThat(events.poll()).isNull();
        assertThat(pair.mismatch()).isEqualTo(-1);
    }

    /** Marks make notices, one in 50 us at most, and notices make the sender slow. */
    @Test
    @DisplayName("G04: marks on everything slow the sender down, and stop nobody")
    void g04MarksSlowTheSenderDown() {
        Pair pair = withCongestionControl();
        long[] notices = new long[2];
        pair.lab.addFault(
                packet -> {
                    if (RocePackets.isRequest(packet)) {
                        assertThat(packet.ecn).isEqualTo(Ecn.ECT);
                        packet.ecn = Ecn.CE;
                    }
                    if (RocePackets.opcode(packet) == RcOpcode.CNP) {
                        assertThat(packet.bytes[4] & 0x40).isEqualTo(0x40);
                        assertThat(packet.bytes).hasSize(Bth.BYTES + 16 + 4);
                        long since = pair.lab.nowNs() - notices[1];
                        assertThat(notices[0] == 0 || since >= 50_000).isTrue();
                        notices[0]++;
                        notices[1] = pair.lab.nowNs();
                    }
                    return 1;
                });
        long start = pair.lab.nowNs();
        pair.write(0, 1, 0, 1 << 20);
        pair.expectSends(1, SECOND);
        long took = pair.lab.nowNs() - start;

        assertThat(notices[0]).isGreaterThan(3);
        assertThat(pair.client.count(CounterId.CNPS_RECEIVED)).isEqualTo(notices[0]);
        // 1 MiB takes 0.84 ms at 10 Gb/s.
        assertThat(took).isGreaterThan(2 * MS);
    }
}
