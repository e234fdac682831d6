package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.CounterId;
import dev.metaroce.ring.WcOpcode;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.testing.Pair;
import dev.metaroce.testing.Peers;
import dev.metaroce.testing.RawPacket;
import dev.metaroce.wire.Profile;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.util.TreeMap;

/** WRITEs longer than the quota of a lease are several messages, and one work request. */
class LongWriteTest {
    private static final long MS = 1_000_000;
    private static final long SECOND = 1_000 * MS;
    private static final int QUOTA = 64 << 10;
    private static final DeviceLimits LIMITS =
            DeviceLimits.defaults().toBuilder().payloadMtu(4096).quotaBytes(QUOTA).build();

    private static DeviceLimits limits(Profile profile) {
        return LIMITS.toBuilder().profiles(profile.code()).build();
    }

    private static Pair pair(Profile profile, int bytes) {
        Pair pair = new Pair(11, limits(profile), 1, bytes);
        pair.clientEnd.fill(pair.lab.rng("payload"));
        return pair.connect();
    }

    @ParameterizedTest
    @EnumSource(Profile.class)
    void aLongWriteIsCutIntoMessagesOfTheQuotaAtMost(Profile profile) {
        //= MR-4.2-11
        int bytes = 5 * QUOTA + 4097;
        Pair pair = pair(profile, bytes);
        TreeMap<Integer, Long> lengths = new TreeMap<>();
        pair.lab.addFault(
                packet -> {
                    if (RawPacket.isData(packet.bytes)) {
                        lengths.put(RawPacket.msn(packet.bytes), RawPacket.length(packet.bytes));
                    }
                    return 1;
                });
        pair.write(0, 1, 0, bytes);
        pair.expectSends(1, SECOND);

        assertThat(lengths).hasSize(6).containsOnlyKeys(0, 1, 2, 3, 4, 5);
        assertThat(lengths.values()).allMatch(length -> length <= QUOTA);
        assertThat(lengths.values().stream().mapToLong(Long::longValue).sum()).isEqualTo(bytes);
        assertThat(pair.clientEnd.sends).hasSize(1);
        assertThat(pair.clientEnd.sends.get(0).byteLength()).isEqualTo(bytes);
        assertThat(pair.mismatch()).isEqualTo(-1);
    }

    @ParameterizedTest
    @EnumSource(Profile.class)
    void aLongWriteWithImmediateIsOneMessage(Profile profile) {
        //= MR-4.2-12
        int bytes = 3 * QUOTA;
        Pair pair = pair(profile, bytes);
        Pair.must(1, pair.serverEnd.qp().postReceive(1));
        Pair.must(2, pair.serverEnd.qp().postReceive(2));
        Pair.must(
                1,
                pair.clientEnd
                        .qp()
                        .postWriteWithImmediate(
                                1,
                                pair.clientEnd.region,
                                0,
                                bytes,
                                pair.serverEnd.region.address(),
                                pair.serverEnd.region.rkey(),
                                0x1234,
                                true));
        pair.expectSends(1, SECOND);
        pair.expectReceives(1, SECOND);

        assertThat(pair.serverEnd.receives).hasSize(1);
        assertThat(pair.serverEnd.receives.get(0).opcode())
                .isEqualTo(WcOpcode.RECEIVE_RDMA_WITH_IMMEDIATE);
        assertThat(pair.serverEnd.receives.get(0).byteLength()).isEqualTo(bytes);
        assertThat(pair.serverEnd.receives.get(0).immediate()).isEqualTo(0x1234);
        assertThat(pair.mismatch()).isEqualTo(-1);
    }

    @ParameterizedTest
    @EnumSource(Profile.class)
    @DisplayName("a table of one: two endless WRITEs hand the context to and fro")
    void nobodyWaitsForTheEndOfALongWrite(Profile profile) {
        int bytes = 32 * QUOTA;
        DeviceLimits limits = limits(profile);
        Peers peers = new Peers(12, limits.toBuilder().contexts(1).build(), 2, bytes, 2);
        peers.lab.link(1_000_000_000L, MS, 10 * MS);
        peers.add(2, limits);
        peers.clients.forEach(client -> client.write(bytes));
        peers.expectDone(10 * SECOND);

        assertThat(peers.clients)
                .allMatch(client -> client.completions.size() == 1)
                .allMatch(client -> client.completions.get(0).status() == WcStatus.SUCCESS)
                .allMatch(Peers.Client::isPlaced);
        // A millisecond at a time, not one after the other.
        assertThat(peers.server.count(CounterId.GRANTS)).isGreaterThan(8);
    }

    @Test
    void moreMessagesThanAStreamMayHaveOpenGoThrough() {
        int bytes = 700 * 4096;
        DeviceLimits limits = LIMITS.toBuilder().quotaBytes(1).build();
        Pair pair = new Pair(13, limits, 1, bytes);
        pair.clientEnd.fill(pair.lab.rng("payload"));
        pair.connect();
        pair.write(0, 1, 0, bytes);
        pair.expectSends(1, 10 * SECOND);

        assertThat(pair.mismatch()).isEqualTo(-1);
    }
}
