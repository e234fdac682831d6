package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.testing.Pair;
import dev.metaroce.testing.Profiles;
import dev.metaroce.testing.RawPacket;
import dev.metaroce.util.Rng;
import dev.metaroce.wire.AckHeader;
import dev.metaroce.wire.Flags;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.Profile;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Senders that the target holds to a rate. */
class PacingTest {
    private static final long MS = 1_000_000;
    private static final long SECOND = 1_000 * MS;
    private static final long LINE = 8_000_000_000L;

    /**
     * 1 MiB with headers at 49 Mb/s takes 191 ms; everything sent is acknowledged between two
     * packets.
     */
    @Test
    void aSenderThatMayNotSendYetIsWokenWhenItMay() {
        DeviceLimits limits =
                DeviceLimits.defaults().toBuilder()
                        .maxPaths(1)
                        .payloadMtu(1024)
                        .inboundRateBitsPerSecond(50_000_000)
                        .build();
        Pair pair = new Pair(1, limits, 1, 2 << 20).connect();
        pair.clientEnd.fill(pair.lab.rng("data"));
        pair.write(0, 1, 0, 1 << 20);
        pair.expectSends(1, SECOND);
        long before = pair.lab.nowNs();
        pair.write(0, 2, 1 << 20, 1 << 20);
        pair.expectSends(2, SECOND);

        assertThat(pair.mismatch()).isEqualTo(-1);
        assertThat(pair.lab.nowNs() - before).isBetween(180 * MS, 210 * MS);
    }

    /** A lease taken from the pool of spare ones starts without the backlog of its last user. */
    @Test
    void aNewLeaseIsNotHeldToTheRateOfTheOneBefore() {
        NetAddress peer = NetAddress.ofIpv4(0x0A00_0001, 50_791);
        TxLease lease = lease(peer);
        lease.pacer.onSent(0, 1 << 20, 1_000_000);
        assertThat(lease.pacer.nextSendNs(0)).isPositive();

        lease.open(peer, 0, 0, 0, 1, true);

        assertThat(lease.pacer.nextSendNs(0)).isZero();
    }

    //= MR-5.6-6
    @Test
    void whatTheHintKeepsBackIsAnnouncedAndNothingElse() {
        DeviceLimits limits =
                DeviceLimits.defaults().toBuilder()
                        .maxPaths(1)
                        .payloadMtu(1024)
                        .inboundRateBitsPerSecond(50_000_000)
                        .build();
        Pair pair = new Pair(1, limits, 1, 1 << 20).connect();
        List<Boolean> more = new ArrayList<>();
        pair.lab.addFault(
                packet -> {
                    if (RawPacket.isData(packet.bytes)) {
                        more.add((RawPacket.flags(packet.bytes) & Flags.MORE) != 0);
                    }
                    return 1;
                });
        pair.write(0, 1, 0, 1024);
        pair.expectSends(1, SECOND);
        assertThat(more).as("nothing is behind the only packet").containsExactly(false);

        more.clear();
        pair.write(0, 2, 0, 64 << 10);
        pair.expectSends(2, SECOND);
        // Four round trips at this hint are less than a packet.
        assertThat(more).hasSize(64);
        assertThat(more.subList(0, 63)).doesNotContain(false);
        assertThat(more.getLast()).as("nothing is behind the last one").isFalse();
    }

    //= MR-5.6-6
    @Test
    void aHintAboveTheOwnLineKeepsNothingBack() {
        TxLease lease = lease(NetAddress.ofIpv4(0x0A00_0001, 50_791));
        lease.onRoundTrip(10_000);
        lease.allow(0, AckHeader.WINDOW_NONE, (int) (LINE / 1_000_000) - 1, 1);
        assertThat(lease.isHeldBack(0, 1 << 20)).isTrue();
        lease.allow(0, AckHeader.WINDOW_NONE, (int) (LINE / 1_000_000), 2);
        assertThat(lease.isHeldBack(0, 1 << 20)).isFalse();
    }

    /** Over any time, no more than the rate and two packets: a round trip's share is less. */
    @ParameterizedTest
    @EnumSource(Profile.class)
    void noBurstIsLongerThanAllowed(Profile profile) {
        DeviceLimits limits = Profiles.only(profile).inboundRateBitsPerSecond(4_000_000).build();
        Pair pair = new Pair(1, limits, 1, 1 << 20).connect();
        List<long[]> sent = new ArrayList<>();
        Rng chance = new Rng(1);
        pair.lab.addFault(
                packet -> {
                    boolean data = RawPacket.isData(packet.bytes);
                    if (data) {
                        sent.add(new long[] {pair.lab.nowNs(), packet.bytes.length - 52});
                    }
                    return data && chance.chance(0.1) ? 0 : 1;
                });
        pair.write(0, 1, 0, 1 << 20);
        pair.lab.advance(SECOND);

        long mostPerSecond = 4_000_000 / 8;
        for (int i = 0; i < sent.size(); i++) {
            long bytes = 0;
            for (int j = i; j < sent.size(); j++) {
                bytes += sent.get(j)[1];
                long ns = sent.get(j)[0] - sent.get(i)[0];
                assertThat(bytes)
                        .isLessThanOrEqualTo(mostPerSecond * ns / SECOND + 2 * limits.payloadMtu());
            }
        }
        assertThat(sent).hasSizeGreaterThan(20);
    }

    private static TxLease leaseAt(int mbps, long rttNs) {
        NetAddress peer = NetAddress.ofIpv4(0x0A00_0001, 50_791);
        TxLease lease = lease(peer);
        lease.open(peer, 0, 0, 0, 1, true);
        lease.start(0, 1000, 1, 1 << 20, 0);
        lease.allow(0, AckHeader.WINDOW_NONE, mbps, 0);
        lease.onRoundTrip(rttNs);
        return lease;
    }

    private static int packetsAdmitted(TxLease lease) {
        int packets = 0;
        while (lease.admits(1000) && packets < 10_000) {
            lease.onSent(1000);
            packets++;
        }
        return packets;
    }

    //= MR-5.5-2
    @Test
    void aHintAllowsFourRoundTripsInFlightAndTwoOnALineOfOnesOwn() {
        assertThat(packetsAdmitted(leaseAt(8_000, 100_000))).isEqualTo(200);
        assertThat(packetsAdmitted(leaseAt(4_000, 100_000))).isEqualTo(200);
        assertThat(packetsAdmitted(leaseAt(4_001, 100_000))).isEqualTo(101);
        assertThat(packetsAdmitted(leaseAt(AckHeader.RATE_NONE, 100_000))).isEqualTo(10_000);
        assertThat(packetsAdmitted(leaseAt(1, 1_000))).isEqualTo(1);
    }

    /** MR-5.5-1: 10 us at 4 Gb/s are 5000 bytes; a quarter of 100 us is 12,500 bytes. */
    @Test
    void theBurstIsAQuarterOfARoundTrip() {
        assertThat(burstBytes(leaseAt(4_000, 10_000))).isEqualTo(1118);
        assertThat(burstBytes(leaseAt(4_000, 100_000))).isBetween(12_500 - 1118, 12_500);
        assertThat(burstBytes(leaseAt(8_000, SECOND))).isBetween(64 << 10, (64 << 10) + 1118);
    }

    /** Bytes on the wire that go at once, by packets with 1000 bytes of payload. */
    private static int burstBytes(TxLease lease) {
        // The first of all counts for more.
        lease.pace(0, 1000);
        long nowNs = lease.pacer.nextSendNs(0) + SECOND;
        int bytes = 0;
        while (lease.pacer.nextSendNs(nowNs) == nowNs) {
            lease.pace(nowNs, 1000);
            bytes += 1118;
        }
        return bytes;
    }

    /** MR-5.5-3: what follows the first packet waits one to two times as long as it takes. */
    @Test
    void whoStartsTogetherDoesNotGoOnTogether() {
        long packetNs = 1118 * 8 / 4;
        Set<Long> waits = new HashSet<>();
        TxLease lease = leaseAt(4_000, 4_000);
        for (int i = 0; i < 100; i++) {
            long nowNs = i * SECOND;
            lease.pace(nowNs, 1000);
            long waitNs = lease.pacer.nextSendNs(nowNs) - nowNs;
            assertThat(waitNs).isBetween(packetNs, 2 * packetNs);
            waits.add(waitNs);
            long nextNs = nowNs + waitNs;
            lease.pace(nextNs, 1000);
            assertThat(lease.pacer.nextSendNs(nextNs)).isEqualTo(nextNs + packetNs);
            lease.onDry();
        }
        assertThat(waits).hasSizeGreaterThan(50);
    }

    /** MR-5.5-4: a new lease with less than a packet in a round trip waits for a part of one. */
    @Test
    void aNewLeaseAmongManyDoesNotStartAtOnce() {
        Set<Long> starts = new HashSet<>();
        for (int i = 0; i < 50; i++) {
            TxLease lease = leaseAt(100, 10_000);
            for (int draw = 0; draw < i; draw++) {
                lease.pacer.reset();
                lease.startLate(0);
            }
            starts.add(lease.pacer.nextSendNs(0));
        }
        assertThat(starts).hasSizeGreaterThan(20);
        assertThat(starts).allMatch(ns -> ns <= 1118 * 8 * 10);
        TxLease fast = leaseAt(8_000, 10_000);
        fast.startLate(0);
        assertThat(fast.pacer.nextSendNs(0)).isZero();
    }

    /** MR-5.6-12. */
    @Test
    void anOlderHintIsNoHint() {
        TxLease lease = leaseAt(4_000, 10_000);
        lease.allow(0, AckHeader.WINDOW_NONE, 2_000, 3);
        lease.allow(0, AckHeader.WINDOW_NONE, 1_000, 2);
        assertThat(lease.rateBitsPerSecond()).isEqualTo(2_000_000_000L);
        lease.allow(0, AckHeader.WINDOW_NONE, 1_000, 130);
        assertThat(lease.rateBitsPerSecond()).isEqualTo(1_000_000_000L);
        lease.allow(0, AckHeader.WINDOW_NONE, 500, 1);
        assertThat(lease.rateBitsPerSecond()).as("modulo 256").isEqualTo(500_000_000L);
    }

    @Test
    void theShortestRoundTripCounts() {
        TxLease lease = leaseAt(4_000, 100_000);
        lease.onRoundTrip(50_000);
        lease.onRoundTrip(200_000);

        assertThat(packetsAdmitted(lease)).isEqualTo(100);
    }

    @Test
    void thePacketThatReachesTheLimitOfAHintIsKnown() {
        TxLease lease = leaseAt(4_000, 2_000);
        assertThat(lease.isFullWith(3999)).isFalse();
        assertThat(lease.isFullWith(4000)).isTrue();
        lease.onSent(600);
        assertThat(lease.isFullWith(3399)).isFalse();
        assertThat(lease.isFullWith(3400)).isTrue();
    }

    /** The hint rises while the sender waits: it does not sit the old pause out. */
    @Test
    void aHigherRateShortensThePause() {
        TxLease lease = lease(NetAddress.ofIpv4(0x0A00_0001, 50_791));
        lease.open(NetAddress.ofIpv4(0x0A00_0001, 50_791), 0, 0, 0, 1, true);
        lease.allow(0, AckHeader.WINDOW_NONE, 1, 0);
        lease.pacer.onSent(0, 1 << 20, lease.rateBitsPerSecond());
        assertThat(lease.pacer.nextSendNs(0)).isGreaterThan(SECOND);

        lease.allow(MS, AckHeader.WINDOW_NONE, 1_000, 1);

        assertThat(lease.pacer.nextSendNs(MS)).isLessThan(10 * MS);
    }

    private static TxLease lease(NetAddress peer) {
        DeviceLimits limits =
                DeviceLimits.defaults().toBuilder().inboundRateBitsPerSecond(LINE).build();
        return new TxLease(limits, peer, new PullBudget(limits), new Rng(1));
    }
}
