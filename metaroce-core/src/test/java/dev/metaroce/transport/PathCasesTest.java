package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.CounterId;
import dev.metaroce.testing.Lab;
import dev.metaroce.testing.Pair;
import dev.metaroce.testing.Profiles;
import dev.metaroce.testing.RawPacket;
import dev.metaroce.testing.Sender;
import dev.metaroce.wire.Profile;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Cases L06, L07, L09, L10: what goes wrong with paths, not with packets. */
class PathCasesTest {
    private static final long MS = 1_000_000;
    private static final long SECOND = 1_000 * MS;

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    @DisplayName("L07: a route that goes dead costs a second at most and no error")
    void l07ADeadRouteIsLeft(boolean bothDirections) {
        DeviceLimits limits = Profiles.only(Profile.M).maxPaths(8).routes(8).build();
        Pair pair = new Pair(7, limits, 1, 1 << 20);
        pair.lab.link(1_000_000_000L, MS / 10, 20 * MS);
        pair.connect();
        Sender sender = new Sender(pair, 0, 1 << 16, 64);
        Sender.run(pair, 100 * MS, sender);
        long healthy = Sender.run(pair, 500 * MS, sender)[0];
        pair.lab.addFault(
                packet ->
                        packet.route == 3 && (bothDirections || packet.from == pair.client)
                                ? 0
                                : 1);
        Sender.run(pair, SECOND, sender);
        long during = Sender.run(pair, 500 * MS, sender)[0];
        assertThat(pair.client.count(CounterId.REROUTES)).isPositive();
        pair.lab.heal();
        Sender.run(pair, SECOND, sender);
        long after = Sender.run(pair, 500 * MS, sender)[0];

        assertThat(during).isGreaterThan(healthy * 8 / 10);
        assertThat(after).isGreaterThan(healthy * 9 / 10);
    }

    @ParameterizedTest
    @CsvSource({"M,1", "M,2", "M,8", "S,1"})
    @DisplayName("L07: a route that is dead towards the initiator only loses no answer for good")
    void l07ARouteDeadForAnswersOnlyIsLeft(Profile profile, int paths) {
        for (int dead = 1; dead <= paths; dead++) {
            int route = dead;
            Pair pair = new Pair(7, Profiles.only(profile).maxPaths(paths).build(), 1, 4 << 20);
            pair.lab.addFault(
                    packet -> packet.route == route && packet.from == pair.server ? 0 : 1);
            pair.connect();
            pair.clientEnd.fill(pair.lab.rng("data"));
            for (int i = 0; i < 64; i++) {
                pair.write(0, i, i << 16, 1 << 16);
            }
            pair.expectSends(64, SECOND);
            assertThat(pair.mismatch()).isEqualTo(-1);
        }
    }

    private static final long GIGABIT = 1_000_000_000L;
    private static final int MTU = 8896;
    private static final long PACKET_NS = (MTU + 120) * 8L;

    private static Pair pair(int paths) {
        DeviceLimits limits = Profiles.only(Profile.M).maxPaths(paths).payloadMtu(MTU).build();
        Pair pair = new Pair(6, limits, 2, 1 << 20);
        pair.lab.link(GIGABIT, 4 * MS, 40 * MS);
        return pair.connect();
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 3, 16, 128, 255})
    @DisplayName("L06a: paths of unequal length are not taken for loss")
    void l06SkewIsNotLoss(int packets) {
        long even = rateWithSkew(0);
        long skewed = rateWithSkew(packets * PACKET_NS);

        assertThat(skewed).isGreaterThan(even * 95 / 100);
    }

    /** Bytes in a time span when the longest of eight routes is longer by {@code skewNs}. */
    private static long rateWithSkew(long skewNs) {
        Pair pair = pair(8);
        pair.lab.addFault(
                packet -> {
                    packet.delayNs += packet.route * skewNs / 8;
                    return 1;
                });
        Sender sender = new Sender(pair, 0, 1 << 16, 256);
        Sender.run(pair, 500 * MS, sender);
        long bytes = Sender.run(pair, 300 * MS, sender)[0];

        assertThat(pair.client.count(CounterId.DATA_RESENT))
                .isLessThan(pair.client.count(CounterId.DATA_SENT) / 1000);
        return bytes;
    }

    @Test
    @DisplayName("L06b: swapped neighbours cost at most one resend each and no lasting rate")
    void l06SwappedNeighbours() {
        Pair pair = pair(4);
        Sender sender = new Sender(pair, 0, 1 << 16, 128);
        Sender.run(pair, 200 * MS, sender);
        long straight = Sender.run(pair, 300 * MS, sender)[0];
        int[] count = new int[4];
        Lab.Packet[] held = new Lab.Packet[4];
        long[] swaps = new long[1];
        pair.lab.addFault(
                packet -> {
                    if (!RawPacket.isData(packet.bytes)) {
                        return 1;
                    }
                    int path = RawPacket.path(packet.bytes);
                    if (held[path] != null) {
                        // It takes its place on the wire now and arrives right behind its
                        // neighbour.
                        held[path].delayNs += PACKET_NS * 3 / 2;
                        pair.lab.inject(held[path]);
                        held[path] = null;
                        swaps[0]++;
                    } else if (++count[path] % 50 == 0) {
                        held[path] = packet;
                        return 0;
                    }
                    return 1;
                });
        Sender.run(pair, 200 * MS, sender);
        long swapped = Sender.run(pair, 300 * MS, sender)[0];

        assertThat(swaps[0]).isGreaterThan(50);
        assertThat(pair.client.count(CounterId.DATA_RESENT)).isLessThanOrEqualTo(swaps[0]);
        assertThat(swapped).isGreaterThan(straight * 9 / 10);
    }

    @ParameterizedTest
    @EnumSource(Profile.class)
    @DisplayName("L09: growing delay is not taken for loss")
    void l09GrowingDelay(Profile profile) {
        DeviceLimits limits = Profiles.only(profile).build();
        Pair pair = new Pair(9, limits, 1, 1 << 20);
        Sender.slowLink(pair);
        pair.connect();
        Sender.Sent sent = Sender.underGrowingDelay(pair, 32);

        assertThat(sent.first()).isGreaterThan(500);
        assertThat(sent.again()).isLessThan(sent.first() / 20);
        assertThat(pair.client.count(CounterId.CONNECTIONS_FAILED)).isZero();
    }

    @Test
    @DisplayName("L10: a packet that is lost again and again holds up its own stream only")
    void l10OneGapBlocksItsStreamOnly() {
        Pair pair = pair(8);
        Sender first = new Sender(pair, 0, 1 << 16, 16);
        Sender second = new Sender(pair, 1, 1 << 16, 16);
        Sender.run(pair, 200 * MS, first, second);
        long[] clean = Sender.run(pair, 300 * MS, first, second);
        long[] victim = {-1};
        pair.lab.addFault(
                packet -> {
                    if (!RawPacket.isData(packet.bytes) || RawPacket.stream(packet.bytes) != 0) {
                        return 1;
                    }
                    long name =
                            (long) RawPacket.path(packet.bytes) << 32
                                    | RawPacket.psn(packet.bytes) & 0xFFFF_FFFFL;
                    victim[0] = victim[0] < 0 ? name : victim[0];
                    return victim[0] == name ? 0 : 1;
                });
        long[] blocked = Sender.run(pair, 300 * MS, first, second);
        pair.lab.heal();
        Sender.run(pair, 50 * MS, first, second);
        long[] after = Sender.run(pair, 300 * MS, first, second);

        assertThat(blocked[0]).isLessThan(clean[0] / 10);
        assertThat(blocked[1]).isGreaterThan(clean[1] * 9 / 10);
        assertThat(after[0]).isGreaterThan(clean[0] * 9 / 10);
    }

    /** The route of control messages is dead, and every message needs a lease of its own. */
    @ParameterizedTest
    @CsvSource({"true,true", "true,false", "false,true"})
    @DisplayName("L07: control messages leave a dead route too")
    void l07ADeadRouteOfControlMessagesIsLeft(boolean fromClient, boolean fromServer) {
        Pair pair = new Pair(7, DeviceLimits.defaults(), 1, 1 << 20).connect();
        pair.clientEnd.fill(pair.lab.rng("data"));
        pair.lab.addFault(
                packet -> {
                    boolean side = packet.from == pair.client ? fromClient : fromServer;
                    return side && packet.route == 0 ? 0 : 1;
                });
        for (int i = 0; i < 16; i++) {
            pair.write(0, i, i << 16, 1 << 16);
            pair.expectSends(i + 1, 500 * MS);
            pair.lab.advance(SECOND);
            assertThat(pair.clientEnd.connection.cid()).isEqualTo(-1);
        }

        assertThat(pair.mismatch()).isEqualTo(-1);
        pair.lab.heal();
        pair.clientEnd.connection.close();
        pair.lab.expect(
                "closed",
                () -> pair.clientEnd.connection.state() == ConnectionState.CLOSED,
                SECOND);
    }
}
