package dev.metaroce.rocev2;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.CounterId;
import dev.metaroce.testing.Lab;
import dev.metaroce.testing.Pair;
import dev.metaroce.testing.Reader;
import dev.metaroce.testing.RocePackets;
import dev.metaroce.wire.roce.Psn24;
import dev.metaroce.wire.roce.RcOpcode;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;

/** Cases W06 to W08 for RoCEv2: sequence numbers, acknowledgements and lengths at their edges. */
class RoceWireCasesTest {
    private static final long SECOND_NS = 1_000_000_000L;

    /** A pair whose client starts with this PSN. */
    private static Pair pair(int firstPsn, long bytes) {
        return pair(firstPsn, bytes, UnaryOperator.identity());
    }

    private static Pair pair(int firstPsn, long bytes, UnaryOperator<RoceSettings> changes) {
        Pair pair = Pair.ofRoce(6, RocePackets.mtu(4096), changes, 0, bytes);
        pair.client.forceKey(firstPsn);
        pair.addStream();
        pair.connect();
        pair.clientEnd.fill(pair.lab.rng("data"));
        return pair;
    }

    @ParameterizedTest
    @ValueSource(ints = {(1 << 24) - 8, (1 << 24) - 1, (1 << 23) - 8, 0})
    @DisplayName("W06: sequence numbers wrap without loss, disorder or copies")
    void w06SequenceNumbersWrap(int first) {
        Pair pair = pair(first, 64 * 4096L);
        List<Integer> seen = new ArrayList<>();
        pair.lab.addFault(
                packet -> {
                    if (RocePackets.isRequest(packet)) {
                        seen.add(RocePackets.psn(packet));
                    }
                    return 1;
                });
        for (int i = 0; i < 64; i++) {
            pair.write(0, i, i * 4096L, 4096);
        }
        pair.expectSends(64, SECOND_NS);

        assertThat(seen).hasSize(64);
        for (int i = 0; i < 64; i++) {
            assertThat(seen.get(i)).isEqualTo(Psn24.add(first, i));
        }
        assertThat(pair.mismatch()).isEqualTo(-1);
        assertThat(pair.server.count(CounterId.DATA_ACCEPTED)).isEqualTo(64);
        assertThat(pair.client.count(CounterId.DATA_RESENT)).isZero();
        assertThat(pair.server.count(CounterId.OUT_OF_SEQUENCE)).isZero();
        assertThat(pair.server.count(CounterId.DUPLICATES)).isZero();
    }

    @ParameterizedTest
    @ValueSource(ints = {(1 << 24) - 16, 100})
    @DisplayName("W07: absurd acknowledgements are ignored and counted")
    void w07AbsurdAcksAreIgnored(int first) {
        Pair pair = pair(first, 32 * 4096L);
        // A true ACK is the pattern of the forged ones.
        List<Lab.Packet> acks = new ArrayList<>();
        pair.lab.addFault(
                packet -> {
                    if (RocePackets.isAck(packet)) {
                        acks.add(packet);
                        return 0;
                    }
                    return 1;
                });
        for (int i = 0; i < 32; i++) {
            pair.write(0, i, i * 4096L, 4096);
        }
        pair.lab.driveUntil(() -> !acks.isEmpty(), SECOND_NS);
        Lab.Packet pattern = acks.get(0);
        int next = first + 32;
        int[] absurd = {
            first - 1, first - 2, first - (1 << 23), next, next + 1, next + (1 << 23) - 1
        };
        for (int psn : absurd) {
            pair.lab.inject(pair.lab.copy(pattern, RocePackets.withPsn(pattern, psn)));
        }
        pair.lab.advance(100_000);
        pair.clientEnd.poll();

        assertThat(pair.client.count(CounterId.ACKS_STALE)).isEqualTo(absurd.length);
        assertThat(pair.clientEnd.sends).isEmpty();
        pair.lab.heal();
        pair.expectSends(32, SECOND_NS);
        assertThat(pair.mismatch()).isEqualTo(-1);
    }

    private static final int[] SIZES = {
        0, 1, 1023, 1024, 1025, 2047, 2048, 2049, 4095, 4096, 4097, 65535, 65536, 65537
    };

    private static final long ROOM = 66_000;

    /** In rows of {@link #SIZES}: WRITEs, SENDs, READs. */
    private static boolean isWhole(MemorySegment from, MemorySegment to, int row) {
        for (int i = 0; i < SIZES.length; i++) {
            long at = (row * SIZES.length + i) * ROOM;
            if (MemorySegment.mismatch(from, at, at + SIZES[i], to, at, at + SIZES[i]) != -1) {
                return false;
            }
        }
        return true;
    }

    @ParameterizedTest
    @ValueSource(ints = {256, 512, 1024, 4096})
    @DisplayName("W08: lengths around the MTU arrive whole in max(1, ceil(length / MTU)) packets")
    void w08LengthsAroundTheMtu(int mtu) {
        int sizes = SIZES.length;
        long bytes = 3 * sizes * ROOM;
        Pair pair =
                Pair.ofRoce(3, RocePackets.mtu(mtu), UnaryOperator.identity(), 1, bytes).connect();
        pair.clientEnd.fill(pair.lab.rng("client"));
        pair.serverEnd.fill(pair.lab.rng("server"));
        Reader reader = new Reader(pair, bytes);
        long needed = 0;
        long[] asked = new long[1];
        pair.lab.addFault(
                packet -> {
                    asked[0] += RocePackets.opcode(packet) == RcOpcode.READ_REQUEST ? 1 : 0;
                    return 1;
                });
        for (int i = 0; i < sizes; i++) {
            pair.write(0, i, i * ROOM, SIZES[i]);
            pair.receive(0, i, (sizes + i) * ROOM, SIZES[i]);
            pair.send(0, 100 + i, (sizes + i) * ROOM, SIZES[i]);
            reader.read(0, 200 + i, (2 * sizes + i) * ROOM, SIZES[i]);
            needed += Math.max(1, (SIZES[i] + mtu - 1) / mtu);
        }
        pair.expectSends(3 * sizes, SECOND_NS);
        pair.expectReceives(sizes, SECOND_NS);

        assertThat(pair.server.count(CounterId.DATA_ACCEPTED) - asked[0]).isEqualTo(2 * needed);
        assertThat(pair.server.count(CounterId.REPLIES_SENT)).isEqualTo(needed);
        assertThat(pair.client.count(CounterId.DATA_RESENT)).isZero();
        MemorySegment theirs = pair.serverEnd.region.segment();
        assertThat(isWhole(pair.clientEnd.region.segment(), theirs, 0)).isTrue();
        assertThat(isWhole(pair.clientEnd.region.segment(), theirs, 1)).isTrue();
        assertThat(isWhole(reader.local.segment(), theirs, 2)).isTrue();
    }

    @ParameterizedTest
    @EnumSource(GoBackN.class)
    @DisplayName("M11: one acknowledgement for twenty packets, and one for the last")
    void m11AcknowledgementsAreCoalesced(GoBackN trigger) {
        for (int packets : new int[] {1, 19, 20, 21, 1007}) {
            Pair pair =
                    pair(
                            7,
                            1007 * 4096L,
                            plain -> plain.toBuilder().packetsPerAck(20).trigger(trigger).build());
            pair.write(0, 1, 0, packets * 4096L);
            pair.expectSends(1, SECOND_NS);

            long acks = pair.server.count(CounterId.ACKS_SENT);
            assertThat(acks).isEqualTo((packets + 19) / 20);
        }
    }
}
