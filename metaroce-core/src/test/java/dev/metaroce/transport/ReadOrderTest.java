package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.CounterId;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.testing.Pair;
import dev.metaroce.testing.Profiles;
import dev.metaroce.testing.RawPacket;
import dev.metaroce.testing.Reader;
import dev.metaroce.testing.Seeded;
import dev.metaroce.util.Rng;
import dev.metaroce.verbs.SendRequest;
import dev.metaroce.wire.Opcode;
import dev.metaroce.wire.Profile;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.lang.foreign.ValueLayout;

/** What a READ or an atomic operation sees of the requests before it, and they of it. */
class ReadOrderTest {
    private static final long MS = 1_000_000;
    private static final long SECOND = 1_000 * MS;

    @Seeded(cases = 60)
    void readsAndAtomicsSeeWhatWasPostedBefore(long seed) {
        Rng rng = new Rng(seed);
        Profile profile = rng.chance(0.3) ? Profile.S : Profile.M;
        DeviceLimits limits = Profiles.only(profile).payloadMtu(256).quotaBytes(1 << 13).build();
        Pair pair = new Pair(seed, limits, 1, 1 << 17).connect();
        Reader reader = new Reader(pair, 1 << 17);
        int size = 1 + rng.nextInt(40_000);
        double loss = rng.nextInt(3) * 0.03;
        pair.lab.addFault(
                packet -> {
                    packet.delayNs += rng.chance(0.3) ? rng.nextInt(300_000) : 0;
                    return rng.chance(loss) ? 0 : rng.chance(0.05) ? 2 : 1;
                });
        long word = 1 << 16;
        pair.clientEnd.fill(rng);
        pair.clientEnd.region.segment().set(ValueLayout.JAVA_LONG, word, 100);
        pair.write(0, 1, 0, size);
        pair.write(0, 2, word, 8);
        reader.read(0, 3, 0, size);
        reader.add(0, 4, word, word, 7);
        reader.add(0, 5, word + 8, word, 7);
        reader.swap(0, 6, word + 16, word, 114, 5);
        reader.read(0, 7, word + 64, 8);
        reader.readFrom(0, 8, word + 24, 8, pair.serverEnd.region.address() + word);
        pair.expectSends(8, 20 * SECOND);

        long differs =
                reader.local
                        .segment()
                        .asSlice(0, size)
                        .mismatch(pair.clientEnd.region.segment().asSlice(0, size));
        assertThat(differs).as("the READ sees the WRITE").isEqualTo(-1);
        assertThat(reader.word(word)).isEqualTo(100);
        assertThat(reader.word(word + 8)).isEqualTo(107);
        assertThat(reader.word(word + 16)).isEqualTo(114);
        assertThat(reader.word(word + 24)).as("the READ sees the atomics").isEqualTo(5);
        for (int i = 0; i < 8; i++) {
            assertThat(pair.clientEnd.sends.get(i).wrId()).isEqualTo(i + 1);
        }
    }

    @ParameterizedTest
    @EnumSource(Profile.class)
    @DisplayName("MR-4.6-11: a READ behind a SEND without a receive waits as long as that")
    void waitsBehindNotReady(Profile profile) {
        Pair pair = new Pair(2, Profiles.only(profile).build(), 1, 1 << 16).connect();
        pair.serverEnd.fill(pair.lab.rng("data"));
        Reader reader = new Reader(pair, 1 << 16);
        pair.send(0, 1, 0, 8);
        reader.read(0, 2, 0, 1 << 16);
        reader.add(0, 3, 0, 0, 1);
        pair.lab.advance(3_500 * MS);
        pair.clientEnd.poll();
        assertThat(pair.clientEnd.sends).isEmpty();
        assertThat(pair.client.count(CounterId.REPLIES_RECEIVED)).isZero();
        assertThat(reader.mismatch(1 << 16)).as("nothing is read before its turn").isNotNegative();

        long old = reader.remoteWord(0);
        pair.receive(0, 9, 256, 8);
        pair.expectSends(3, SECOND);
        assertThat(reader.remoteWord(0)).isEqualTo(old + 1);
        assertThat(reader.word(0)).isEqualTo(old);
        pair.expectNoContexts(SECOND);
    }

    @Test
    @DisplayName("MR-5.2-7: READs that wait for a lost WRITE do not keep it back")
    void requestsThatWaitLeaveRoomForWhatTheyWaitFor() {
        DeviceLimits limits =
                DeviceLimits.defaults().toBuilder().maxPaths(1).earlyData(false).build();
        Pair pair = new Pair(7, limits, 1, 1 << 16).connect();
        pair.serverEnd.fill(pair.lab.rng("data"));
        Reader reader = new Reader(pair, 1 << 16);
        boolean[] faults = {true, false};
        pair.lab.addFault(
                packet -> {
                    boolean data = RawPacket.isData(packet.bytes);
                    boolean write = data && RawPacket.opcode(packet.bytes) == Opcode.WRITE.code();
                    return faults[1] || (faults[0] && write) ? 0 : 1;
                });
        pair.write(0, 1, 0, 8);
        for (int i = 2; i <= 32; i++) {
            reader.read(0, i, 8L * i, 8);
        }
        pair.lab.advance(2 * MS);
        assertThat(pair.server.count(CounterId.DATA_ACCEPTED)).as("READs arrived").isEqualTo(31);
        long before = pair.client.count(CounterId.RTO_FIRED);
        faults[1] = true;
        pair.lab.expect(
                "a time-out that halves the window",
                () -> pair.client.count(CounterId.RTO_FIRED) >= before + 3,
                SECOND);
        faults[0] = false;
        faults[1] = false;

        pair.expectSends(32, SECOND);
        assertThat(pair.clientEnd.sends).allMatch(wc -> wc.status() == WcStatus.SUCCESS);
    }

    @Test
    @DisplayName("MR-4.6-11: without any receive the SEND fails, not the connection")
    void notReadyForEver() {
        Pair pair = new Pair(3, DeviceLimits.defaults(), 2, 1 << 16).connect();
        Reader reader = new Reader(pair, 1 << 16);
        pair.send(0, 1, 0, 8);
        reader.read(0, 2, 0, 1 << 16);
        assertThat(reader.next().status()).isEqualTo(WcStatus.RNR_RETRY_EXCEEDED_ERROR);
        pair.lab.expect(
                "the READ is flushed",
                () -> {
                    pair.clientEnd.poll();
                    return pair.clientEnd.sends.size() == 2;
                },
                SECOND);
        assertThat(pair.clientEnd.sends.get(1).status()).isEqualTo(WcStatus.WR_FLUSH_ERROR);
        reader.read(1, 3, 0, 64);
        assertThat(reader.outcome()).isEqualTo(WcStatus.SUCCESS);
    }

    @Test
    @DisplayName("MR-4.6-8: no more requests wait for replies than the target grants")
    void noMoreUnansweredThanGranted() {
        DeviceLimits few = DeviceLimits.defaults().toBuilder().maxReads(3).build();
        Pair pair = new Pair(5, DeviceLimits.defaults(), few, 1, 1 << 20).connect();
        pair.lab.addFault(
                packet -> RawPacket.isData(packet.bytes) && isReply(packet.bytes) ? 0 : 1);
        Reader reader = new Reader(pair, 1 << 20);
        reader.read(0, 1, 0, 1 << 20);
        pair.lab.advance(20 * MS);
        assertThat(pair.client.count(CounterId.DATA_SENT)).isEqualTo(3);
        pair.lab.heal();
        pair.expectSends(1, SECOND);
    }

    private static boolean isReply(byte[] packet) {
        return RawPacket.opcode(packet) == Opcode.READ_DATA.code();
    }

    @Test
    @DisplayName("MR-4.6-9: no more bytes are asked for than the own receive window holds")
    void noMoreAskedThanTheOwnWindow() {
        DeviceLimits small = DeviceLimits.defaults().toBuilder().receiveWindowBytes(40_000).build();
        Pair pair = new Pair(6, small, DeviceLimits.defaults(), 4, 1 << 20).connect();
        Pair.End again = pair.dialAgain();
        long[] open = {0, 0};
        pair.lab.addFault(
                packet -> {
                    if (RawPacket.isData(packet.bytes)) {
                        boolean reply = isReply(packet.bytes);
                        open[0] += reply ? -(packet.bytes.length - 36) : 0;
                        open[0] += reply ? 0 : Math.min(8896, RawPacket.length(packet.bytes));
                        open[1] = Math.max(open[1], open[0]);
                    }
                    return 1;
                });
        Reader reader = new Reader(pair, 1 << 20);
        for (int stream = 0; stream < 4; stream++) {
            reader.read(stream, stream, 0, 8896 * 20);
            Pair.must(
                    stream,
                    again.pairs
                            .get(stream)
                            .postRead(
                                    stream,
                                    again.region,
                                    0,
                                    8896 * 20,
                                    pair.serverEnd.region.address(),
                                    pair.serverEnd.region.rkey()));
        }
        pair.expectSends(4, SECOND);
        pair.lab.expect(
                "READs of the other connection",
                () -> {
                    again.poll();
                    return again.sends.size() == 4;
                },
                SECOND);
        assertThat(open[1]).isLessThanOrEqualTo(40_000).isGreaterThan(20_000);
    }

    @ParameterizedTest
    @EnumSource(Profile.class)
    @DisplayName("MR-4.8-1: what has a fence is begun when all READs and atomics before are done")
    void fence(Profile profile) {
        Pair pair = new Pair(7, Profiles.only(profile).quotaBytes(1 << 13).build(), 1, 1 << 16);
        pair.connect();
        pair.serverEnd.fill(pair.lab.rng("data"));
        byte[] before = pair.serverEnd.region.segment().toArray(ValueLayout.JAVA_BYTE);
        Reader reader = new Reader(pair, 1 << 17);
        // All replies come late, so that a WRITE without a fence would be there first.
        long[] repliesBefore = {-1};
        pair.lab.addFault(
                packet -> {
                    if (RawPacket.isData(packet.bytes)
                            && RawPacket.opcode(packet.bytes) == Opcode.WRITE.code()
                            && repliesBefore[0] < 0) {
                        repliesBefore[0] = pair.client.count(CounterId.REPLIES_RECEIVED);
                    }
                    packet.delayNs += packet.from == pair.server ? 200_000 : 0;
                    return 1;
                });
        long va = pair.serverEnd.region.address();
        int key = pair.serverEnd.region.rkey();
        SendRequest request = new SendRequest();
        reader.read(0, 1, 0, 1 << 16);
        reader.add(0, 2, 1 << 16, 0, 0);
        pair.clientEnd.region.segment().fill((byte) 0x77);
        request.write(va, key).local(pair.clientEnd.region, 0, 1 << 16).fence(true).wrId(3);
        Pair.must(3, pair.clientEnd.qp().post(request));
        request.read(va, key).local(reader.local, (1 << 16) + 64, 64).fence(true).wrId(4);
        Pair.must(4, pair.clientEnd.qp().post(request));
        request.read(va, key).local(reader.local, (1 << 16) + 128, 64).fence(true).wrId(5);
        Pair.must(5, pair.clientEnd.qp().post(request));
        pair.expectSends(5, SECOND);
        assertThat(repliesBefore[0]).as("8 of the READ, one of the atomic").isEqualTo(9);
        byte[] read = reader.local.segment().asSlice(0, 1 << 16).toArray(ValueLayout.JAVA_BYTE);
        assertThat(read).isEqualTo(before);
        assertThat(reader.local.segment().get(ValueLayout.JAVA_BYTE, (1 << 16) + 64))
                .isEqualTo((byte) 0x77);
    }

    @Test
    @DisplayName("MR-3.2-9: a READ goes on after a lost lease, an atomic operation does not")
    void lostLease() {
        assertThat(outcomeAfterReset(false)).isEqualTo(WcStatus.SUCCESS);
        assertThat(outcomeAfterReset(true)).isEqualTo(WcStatus.RETRY_EXCEEDED_ERROR);
    }

    private static WcStatus outcomeAfterReset(boolean atomic) {
        DeviceLimits limits = DeviceLimits.defaults().toBuilder().silenceNs(20 * MS).build();
        Pair pair = new Pair(8, limits, 1, 1 << 16).connect();
        pair.serverEnd.fill(pair.lab.rng("data"));
        Reader reader = new Reader(pair, 1 << 16);
        boolean[] cut = {false};
        pair.lab.addFault(packet -> cut[0] ? 0 : 1);
        // Something is accepted under the lease, so that its end is no secret of the target.
        reader.read(0, 1, 0, 8);
        pair.expectSends(1, SECOND);
        cut[0] = true;
        if (atomic) {
            reader.add(0, 2, 0, 0, 1);
        } else {
            reader.read(0, 2, 0, 1 << 16);
        }
        pair.lab.advance(300 * MS);
        cut[0] = false;
        assertThat(pair.server.count(CounterId.EXPIRED)).isEqualTo(1);
        return reader.outcome();
    }
}
