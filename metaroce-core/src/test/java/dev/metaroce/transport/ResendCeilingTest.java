package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.CounterId;
import dev.metaroce.testing.Lab;
import dev.metaroce.testing.Pair;
import dev.metaroce.testing.Profiles;
import dev.metaroce.testing.RawPacket;
import dev.metaroce.testing.Sender;
import dev.metaroce.util.Rng;
import dev.metaroce.wire.AckHeader;
import dev.metaroce.wire.PacketType;
import dev.metaroce.wire.Profile;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.HashMap;
import java.util.Map;

/** Whatever happens on the way: how many copies of packets are sent, and how soon. */
class ResendCeilingTest {
    private static final long MS = 1_000_000;
    private static final long SECOND = 1_000 * MS;
    private static final long ROUND_TRIP_NS = 2 * MS;
    private static final int MESSAGES = 128;
    private static final int MESSAGE_BYTES = 1 << 16;

    private final Map<Long, Long> lastSent = new HashMap<>();
    private long shortestNs = Long.MAX_VALUE;

    private Pair pair(long seed, int paths) {
        DeviceLimits limits = Profiles.only(Profile.M).maxPaths(paths).payloadMtu(1024).build();
        Pair pair = new Pair(seed, limits, 1, (long) MESSAGES * MESSAGE_BYTES);
        pair.lab.latencyNs(ROUND_TRIP_NS / 2);
        pair.connect();
        pair.lab.addFault(packet -> watch(pair.lab.nowNs(), packet));
        return pair;
    }

    private int watch(long nowNs, Lab.Packet packet) {
        if (RawPacket.isData(packet.bytes)) {
            long name =
                    (long) RawPacket.path(packet.bytes) << 32
                            | RawPacket.psn(packet.bytes) & 0xFFFF_FFFFL;
            Long before = lastSent.put(name, nowNs);
            if (before != null) {
                shortestNs = Math.min(shortestNs, nowNs - before);
            }
        }
        return 1;
    }

    private static void writeAll(Pair pair) {
        pair.clientEnd.fill(pair.lab.rng("data"));
        for (int i = 0; i < MESSAGES; i++) {
            pair.write(0, i, (long) i * MESSAGE_BYTES, MESSAGE_BYTES);
        }
        pair.expectSends(MESSAGES, 100 * SECOND);
        assertThat(pair.mismatch()).isEqualTo(-1);
    }

    private static double copies(Pair pair) {
        double needed = pair.client.count(CounterId.DATA_SENT);
        return (needed + pair.client.count(CounterId.DATA_RESENT)) / needed;
    }

    /** Data needs 1 / (1 - p) copies; nothing needs to be sent again for lost answers. */
    @ParameterizedTest
    @CsvSource({
        "0.1,0,1.15",
        "0.5,0,2.1",
        "0.9,0,10.5",
        "0,0.1,1.01",
        "0,0.5,1.02",
        "0,0.9,1.1",
        "0.1,0.1,1.15",
        "0.5,0.5,2.2",
        "0.7,0.7,3.6"
    })
    @DisplayName("MR-4.3-10: copies are what loss asks for, and a round trip apart")
    void copiesAreWhatLossAsksFor(double data, double answers, double most) {
        Pair pair = pair(1, 8);
        Rng chance = pair.lab.rng("loss");
        pair.lab.addFault(
                packet -> {
                    boolean answer = RawPacket.is(packet.bytes, PacketType.ACK);
                    boolean asks = RawPacket.isData(packet.bytes);
                    return chance.chance(asks ? data : answer ? answers : 0) ? 0 : 1;
                });
        writeAll(pair);

        assertThat(copies(pair)).isLessThanOrEqualTo(most);
        assertThat(shortestNs).isGreaterThanOrEqualTo(ROUND_TRIP_NS);
    }

    /** Every packet takes a time of its own, of up to some round trips. */
    @ParameterizedTest
    @ValueSource(doubles = {0.01, 0.1, 0.5, 1, 4, 16})
    @DisplayName("MR-4.3-6: copies that reordering makes come to an end")
    void copiesThatReorderingMakesComeToAnEnd(double roundTrips) {
        Pair pair = pair(2, 4);
        Rng chance = pair.lab.rng("delay");
        pair.lab.addFault(
                packet -> {
                    packet.delayNs += (long) (chance.nextDouble() * roundTrips * ROUND_TRIP_NS);
                    return 1;
                });
        Sender sender = new Sender(pair, 0, MESSAGE_BYTES, 64);
        Sender.run(pair, 40 * (long) ((1 + roundTrips) * ROUND_TRIP_NS), sender);
        long sentBefore = pair.client.count(CounterId.DATA_SENT);
        long resentBefore = pair.client.count(CounterId.DATA_RESENT);
        Sender.run(pair, 40 * (long) ((1 + roundTrips) * ROUND_TRIP_NS), sender);
        double sent = pair.client.count(CounterId.DATA_SENT) - sentBefore;
        long resent = pair.client.count(CounterId.DATA_RESENT) - resentBefore;
        assertThat(resent / sent).isLessThan(0.01);
    }

    /** What a target claims to be the answer to a probe is believed once for a probe. */
    @Test
    @DisplayName("MR-4.3-11: answers to probes that nobody sent make no copies")
    void answersToProbesThatNobodySentMakeNoCopies() {
        Pair pair = pair(3, 1);
        pair.lab.addFault(
                packet -> {
                    if (RawPacket.isAck(packet.bytes)) {
                        claimToAnswerProbes(packet.bytes);
                    }
                    return 1;
                });
        writeAll(pair);

        assertThat(copies(pair)).isEqualTo(1);
    }

    private static void claimToAnswerProbes(byte[] ack) {
        int records = ack[27] & 0xFF;
        int at = 32;
        for (int i = 0; i < records; i++) {
            boolean sack = (ack[at + 1] & AckHeader.RFLAG_SACK) != 0;
            ack[at + 1] |= (byte) AckHeader.RFLAG_PROBE_REPLY;
            at += AckHeader.RECORD_BYTES + (sack ? AckHeader.SACK_BYTES : 0);
        }
        RawPacket.seal(ack);
    }
}
