package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.CounterId;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.testing.Lab;
import dev.metaroce.testing.Pair;
import dev.metaroce.testing.Profiles;
import dev.metaroce.testing.RawPacket;
import dev.metaroce.testing.Sender;
import dev.metaroce.util.Rng;
import dev.metaroce.wire.Flags;
import dev.metaroce.wire.PacketType;
import dev.metaroce.wire.Profile;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Cases L01 to L06: packets that get lost, are copied, or change their order. */
class LossCasesTest {
    private static final long MS = 1_000_000;
    private static final long SECOND = 1_000 * MS;
    private static final long TRANSFER_BYTES = 8 << 20;

    @ParameterizedTest
    @CsvSource({
        "M,0.001,0.95",
        "M,0.01,0.8",
        "M,0.05,0.5",
        "M,0.1,0.3",
        "S,0.001,0",
        "S,0.01,0",
        "S,0.05,0",
        "S,0.1,0"
    })
    @DisplayName("L01: random loss both ways is repaired with little more than what was lost")
    void l01RandomLoss(Profile profile, double loss, double goodput) {
        long clean = transferNs(profile, 0, 1);
        long lossy = transferNs(profile, loss, goodput > 0 ? 1.1 : Double.MAX_VALUE);

        assertThat((double) clean / lossy).isGreaterThanOrEqualTo(goodput);
    }

    /** Time of a transfer over a gigabit link; the sender may send so many copies per packet. */
    private static long transferNs(Profile profile, double loss, double mostCopies) {
        Pair pair = new Pair(1, Profiles.only(profile).build(), 1, TRANSFER_BYTES);
        pair.lab.link(1_000_000_000L, MS / 4, 10 * MS);
        pair.lab.latencyNs(50_000);
        pair.connect();
        pair.clientEnd.fill(pair.lab.rng("data"));
        Rng chance = pair.lab.rng("loss");
        pair.lab.addFault(packet -> chance.chance(loss) ? 0 : 1);
        long start = pair.lab.nowNs();
        for (int i = 0; i < 32; i++) {
            pair.write(0, i, i * TRANSFER_BYTES / 32, TRANSFER_BYTES / 32);
        }
        pair.expectSends(32, 20 * SECOND);
        long took = pair.lab.nowNs() - start;

        assertThat(pair.mismatch()).isEqualTo(-1);
        double needed = pair.client.count(CounterId.DATA_SENT);
        double sent = needed + pair.client.count(CounterId.DATA_RESENT);
        assertThat(sent / needed).isLessThanOrEqualTo(mostCopies / (1 - loss));
        return took;
    }

    @ParameterizedTest
    @CsvSource({
        "64,1,4", "255,1,4", "256,1,4", "257,1,6", "64,8,4", "255,8,4", "256,8,4", "257,8,6"
    })
    @DisplayName(
            "L02: a burst of losses around the size of the bitmap is repaired in a few round trips")
    void l02BurstLoss(int burst, int paths, int roundTrips) {
        long rttNs = 20 * MS;
        Pair pair =
                new Pair(
                        2,
                        Profiles.only(Profile.M).maxPaths(paths).payloadMtu(1024).build(),
                        1,
                        1 << 16);
        pair.lab.latencyNs(rttNs / 2);
        pair.connect();
        Sender sender = new Sender(pair, 0, 1 << 16, 512);
        // Windows open first.
        Sender.run(pair, 40 * rttNs, sender);
        int[] lost = new int[1];
        Map<Long, Long> missing = new HashMap<>();
        long[] repairNs = new long[1];
        pair.lab.addFault(
                packet -> {
                    if (!RawPacket.isData(packet.bytes)) {
                        return 1;
                    }
                    long name =
                            (long) RawPacket.path(packet.bytes) << 32
                                    | RawPacket.psn(packet.bytes) & 0xFFFF_FFFFL;
                    if (lost[0] < burst) {
                        lost[0]++;
                        missing.put(name, pair.lab.nowNs());
                        return 0;
                    }
                    Long since = missing.remove(name);
                    if (since != null) {
                        repairNs[0] =
                                Math.max(repairNs[0], pair.lab.nowNs() + packet.delayNs - since);
                    }
                    return 1;
                });
        Sender.run(pair, 20 * rttNs, sender);

        assertThat(lost[0]).isEqualTo(burst);
        assertThat(missing).isEmpty();
        assertThat(repairNs[0]).isLessThanOrEqualTo(roundTrips * rttNs);
        assertThat(pair.server.count(CounterId.OUT_OF_WINDOW)).isZero();
    }

    @ParameterizedTest
    @CsvSource({"M,65536,1", "M,65536,3", "M,1,1", "S,65536,1", "S,65536,3", "S,1,1"})
    @DisplayName("L03: a lost tail is repaired within two time-outs and without further traffic")
    void l03TailLoss(Profile profile, int length, int lost) {
        DeviceLimits limits = Profiles.only(profile).maxPaths(1).build();
        Pair pair = new Pair(3, limits, 1, 1 << 16).connect();
        pair.clientEnd.fill(pair.lab.rng("data"));
        int packets = Math.max(1, (length + limits.payloadMtu() - 1) / limits.payloadMtu());
        int[] seen = new int[1];
        pair.lab.addFault(
                packet -> {
                    boolean tail =
                            RawPacket.isData(packet.bytes)
                                    && (RawPacket.flags(packet.bytes) & Flags.RETX) == 0
                                    && ++seen[0] > packets - lost;
                    return tail ? 0 : 1;
                });
        long start = pair.lab.nowNs();
        pair.write(0, 1, 0, length);
        pair.expectSends(1, SECOND);

        assertThat(seen[0]).isEqualTo(packets);
        assertThat(pair.lab.nowNs() - start).isLessThanOrEqualTo(2 * limits.rtoFloorNs());
        assertThat(
                        pair.clientEnd
                                .region
                                .segment()
                                .asSlice(0, length)
                                .mismatch(pair.serverEnd.region.segment().asSlice(0, length)))
                .isEqualTo(-1);
    }

    @ParameterizedTest
    @EnumSource(Profile.class)
    @DisplayName("L04: nine of ten acknowledgements lost, then all of them for a second")
    void l04AcksLost(Profile profile) {
        Pair pair = new Pair(4, Profiles.only(profile).build(), 1, 64 << 16);
        pair.connect();
        pair.clientEnd.fill(pair.lab.rng("data"));
        Rng chance = pair.lab.rng("loss");
        long[] silentUntil = new long[1];
        pair.lab.addFault(
                packet -> {
                    boolean answer =
                            RawPacket.isAck(packet.bytes)
                                    || RawPacket.is(packet.bytes, PacketType.NAK);
                    boolean silent = pair.lab.nowNs() < silentUntil[0];
                    return answer && (silent || chance.chance(0.9)) ? 0 : 1;
                });
        for (int i = 0; i < 32; i++) {
            pair.receive(0, i, i << 16, 1 << 16);
            pair.send(0, i, i << 16, 1 << 16);
        }
        pair.expectSends(32, 10 * SECOND);
        long needed = pair.client.count(CounterId.DATA_SENT);
        long sent = needed + pair.client.count(CounterId.DATA_RESENT);
        assertThat(sent).isLessThanOrEqualTo(2 * needed);
        silentUntil[0] = pair.lab.nowNs() + SECOND;
        for (int i = 32; i < 64; i++) {
            pair.receive(0, i, i << 16, 1 << 16);
            pair.send(0, i, i << 16, 1 << 16);
        }
        pair.expectSends(64, 10 * SECOND);
        pair.expectReceives(64, SECOND);

        assertThat(pair.mismatch()).isEqualTo(-1);
        assertThat(pair.serverEnd.receives).hasSize(64);
        for (int i = 0; i < 64; i++) {
            assertThat(pair.serverEnd.receives.get(i).wrId()).isEqualTo(i);
        }
    }

    @ParameterizedTest
    @CsvSource({"M,2", "M,10", "S,2", "S,10"})
    @DisplayName("L05: copies are counted exactly and have no effect")
    void l05Duplicates(Profile profile, int copies) {
        Pair pair = new Pair(5, Profiles.only(profile).build(), 1, 64 << 12).connect();
        pair.clientEnd.fill(pair.lab.rng("data"));
        long[] made = new long[1];
        pair.lab.addFault(
                packet -> {
                    if (RawPacket.isData(packet.bytes)) {
                        made[0] += copies - 1;
                        return copies;
                    }
                    return RawPacket.isAck(packet.bytes) ? 2 : 1;
                });
        for (int i = 0; i < 64; i++) {
            pair.receive(0, i, i << 12, 1 << 12);
            Pair.must(
                    i,
                    pair.clientEnd
                            .qp()
                            .postSendWithImmediate(
                                    i,
                                    pair.clientEnd.region,
                                    i << 12,
                                    1 << 12,
                                    0xC0FFEE + i,
                                    true));
        }
        pair.expectSends(64, SECOND);
        pair.expectReceives(64, SECOND);
        pair.lab.advance(10 * MS);
        pair.serverEnd.poll();

        assertThat(pair.mismatch()).isEqualTo(-1);
        assertThat(pair.serverEnd.receives)
                .extracting(WorkCompletion::immediate)
                .containsExactlyElementsOf(
                        java.util.stream.IntStream.range(0, 64)
                                .mapToObj(i -> 0xC0FFEE + i)
                                .toList());
        assertThat(pair.server.count(CounterId.DUPLICATES)).isEqualTo(made[0]);
        assertThat(pair.client.count(CounterId.DATA_RESENT)).isZero();
    }

    @ParameterizedTest
    @EnumSource(Profile.class)
    @DisplayName("L08: a flipped bit is dropped and counted, and nothing of it delivered")
    void l08FlippedBits(Profile profile) {
        Pair pair = new Pair(8, Profiles.only(profile).build(), 1, TRANSFER_BYTES).connect();
        pair.clientEnd.fill(pair.lab.rng("data"));
        Rng chance = pair.lab.rng("flips");
        int[] flips = new int[1];
        pair.lab.addFault(
                packet -> {
                    if (RawPacket.isData(packet.bytes) && chance.chance(0.01)) {
                        flips[0]++;
                        // Not the version, which is looked at before the checksum.
                        int at = 1 + chance.nextInt(packet.bytes.length - 1);
                        packet.bytes[at] ^= (byte) (1 << chance.nextInt(8));
                    }
                    return 1;
                });
        for (int i = 0; i < 64; i++) {
            pair.write(0, i, i * TRANSFER_BYTES / 64, TRANSFER_BYTES / 64);
        }
        pair.expectSends(64, 10 * SECOND);

        assertThat(pair.mismatch()).isEqualTo(-1);
        assertThat(flips[0]).isPositive();
        assertThat(pair.server.count(CounterId.BAD_CRC)).isEqualTo(flips[0]);
    }

    /** On one path nothing but what was lost is sent again. */
    @Test
    @DisplayName("O01: counters tell what happened to one connection, and nothing to the other")
    void o01CountersTellTheTruth() {
        Pair pair = new Pair(1, Profiles.only(Profile.M).maxPaths(4).build(), 1, TRANSFER_BYTES);
        pair.lab.link(1_000_000_000L, 10 * MS, 100 * MS);
        pair.connect();
        Pair quiet = new Pair(2, DeviceLimits.defaults(), 1, 1 << 20).connect();
        quiet.write(0, 1, 0, 1 << 20);
        quiet.expectSends(1, SECOND);
        pair.clientEnd.fill(pair.lab.rng("data"));
        int[] seen = new int[1];
        pair.lab.addFault(
                packet -> {
                    boolean first =
                            RawPacket.isData(packet.bytes)
                                    && (RawPacket.flags(packet.bytes) & Flags.RETX) == 0;
                    if (!first) {
                        return 1;
                    }
                    int number = seen[0]++;
                    if (number % 40 == 20) {
                        packet.bytes[100] ^= 1;
                    }
                    return number % 20 == 5 ? 0 : number % 100 == 50 ? 2 : 1;
                });
        for (int i = 0; i < 64; i++) {
            pair.write(0, i, i * TRANSFER_BYTES / 64, TRANSFER_BYTES / 64);
        }
        pair.expectSends(64, 10 * SECOND);
        int dropped = (seen[0] + 14) / 20;
        int corrupted = (seen[0] + 19) / 40;
        int copied = (seen[0] + 49) / 100;

        assertThat(seen[0]).isGreaterThan(900);
        assertThat(pair.client.count(CounterId.DATA_SENT)).isEqualTo(seen[0]);
        assertThat(pair.client.count(CounterId.DATA_RESENT)).isEqualTo(dropped + corrupted);
        assertThat(pair.client.count(CounterId.LOSSES_DETECTED)).isEqualTo(dropped + corrupted);
        assertThat(pair.client.count(CounterId.SPURIOUS_RESENDS)).isZero();
        assertThat(pair.server.count(CounterId.BAD_CRC)).isEqualTo(corrupted);
        assertThat(pair.server.count(CounterId.DUPLICATES)).isEqualTo(copied);
        assertThat(pair.server.count(CounterId.DATA_ACCEPTED)).isEqualTo(seen[0]);
        for (Lab.Node node : List.of(quiet.client, quiet.server)) {
            assertThat(node.count(CounterId.DATA_RESENT)).isZero();
            assertThat(node.count(CounterId.BAD_CRC)).isZero();
            assertThat(node.count(CounterId.DUPLICATES)).isZero();
        }
    }
}
