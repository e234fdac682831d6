package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.metaroce.event.CounterId;
import dev.metaroce.testing.Lab;
import dev.metaroce.testing.Pair;
import dev.metaroce.testing.Profiles;
import dev.metaroce.testing.RawPacket;
import dev.metaroce.testing.Sender;
import dev.metaroce.util.Rng;
import dev.metaroce.wire.Ecn;
import dev.metaroce.wire.Flags;
import dev.metaroce.wire.Profile;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.HashSet;
import java.util.Set;
import java.util.function.ToIntFunction;

/**
 * Mechanisms of loss recovery that studies take away: each does what it says, and data is whole.
 */
class MechanismsTest {
    private static final long MS = 1_000_000;
    private static final long SECOND = 1_000 * MS;
    private static final int PATHS = 4;
    private static final int MESSAGES = 64;
    private static final int MESSAGE_BYTES = 1 << 16;

    private static Pair pair(Profile profile, int paths, Mechanisms mechanisms) {
        DeviceLimits limits =
                Profiles.only(profile)
                        .maxPaths(paths)
                        .payloadMtu(1024)
                        .mechanisms(mechanisms)
                        .build();
        Pair pair = new Pair(11, limits, 1, (long) MESSAGES * MESSAGE_BYTES);
        pair.lab.link(10_000_000_000L, MS, 100 * MS);
        pair.lab.latencyNs(MS / 2);
        return pair.connect();
    }

    private static void writeAll(Pair pair) {
        pair.clientEnd.fill(pair.lab.rng("data"));
        for (int i = 0; i < MESSAGES; i++) {
            pair.write(0, i, (long) i * MESSAGE_BYTES, MESSAGE_BYTES);
        }
        pair.expectSends(MESSAGES, 20 * SECOND);
        assertThat(pair.mismatch()).isEqualTo(-1);
    }

    private static boolean isAgain(Lab.Packet packet) {
        return (RawPacket.flags(packet.bytes) & Flags.RETX) != 0;
    }

    /** What a property of data packets is seen to be. */
    private static Set<Integer> seen(Pair pair, ToIntFunction<Lab.Packet> property) {
        Set<Integer> values = new HashSet<>();
        pair.lab.addFault(
                packet -> {
                    if (RawPacket.isData(packet.bytes)) {
                        values.add(property.applyAsInt(packet));
                    }
                    return 1;
                });
        return values;
    }

    @ParameterizedTest
    @ValueSource(ints = {-1, 1, 63, 128, 257})
    void otherNumbersOfBitsAreRefused(int bits) {
        assertThatThrownBy(() -> Mechanisms.DEFAULT.withSackBits(bits))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("Mechanisms: sackBits " + bits + " is not 0, 64 or 256");
    }

    /** One packet does not get through: how far others run ahead of it. */
    @ParameterizedTest
    @ValueSource(ints = {64, 256})
    void aPathHasNoMorePacketsUnderWayThanBitsTell(int bits) {
        Pair pair = pair(Profile.M, 1, Mechanisms.DEFAULT.withSackBits(bits));
        Sender sender = new Sender(pair, 0, MESSAGE_BYTES, 256);
        Sender.run(pair, 20 * MS, sender);
        int[] psn = new int[2];
        boolean[] chosen = new boolean[1];
        pair.lab.addFault(
                packet -> {
                    if (!RawPacket.isData(packet.bytes)) {
                        return 1;
                    }
                    int its = RawPacket.psn(packet.bytes);
                    if (!chosen[0]) {
                        chosen[0] = true;
                        psn[0] = its;
                        psn[1] = its;
                    }
                    psn[1] = its - psn[1] > 0 ? its : psn[1];
                    return its == psn[0] ? 0 : 1;
                });
        Sender.run(pair, 50 * MS, sender);

        assertThat(psn[1] - psn[0]).isEqualTo(bits - 1);
    }

    /**
     * Eight packets of one flight are lost. With bits all of them are sent again in one go; without
     * any, one in a round trip.
     */
    @ParameterizedTest
    @CsvSource({"256,1,3", "64,1,3", "0,7,10"})
    void holesAreFoundAtOnceByBitsAndOneInARoundTripWithout(int bits, int least, int most) {
        Pair pair = pair(Profile.M, 1, Mechanisms.DEFAULT.withSackBits(bits));
        int[] seen = new int[1];
        long[] again = {Long.MAX_VALUE, 0};
        pair.lab.addFault(
                packet -> {
                    if (!RawPacket.isData(packet.bytes)) {
                        return 1;
                    }
                    if (isAgain(packet)) {
                        again[0] = Math.min(again[0], pair.lab.nowNs());
                        again[1] = pair.lab.nowNs();
                        return 1;
                    }
                    int number = seen[0]++;
                    return number >= 200 && number < 216 && number % 2 == 0 ? 0 : 1;
                });
        writeAll(pair);

        assertThat(pair.client.count(CounterId.DATA_RESENT)).isEqualTo(8);
        assertThat(pair.client.count(CounterId.LOSSES_DETECTED)).isEqualTo(8);
        assertThat(1 + (again[1] - again[0]) / MS).isBetween((long) least, (long) most);
    }

    @ParameterizedTest
    @EnumSource(SequenceSpace.class)
    void aLeaseHasAsManySequencesAsSaidAndUsesAllRoutes(SequenceSpace sequence) {
        Pair pair = pair(Profile.M, PATHS, Mechanisms.DEFAULT.with(sequence));
        Set<Integer> paths = seen(pair, packet -> RawPacket.path(packet.bytes));
        Set<Integer> routes = seen(pair, packet -> packet.route);
        writeAll(pair);

        assertThat(paths).hasSize(sequence == SequenceSpace.LEASE ? 1 : PATHS);
        assertThat(routes).containsExactlyInAnyOrder(1, 2, 3, 4);
    }

    @Test
    void goBackNStaysOnItsWay() {
        Pair pair = pair(Profile.S, PATHS, Mechanisms.DEFAULT.with(SequenceSpace.LEASE));
        Set<Integer> routes = seen(pair, packet -> packet.route);
        writeAll(pair);

        assertThat(routes).containsExactly(1);
    }

    @ParameterizedTest
    @CsvSource({"SAME_PATH,0", "OTHER_PATH,1"})
    void whatIsSentAgainTakesTheWaySaid(ResendRoute resend, int away) {
        Pair pair = pair(Profile.M, PATHS, Mechanisms.DEFAULT.with(resend));
        Rng chance = pair.lab.rng("loss");
        Set<Integer> distances = new HashSet<>();
        pair.lab.addFault(
                packet -> {
                    if (!RawPacket.isData(packet.bytes)) {
                        return 1;
                    }
                    if (isAgain(packet)) {
                        int from = 1 + RawPacket.path(packet.bytes);
                        distances.add((packet.route - from + PATHS) % PATHS);
                    }
                    return chance.chance(0.05) ? 0 : 1;
                });
        writeAll(pair);

        assertThat(distances).containsExactly(away);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void dataIsEcnCapableOrNot(boolean ecn) {
        Pair pair = pair(Profile.M, PATHS, Mechanisms.DEFAULT.withEcn(ecn));
        Set<Integer> capable = seen(pair, packet -> packet.ecn == Ecn.NOT_ECT ? 0 : 1);
        writeAll(pair);

        assertThat(capable).containsExactly(ecn ? 1 : 0);
    }
}
