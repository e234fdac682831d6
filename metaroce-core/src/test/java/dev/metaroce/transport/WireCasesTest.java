package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.CounterId;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.testing.Lab;
import dev.metaroce.testing.Pair;
import dev.metaroce.testing.Profiles;
import dev.metaroce.testing.RawPacket;
import dev.metaroce.util.Rng;
import dev.metaroce.wire.ControlOpcode;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.Profile;
import dev.metaroce.wire.SamplePackets;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Cases W03 to W08: what a live endpoint does with odd packets, sizes and sequence numbers. */
class WireCasesTest {
    private static final long SECOND = 1_000_000_000L;
    private static final NetAddress STRANGER = NetAddress.ofIpv4(0x0A63_6363, 40_000);

    @ParameterizedTest
    @EnumSource(Profile.class)
    @DisplayName("W03: every prefix of every packet is counted, not answered, and does no harm")
    void w03TruncatedPacketsAreCountedAndDoNoHarm(Profile profile) {
        Pair pair = pair(profile, 1, 1 << 20);
        pair.write(0, 1, 0, 1 << 20);
        List<byte[]> prefixes = new ArrayList<>();
        for (SamplePackets.Sample sample : SamplePackets.all()) {
            byte[] whole = sample.bytes();
            for (int length = 0; length < whole.length; length++) {
                prefixes.add(Arrays.copyOf(whole, length));
            }
        }
        long toStranger = countAnswersToStranger(pair, prefixes);
        pair.expectSends(1, SECOND);

        long refused =
                pair.server.count(CounterId.MALFORMED) + pair.server.count(CounterId.BAD_CRC);
        assertThat(refused).isEqualTo(prefixes.size());
        assertThat(toStranger).isZero();
        assertThat(pair.mismatch()).isEqualTo(-1);
    }

    private static long countAnswersToStranger(Pair pair, List<byte[]> packets) {
        long[] answers = new long[1];
        pair.lab.addFault(
                packet -> {
                    if (packet.destination.sameHost(STRANGER)) {
                        answers[0]++;
                    }
                    return 1;
                });
        for (byte[] packet : packets) {
            pair.lab.inject(STRANGER, pair.server, packet);
        }
        pair.lab.advance(50_000_000);
        return answers[0];
    }

    @ParameterizedTest
    @EnumSource(Profile.class)
    @DisplayName("W04: a completion tells the bytes sent, and none beyond them is touched")
    void w04LengthsAreExact(Profile profile) {
        int[] sizes = {0, 1, 2, 3, 4, 5, 63, 64, 65, 1407, 1408, 1409};
        Pair pair = pair(profile, 1, 1 << 20);
        byte canary = (byte) 0xA5;
        pair.serverEnd.region.segment().fill(canary);
        for (int i = 0; i < 2 * sizes.length; i++) {
            pair.receive(0, i, i * 4096L, 2048);
        }
        for (int i = 0; i < sizes.length; i++) {
            pair.send(0, i, i * 4096L, sizes[i]);
            long at = (100 + i) * 4096L;
            Pair.must(
                    100 + i,
                    pair.clientEnd
                            .qp()
                            .postWriteWithImmediate(
                                    100 + i,
                                    pair.clientEnd.region,
                                    at,
                                    sizes[i],
                                    pair.serverEnd.region.address() + at,
                                    pair.serverEnd.region.rkey(),
                                    0xC0FFEE + i,
                                    true));
        }
        pair.expectSends(2 * sizes.length, SECOND);
        pair.expectReceives(2 * sizes.length, SECOND);

        MemorySegment sent = pair.clientEnd.region.segment();
        MemorySegment got = pair.serverEnd.region.segment();
        for (int i = 0; i < sizes.length; i++) {
            // Sends and writes alternate; each took the next receive.
            WorkCompletion ofSend = pair.serverEnd.receives.get(2 * i);
            assertThat(ofSend.byteLength()).isEqualTo(sizes[i]);
            assertThat(ofSend.hasImmediate()).isFalse();
            checkPlaced(sent, i * 4096L, got, 2 * i * 4096L, sizes[i], 2048, canary);
            WorkCompletion ofWrite = pair.serverEnd.receives.get(2 * i + 1);
            assertThat(ofWrite.byteLength()).isEqualTo(sizes[i]);
            assertThat(ofWrite.immediate()).isEqualTo(0xC0FFEE + i);
            long at = (100 + i) * 4096L;
            checkPlaced(sent, at, got, at, sizes[i], 4096, canary);
        }
        assertThat(pair.clientEnd.sends).allMatch(wc -> wc.status() == WcStatus.SUCCESS);
    }

    private static void checkPlaced(
            MemorySegment from,
            long at,
            MemorySegment to,
            long toAt,
            int size,
            int room,
            byte rest) {
        assertThat(MemorySegment.mismatch(from, at, at + size, to, toAt, toAt + size))
                .isEqualTo(-1);
        for (long i = size; i < room; i++) {
            assertThat(to.get(ValueLayout.JAVA_BYTE, toAt + i)).isEqualTo(rest);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 2, 3, 7, 15})
    @DisplayName("W05: other versions are dropped in silence; a foreign REQUEST gets one DENY")
    void w05OtherVersionsAreRefused(int version) {
        Pair pair = pair(Profile.M, 1, 1 << 20);
        List<byte[]> seen = new ArrayList<>();
        pair.lab.addFault(
                packet -> {
                    if (packet.destination.sameHost(STRANGER)) {
                        seen.add(packet.bytes);
                    }
                    return 1;
                });
        int others = 0;
        for (SamplePackets.Sample sample : SamplePackets.all()) {
            byte[] bytes = withVersion(sample.bytes(), version);
            if (!RawPacket.is(bytes, ControlOpcode.REQUEST)) {
                pair.lab.inject(STRANGER, pair.server, bytes);
                others++;
            }
        }
        pair.lab.advance(10_000_000);
        assertThat(pair.server.count(CounterId.BAD_VERSION)).isEqualTo(others);
        assertThat(seen).isEmpty();

        byte[] request =
                SamplePackets.all().stream()
                        .map(SamplePackets.Sample::bytes)
                        .filter(bytes -> RawPacket.is(bytes, ControlOpcode.REQUEST))
                        .findFirst()
                        .orElseThrow();
        pair.lab.inject(STRANGER, pair.server, withVersion(request, version));
        pair.lab.advance(10_000_000);

        assertThat(seen).hasSize(1);
        byte[] deny = seen.get(0);
        assertThat(RawPacket.is(deny, ControlOpcode.DENY)).isTrue();
        // reason VERSION, and a mask that names version 1
        assertThat(deny[24]).isEqualTo((byte) 3);
        assertThat(ByteBuffer.wrap(deny).getShort(26)).isEqualTo((short) 0b10);
        assertThat(deny.length).isLessThanOrEqualTo(request.length);
    }

    private static byte[] withVersion(byte[] packet, int version) {
        packet[0] = (byte) (version << 4 | packet[0] & 0xF);
        return RawPacket.seal(packet);
    }

    @ParameterizedTest
    @EnumSource(Profile.class)
    @DisplayName("W06: sequence numbers wrap without loss, disorder or copies")
    void w06SequenceNumbersWrap(Profile profile) {
        for (int first : new int[] {-8, -1, Integer.MAX_VALUE - 7, Integer.MAX_VALUE}) {
            DeviceLimits limits = Profiles.only(profile).maxPaths(1).build();
            Pair pair = new Pair(6, limits, 1, 64 * 8192L);
            pair.server.forceKey(first);
            pair.connect();
            pair.clientEnd.fill(pair.lab.rng("data"));
            int[] firstSeen = new int[1];
            boolean[] any = new boolean[1];
            pair.lab.addFault(
                    packet -> {
                        if (RawPacket.isData(packet.bytes) && !any[0]) {
                            any[0] = true;
                            firstSeen[0] = RawPacket.psn(packet.bytes);
                        }
                        return 1;
                    });
            for (int i = 0; i < 64; i++) {
                pair.write(0, i, i * 8192L, 8192);
            }
            pair.expectSends(64, SECOND);

            assertThat(firstSeen[0]).isEqualTo(first);
            assertThat(pair.mismatch()).isEqualTo(-1);
            assertThat(pair.server.count(CounterId.DATA_ACCEPTED)).isEqualTo(64);
            assertThat(pair.client.count(CounterId.DATA_RESENT)).isZero();
            assertThat(pair.server.count(CounterId.OUT_OF_ORDER)).isZero();
            assertThat(pair.server.count(CounterId.DUPLICATES)).isZero();
        }
    }

    @ParameterizedTest
    @EnumSource(Profile.class)
    @DisplayName("W07: absurd cumulative acknowledgements are ignored and counted")
    void w07AbsurdAcksAreIgnored(Profile profile) {
        Pair pair = new Pair(7, Profiles.only(profile).maxPaths(1).build(), 1, 32 * 4096L);
        int first = -16;
        pair.server.forceKey(first);
        pair.connect();
        pair.clientEnd.fill(pair.lab.rng("data"));
        // A true ACK is the pattern of the forged ones.
        List<Lab.Packet> acks = new ArrayList<>();
        pair.lab.addFault(
                packet -> {
                    if (RawPacket.isAck(packet.bytes)) {
                        acks.add(packet);
                        return 0;
                    }
                    return 1;
                });
        for (int i = 0; i < 32; i++) {
            pair.write(0, i, i * 4096L, 4096);
        }
        pair.lab.driveUntil(() -> !acks.isEmpty(), SECOND);
        Lab.Packet pattern = acks.get(0);
        int next = first + 32;
        long before = pair.client.count(CounterId.ACKS_STALE);
        int[] absurd = {
            first - 1,
            first - 2,
            first - (1 << 31),
            next + 1,
            next + (1 << 31) - 1,
            next + (1 << 30)
        };
        for (int cum : absurd) {
            byte[] forged = Arrays.copyOf(pattern.bytes, pattern.bytes.length);
            ByteBuffer.wrap(forged).putInt(36, cum);
            RawPacket.seal(forged);
            Lab.Packet copy = pair.lab.copy(pattern, forged);
            pair.lab.inject(copy);
        }
        pair.lab.advance(100_000);
        pair.clientEnd.poll();

        assertThat(pair.client.count(CounterId.ACKS_STALE) - before).isEqualTo(absurd.length);
        assertThat(pair.clientEnd.sends).isEmpty();
        pair.lab.heal();
        pair.expectSends(32, SECOND);
        assertThat(pair.mismatch()).isEqualTo(-1);
    }

    @ParameterizedTest
    @ValueSource(ints = {256, 512, 1024, 4096})
    @DisplayName("W08: lengths around the MTU arrive whole in max(1, ceil(length / MTU)) packets")
    void w08LengthsAroundTheMtu(int mtu) {
        int[] sizes = {
            0, 1, 1023, 1024, 1025, 2047, 2048, 2049, 4095, 4096, 4097, 65535, 65536, 65537
        };
        for (Profile profile : Profile.values()) {
            Pair pair = pair(profile, mtu, 1, 14 * 2 * 66_000L);
            long needed = 0;
            for (int i = 0; i < sizes.length; i++) {
                pair.write(0, i, i * 66_000L, sizes[i]);
                long at = (sizes.length + i) * 66_000L;
                pair.receive(0, i, at, sizes[i]);
                pair.send(0, 100 + i, at, sizes[i]);
                needed += 2L * Math.max(1, (sizes[i] + mtu - 1) / mtu);
            }
            pair.expectSends(2 * sizes.length, SECOND);
            pair.expectReceives(sizes.length, SECOND);

            assertThat(pair.client.count(CounterId.DATA_SENT)).isEqualTo(needed);
            assertThat(pair.server.count(CounterId.DATA_ACCEPTED)).isEqualTo(needed);
            for (int i = 0; i < 2 * sizes.length; i++) {
                long at = i * 66_000L;
                long end = at + sizes[i % sizes.length];
                assertThat(
                                MemorySegment.mismatch(
                                        pair.clientEnd.region.segment(),
                                        at,
                                        end,
                                        pair.serverEnd.region.segment(),
                                        at,
                                        end))
                        .isEqualTo(-1);
            }
        }
    }

    private static Pair pair(Profile profile, int streams, long bytes) {
        return pair(profile, 1408, streams, bytes);
    }

    private static Pair pair(Profile profile, int mtu, int streams, long bytes) {
        DeviceLimits limits = Profiles.only(profile).payloadMtu(mtu).build();
        Pair pair = new Pair(3, limits, streams, bytes).connect();
        pair.clientEnd.fill(new Rng(9));
        return pair;
    }

    @ParameterizedTest
    @CsvSource({"M,4096,1024", "M,1024,4096", "S,4096,1024", "S,1024,4096"})
    @DisplayName("C15: the smaller payload limit of the two ends holds in both directions")
    void c15UnequalMtu(Profile profile, int clientMtu, int serverMtu) {
        Pair pair =
                new Pair(
                        15,
                        Profiles.only(profile).payloadMtu(clientMtu).build(),
                        Profiles.only(profile).payloadMtu(serverMtu).build(),
                        1,
                        2 << 20);
        int[] largest = new int[1];
        pair.lab.addFault(
                packet -> {
                    largest[0] = Math.max(largest[0], packet.bytes.length);
                    return 1;
                });
        pair.connect();
        pair.clientEnd.fill(new Rng(1));
        pair.serverEnd.fill(new Rng(2));
        pair.receive(0, 1, 1 << 19, 1 << 19);
        pair.write(0, 1, 0, 1 << 19);
        pair.send(0, 2, 1 << 19, 1 << 19);
        Pair.must(
                3,
                pair.serverEnd
                        .qp()
                        .postWrite(
                                3,
                                pair.serverEnd.region,
                                1 << 20,
                                1 << 20,
                                pair.clientEnd.region.address() + (1 << 20),
                                pair.clientEnd.region.rkey()));
        pair.expectSends(2, SECOND);
        pair.lab.expect("the server's write", () -> pair.serverEnd.sendQueue.size() == 1, SECOND);

        assertThat(pair.mismatch()).isEqualTo(-1);
        assertThat(pair.clientEnd.connection.payloadMtu()).isEqualTo(1024);
        assertThat(pair.serverEnd.connection.payloadMtu()).isEqualTo(1024);
        assertThat(largest[0]).isBetween(1024, 1024 + 56);
    }
}
