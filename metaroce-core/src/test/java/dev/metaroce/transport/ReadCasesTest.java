package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.metaroce.event.CounterId;
import dev.metaroce.memory.Access;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.testing.Pair;
import dev.metaroce.testing.Profiles;
import dev.metaroce.testing.RawPacket;
import dev.metaroce.testing.Reader;
import dev.metaroce.verbs.ProtectionDomain;
import dev.metaroce.verbs.QueuePair;
import dev.metaroce.wire.Opcode;
import dev.metaroce.wire.Profile;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** Cases A01, A02, A10, W08 and X04 for READ and atomics: what a peer may reach, and when. */
class ReadCasesTest {
    private static final long MS = 1_000_000;
    private static final long SECOND = 1_000 * MS;

    private static WcStatus read(Pair pair, Reader reader, int stream, long va, int key, long n) {
        QueuePair qp = pair.clientEnd.pairs.get(stream);
        Pair.must(1, qp.postRead(1, reader.local, 0, n, va, key));
        return reader.outcome();
    }

    @ParameterizedTest
    @EnumSource(Profile.class)
    @DisplayName("A01, MR-4.1-4: a READ of no bytes needs no key and touches nothing")
    void a01EmptyRead(Profile profile) {
        Pair pair = new Pair(1, Profiles.only(profile).build(), 1, 4096).connect();
        Reader reader = new Reader(pair, 64);

        assertThat(read(pair, reader, 0, 0, 0x1234_5678, 0)).isEqualTo(WcStatus.SUCCESS);
        assertThat(pair.clientEnd.sends.get(0).byteLength()).isZero();
        assertThat(read(pair, reader, 0, 0, 0x1234_5678, 1))
                .isEqualTo(WcStatus.REMOTE_ACCESS_ERROR);
    }

    @ParameterizedTest
    @EnumSource(Profile.class)
    @DisplayName("A02, MR-4.6-14: a READ reaches its region to the byte and not one byte more")
    void a02BoundsAreExact(Profile profile) {
        Pair pair = new Pair(2, Profiles.only(profile).build(), 7, 1 << 16).connect();
        MemorySegment memory = Arena.ofAuto().allocate(3 * 4096, 8);
        memory.fill((byte) 0x5A);
        MemoryRegion region =
                pair.serverEnd.domain.register(memory.asSlice(4096, 4096), Access.REMOTE_READ);
        Reader reader = new Reader(pair, 8192);
        long va = region.address();
        int key = region.rkey();
        WcStatus refused = WcStatus.REMOTE_ACCESS_ERROR;

        assertThat(read(pair, reader, 0, va, key, 4096)).isEqualTo(WcStatus.SUCCESS);
        assertThat(read(pair, reader, 1, va + 4095, key, 1)).isEqualTo(WcStatus.SUCCESS);
        reader.local.segment().fill((byte) 7);
        assertThat(read(pair, reader, 2, va + 4095, key, 2)).isEqualTo(refused);
        assertThat(read(pair, reader, 3, va + 4096, key, 1)).isEqualTo(refused);
        assertThat(read(pair, reader, 4, va - 1, key, 1)).isEqualTo(refused);
        assertThat(read(pair, reader, 5, va, key, 4097)).isEqualTo(refused);
        assertThat(read(pair, reader, 6, -8, key, 16)).isEqualTo(refused);
        byte[] kept = reader.local.segment().toArray(java.lang.foreign.ValueLayout.JAVA_BYTE);
        assertThat(kept).containsOnly(7);
    }

    @ParameterizedTest
    @CsvSource({"256,M", "512,M", "1024,M", "4096,M", "256,S", "4096,S"})
    @DisplayName("W08: READs around the payload limit take as many packets as they must")
    void w08Sizes(int mtu, Profile profile) {
        Pair pair = new Pair(3, Profiles.only(profile).payloadMtu(mtu).build(), 1, 1 << 17);
        pair.connect();
        pair.serverEnd.fill(pair.lab.rng("data"));
        Reader reader = new Reader(pair, 1 << 17);
        int[] sizes = {
            0, 1, 1023, 1024, 1025, 2047, 2048, 2049, 4095, 4096, 4097, 65_535, 65_536, 65_537
        };
        for (int size : sizes) {
            reader.local.segment().fill((byte) 0);
            long before = pair.server.count(CounterId.REPLIES_SENT);
            reader.read(0, size, 0, size);
            assertThat(reader.outcome()).as("READ of " + size).isEqualTo(WcStatus.SUCCESS);
            assertThat(reader.mismatch(size)).as("bytes of " + size).isEqualTo(-1);
            assertThat(pair.server.count(CounterId.REPLIES_SENT) - before)
                    .as("replies of " + size)
                    .isEqualTo(Math.max(1, (size + mtu - 1) / mtu));
        }
    }

    @ParameterizedTest
    @CsvSource({"LOCAL_WRITE", "REMOTE_WRITE", "REMOTE_ATOMIC"})
    @DisplayName("X04: a region without REMOTE_READ cannot be read")
    void x04NoReadRight(String right) {
        int access = accessOf(right);
        Pair pair = new Pair(4, DeviceLimits.defaults(), 1, 64).connect();
        MemoryRegion region =
                pair.serverEnd.domain.register(Arena.ofAuto().allocate(64, 8), access);
        Reader reader = new Reader(pair, 64);

        assertThat(read(pair, reader, 0, region.address(), region.rkey(), 8))
                .isEqualTo(WcStatus.REMOTE_ACCESS_ERROR);
        assertThat(pair.server.count(CounterId.ACCESS_REFUSED)).isEqualTo(1);
        assertThat(pair.server.count(CounterId.REPLIES_SENT)).isZero();
    }

    @ParameterizedTest
    @CsvSource({"LOCAL_WRITE", "REMOTE_WRITE", "REMOTE_READ"})
    @DisplayName("X04, MR-4.7-1: a region without REMOTE_ATOMIC takes no atomics")
    void x04NoAtomicRight(String right) {
        int access = accessOf(right);
        Pair pair = new Pair(5, DeviceLimits.defaults(), 1, 64).connect();
        MemoryRegion region =
                pair.serverEnd.domain.register(Arena.ofAuto().allocate(64, 8), access);
        Reader reader = new Reader(pair, 64);
        pair.clientEnd.qp().postFetchAndAdd(1, reader.local, 0, region.address(), region.rkey(), 5);

        assertThat(reader.outcome()).isEqualTo(WcStatus.REMOTE_ACCESS_ERROR);
        assertThat(region.segment().get(java.lang.foreign.ValueLayout.JAVA_LONG, 0)).isZero();
    }

    private static int accessOf(String right) {
        return switch (right) {
            case "LOCAL_WRITE" -> Access.LOCAL_WRITE;
            case "REMOTE_WRITE" -> Access.REMOTE_WRITE;
            case "REMOTE_READ" -> Access.REMOTE_READ;
            default -> Access.REMOTE_ATOMIC;
        };
    }

    @Test
    @DisplayName("X04: a region of another protection domain is neither read nor changed")
    void x04OtherDomain() {
        Pair pair = new Pair(6, DeviceLimits.defaults(), 2, 64).connect();
        ProtectionDomain other = pair.server.device.allocProtectionDomain();
        MemoryRegion region = other.register(Arena.ofAuto().allocate(64, 8), Access.ALL);
        Reader reader = new Reader(pair, 64);

        assertThat(read(pair, reader, 0, region.address(), region.rkey(), 8))
                .isEqualTo(WcStatus.REMOTE_ACCESS_ERROR);
        pair.clientEnd
                .pairs
                .get(1)
                .postCompareAndSwap(2, reader.local, 0, region.address(), region.rkey(), 0, 9);
        assertThat(reader.outcome()).isEqualTo(WcStatus.REMOTE_ACCESS_ERROR);
        assertThat(region.segment().get(java.lang.foreign.ValueLayout.JAVA_LONG, 0)).isZero();
    }

    @ParameterizedTest
    @EnumSource(Profile.class)
    @DisplayName("A10, MR-4.7-4: an atomic on an address that is no multiple of 8 is refused")
    void a10Misaligned(Profile profile) {
        Pair pair = new Pair(7, Profiles.only(profile).build(), 1, 64).connect();
        Reader reader = new Reader(pair, 64);
        reader.add(0, 1, 0, 4, 1);

        assertThat(reader.outcome()).isEqualTo(WcStatus.REMOTE_INVALID_REQUEST_ERROR);
        assertThat(reader.remoteWord(0)).isZero();
        assertThat(reader.remoteWord(8)).isZero();
    }

    @Test
    @DisplayName("replies need local memory that may be written: refused when posted")
    void localMemoryMustBeWritable() {
        Pair pair = new Pair(8, DeviceLimits.defaults(), 1, 64).connect();
        MemoryRegion local = pair.clientEnd.domain.register(Arena.ofAuto().allocate(64, 8), 0);
        QueuePair qp = pair.clientEnd.qp();

        assertThatThrownBy(() -> qp.postRead(1, local, 0, 8, 0, 0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("LOCAL_WRITE");
        assertThatThrownBy(() -> qp.postFetchAndAdd(1, local, 0, 0, 0, 1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("LOCAL_WRITE");
        MemoryRegion good = pair.clientEnd.region;
        assertThatThrownBy(() -> qp.postFetchAndAdd(1, good, 57, 0, 0, 1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("57");
    }

    @ParameterizedTest
    @EnumSource(Profile.class)
    @DisplayName("A06: a region closed while it is read ends the READ, and nothing else is sent")
    void a06ClosedAtTheTarget(Profile profile) {
        Pair pair = new Pair(9, Profiles.only(profile).build(), 1, 64).connect();
        MemoryRegion region =
                pair.serverEnd.domain.register(
                        Arena.ofAuto().allocate(8 << 20, 8), Access.REMOTE_READ);
        Reader reader = new Reader(pair, 8 << 20);
        QueuePair qp = pair.clientEnd.qp();
        qp.postRead(1, reader.local, 0, 8 << 20, region.address(), region.rkey());
        pair.lab.expect(
                "a few replies", () -> pair.client.count(CounterId.REPLIES_RECEIVED) > 5, SECOND);
        region.close();
        long replies = pair.server.count(CounterId.REPLIES_SENT);

        assertThat(reader.outcome()).isEqualTo(WcStatus.REMOTE_ACCESS_ERROR);
        assertThat(pair.server.count(CounterId.REPLIES_SENT)).isEqualTo(replies);
        pair.expectNoContexts(5 * SECOND);
    }

    @ParameterizedTest
    @EnumSource(Profile.class)
    @DisplayName("MR-4.6-10: local memory closed while a READ is on the way ends it")
    void closedAtTheInitiator(Profile profile) {
        Pair pair = new Pair(10, Profiles.only(profile).build(), 1, 8 << 20).connect();
        Reader reader = new Reader(pair, 8 << 20);
        reader.local.segment().fill((byte) 3);
        pair.serverEnd.region.segment().fill((byte) 4);
        reader.read(0, 1, 0, 8 << 20);
        reader.add(0, 2, 0, 0, 1);
        pair.lab.expect(
                "a few replies", () -> pair.client.count(CounterId.REPLIES_RECEIVED) > 5, SECOND);
        reader.local.close();
        reader.local.segment().fill((byte) 9);

        assertThat(reader.outcome()).isEqualTo(WcStatus.LOCAL_PROTECTION_ERROR);
        pair.expectNoContexts(5 * SECOND);
        pair.clientEnd.poll();
        assertThat(pair.clientEnd.sends.get(1).status()).isEqualTo(WcStatus.WR_FLUSH_ERROR);
        byte[] kept = reader.local.segment().toArray(java.lang.foreign.ValueLayout.JAVA_BYTE);
        assertThat(kept).containsOnly(9);
    }

    @ParameterizedTest
    @EnumSource(Profile.class)
    @DisplayName("a READ that is refused ends after those before it and flushes those behind it")
    void flushOrder(Profile profile) {
        Pair pair = new Pair(11, Profiles.only(profile).build(), 1, 1 << 20).connect();
        Reader reader = new Reader(pair, 1 << 20);
        reader.read(0, 1, 0, 1 << 20);
        reader.add(0, 2, 0, 0, 1);
        pair.clientEnd.qp().postRead(3, reader.local, 0, 8, pair.serverEnd.region.address(), 1);
        reader.read(0, 4, 0, 1 << 20);
        pair.write(0, 5, 0, 1 << 16);
        reader.add(0, 6, 0, 8, 1);
        pair.lab.expect(
                "six outcomes",
                () -> {
                    pair.clientEnd.poll();
                    return pair.clientEnd.sends.size() == 6;
                },
                5 * SECOND);

        assertThat(pair.clientEnd.sends)
                .extracting(wc -> wc.wrId())
                .containsExactly(1L, 2L, 3L, 4L, 5L, 6L);
        assertThat(pair.clientEnd.sends)
                .extracting(wc -> wc.status())
                .containsExactly(
                        WcStatus.SUCCESS,
                        WcStatus.SUCCESS,
                        WcStatus.REMOTE_ACCESS_ERROR,
                        WcStatus.WR_FLUSH_ERROR,
                        WcStatus.WR_FLUSH_ERROR,
                        WcStatus.WR_FLUSH_ERROR);
        pair.expectNoContexts(5 * SECOND);
    }

    @ParameterizedTest
    @EnumSource(Profile.class)
    @DisplayName("MR-4.6-2, MR-4.6-3: replies that are not asked for, or do not fit, are ignored")
    void foreignRepliesAreIgnored(Profile profile) {
        Pair pair = new Pair(12, Profiles.only(profile).maxPaths(1).build(), 1, 4096).connect();
        pair.serverEnd.fill(pair.lab.rng("data"));
        Reader reader = new Reader(pair, 4096);
        pair.lab.addFault(
                packet -> {
                    if (!RawPacket.isData(packet.bytes)
                            || RawPacket.opcode(packet.bytes) != Opcode.READ_DATA.code()) {
                        return 1;
                    }
                    // PSN, MSN, offset, CID, epoch and stream, each off by one, and one too short.
                    for (int at : new int[] {11, 19, 23, 30, 31, 7}) {
                        byte[] other = packet.bytes.clone();
                        other[at]++;
                        other[40] ^= 1;
                        pair.lab.inject(pair.lab.copy(packet, RawPacket.seal(other)));
                    }
                    byte[] shorter = java.util.Arrays.copyOf(packet.bytes, packet.bytes.length - 1);
                    shorter[40] ^= 1;
                    pair.lab.inject(pair.lab.copy(packet, RawPacket.seal(shorter)));
                    return 1;
                });
        reader.read(0, 1, 0, 4096);

        assertThat(reader.outcome()).isEqualTo(WcStatus.SUCCESS);
        assertThat(reader.mismatch(4096)).isEqualTo(-1);
        assertThat(pair.client.count(CounterId.ACKS_STALE)).isGreaterThanOrEqualTo(7);
    }
}
