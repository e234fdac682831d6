package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.CounterId;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.testing.Peers;
import dev.metaroce.testing.RawPacket;
import dev.metaroce.verbs.Connection;
import dev.metaroce.wire.ControlOpcode;
import dev.metaroce.wire.ReclaimReason;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.util.ArrayList;
import java.util.List;

/** Which leases are asked back, when, and what happens to holders that do not care. */
class ReclaimTest {
    private static final long MS = 1_000_000;
    private static final long SECOND = 1_000 * MS;
    private static final DeviceLimits DEFAULTS = DeviceLimits.defaults();

    /** Keeps its leases for ever unless it is asked. */
    private static final DeviceLimits TENACIOUS =
            DEFAULTS.toBuilder().lingerNs(3_600 * SECOND).build();

    /** A server whose leases never use their quota up. */
    private static DeviceLimits generous(ExhaustionPolicy policy, int contexts) {
        return DEFAULTS.toBuilder()
                .policy(policy)
                .contexts(contexts)
                .quotaBytes(1L << 40)
                .quotaTimeNs(3_600 * SECOND)
                .build();
    }

    /** The reasons of all RECLAIMs from now on. */
    private static List<ReclaimReason> reasons(Peers peers) {
        List<ReclaimReason> reasons = new ArrayList<>();
        peers.lab.addFault(
                packet -> {
                    if (RawPacket.is(packet.bytes, ControlOpcode.RECLAIM)) {
                        reasons.add(ReclaimReason.of(packet.bytes[26]));
                    }
                    return 1;
                });
        return reasons;
    }

    private static Peers.Client idleHolder(Peers peers) {
        Peers.Client holder = peers.add(TENACIOUS);
        holder.write(4096);
        peers.lab.expect("a lease in use", holder::isDone, SECOND);
        assertThat(holder.connection.cid()).isNotNegative();
        return holder;
    }

    /** MR-3.8-8: nobody used a quota; the one that was idle longest has to go. */
    @Test
    void preemptAsksTheLongestIdleLeaseAtOnce() {
        Peers peers = new Peers(1, generous(ExhaustionPolicy.PREEMPT, 3), 4, 4096, 4);
        // Two connections that are not crowded out when they are done: one slot stays free.
        Peers.Client first = idleHolder(peers);
        Peers.Client second = idleHolder(peers);
        peers.lab.advance(5 * MS);
        first.write(64);
        peers.lab.expect("used once more", first::isDone, SECOND);
        Peers.Client third = peers.add(TENACIOUS);
        peers.expectOpen(SECOND);
        peers.lab.advance(5 * MS);
        List<ReclaimReason> reasons = reasons(peers);
        Peers.Client late = peers.add(DEFAULTS);
        late.write(64);
        long start = peers.lab.nowNs();
        peers.lab.expect("served", late::isDone, 5 * MS);

        assertThat(peers.lab.nowNs() - start).isLessThan(MS);
        assertThat(reasons).containsExactly(ReclaimReason.IDLE);
        assertThat(second.connection.cid()).isEqualTo(-1);
        assertThat(first.connection.cid()).isNotNegative();
        assertThat(third.connection.cid()).isNotNegative();
    }

    /** The other policy leaves idle leases alone that did not use their quota. */
    @Test
    void queueAsksNoLeaseThatHasQuotaLeft() {
        Peers peers = new Peers(1, generous(ExhaustionPolicy.QUEUE, 2), 3, 4096, 4);
        idleHolder(peers);
        Peers.Client second = peers.add(TENACIOUS);
        peers.expectOpen(SECOND);
        second.write(64);
        peers.lab.advance(100);
        Peers.Client late = peers.add(DEFAULTS);
        late.write(64);
        peers.lab.advance(100 * MS);
        assertThat(peers.server.count(CounterId.RECLAIMS)).isZero();
    }

    /** MR-3.8-8: a grant that was not used yet is no idle lease; it has its grant time. */
    @Test
    void aGrantHasItsTimeBeforeItIsTakenBack() {
        Peers peers = new Peers(1, generous(ExhaustionPolicy.PREEMPT, 1), 2, 4096, 4);
        peers.add(TENACIOUS);
        peers.expectOpen(SECOND);
        Peers.Client late = peers.add(DEFAULTS);
        late.write(64);
        peers.lab.advance(DEFAULTS.grantUnusedNs() * 9 / 10);
        assertThat(peers.server.device.contextsInUse()).isEqualTo(1);
        peers.lab.expect("served", late::isDone, 2 * SECOND);
        assertThat(peers.server.count(CounterId.RECLAIMS)).isZero();
        assertThat(peers.server.count(CounterId.GRANT_UNUSED)).isEqualTo(1);
    }

    /** MR-3.8-8: half of a message came and the rest is held up. That is not idle. */
    @Test
    void aMessageThatIsBeingReceivedIsNotIdle() {
        Peers peers = new Peers(1, generous(ExhaustionPolicy.PREEMPT, 1), 2, 1 << 16, 4);
        Peers.Client holder = peers.add(TENACIOUS);
        peers.expectOpen(SECOND);
        int[] data = new int[1];
        peers.lab.addFault(packet -> RawPacket.isData(packet.bytes) && ++data[0] > 4 ? 0 : 1);
        holder.write(1 << 16);
        peers.lab.advance(MS);
        Peers.Client late = peers.add(DEFAULTS);
        late.write(64);
        peers.lab.advance(100 * MS);
        assertThat(peers.server.count(CounterId.RECLAIMS)).isZero();
        peers.lab.heal();
        peers.lab.expect("served", late::isDone, SECOND);
    }

    /**
     * Five busy senders and four contexts: PREEMPT finds nobody idle, so that it hands over no more
     * often than QUEUE, and loses nothing.
     */
    @Test
    void busySendersDoMoreThanHandOver() {
        long[] bytes = new long[2];
        long[] grants = new long[2];
        ExhaustionPolicy[] policies = {ExhaustionPolicy.QUEUE, ExhaustionPolicy.PREEMPT};
        for (int i = 0; i < 2; i++) {
            DeviceLimits limits =
                    DEFAULTS.toBuilder()
                            .policy(policies[i])
                            .contexts(4)
                            .quotaBytes(4 << 20)
                            .quotaTimeNs(20 * MS)
                            .build();
            Peers peers = new Peers(7, limits, 5, 1 << 13, 16);
            peers.lab.link(5_000_000_000L, MS, 10 * MS);
            peers.lab.latencyNs(50_000);
            peers.add(5, DEFAULTS);
            long end = peers.lab.nowNs() + SECOND / 2;
            while (peers.lab.nowNs() < end) {
                for (Peers.Client client : peers.clients) {
                    client.poll();
                    while (client.posted() - client.completions.size() < 16) {
                        client.write(1 << 13);
                    }
                }
                peers.lab.advance(20_000);
            }
            bytes[i] = peers.clients.stream().mapToLong(Peers.Client::bytes).sum();
            grants[i] = peers.server.count(CounterId.GRANTS);
            long least = peers.clients.stream().mapToLong(Peers.Client::bytes).min().orElse(0);
            assertThat(least).isGreaterThan(bytes[i] / 10);
        }
        assertThat(grants[0]).isGreaterThan(20);
        assertThat(grants[1]).isLessThan(grants[0] * 5 / 4);
        assertThat(bytes[1]).isGreaterThan(bytes[0] * 95 / 100);
    }

    /** MR-3.5-1: with others waiting a lease is asked when its quota is used, not a tick later. */
    @Test
    void aLeaseIsAskedBackWithThePacketThatUsesItsQuota() {
        DeviceLimits limits =
                DEFAULTS.toBuilder()
                        .contexts(1)
                        .payloadMtu(4096)
                        .quotaBytes(1 << 20)
                        .quotaTimeNs(3_600 * SECOND)
                        .build();
        Peers peers = new Peers(1, limits, 2, 4096, 2048);
        peers.lab.link(40_000_000_000L, MS, 10 * MS);
        Peers.Client first = peers.add(limits);
        peers.expectOpen(SECOND);
        for (int i = 0; i < 1024; i++) {
            first.write(4096);
        }
        peers.lab.advance(20_000);
        Peers.Client late = peers.add(limits);
        late.write(64);
        long[] placed = new long[1];
        peers.lab.expect(
                "asked",
                () -> {
                    placed[0] = peers.server.count(CounterId.PAYLOAD_BYTES);
                    return peers.server.count(CounterId.RECLAIMS) == 1;
                },
                SECOND);
        assertThat(placed[0]).isBetween((1L << 20) - 4096, (1L << 20) + 3 * 4096);
    }

    /** MR-3.5-8: a holder that never hears RECLAIM goes on and on, until it is reset. */
    @ParameterizedTest
    @EnumSource(
            value = ExhaustionPolicy.class,
            names = {"QUEUE", "PREEMPT"})
    void aRudeHolderLosesItsLeaseAtTheDeadline(ExhaustionPolicy policy) {
        DeviceLimits limits =
                DEFAULTS.toBuilder()
                        .policy(policy)
                        .contexts(2)
                        .packetLifetimeNs(10 * MS)
                        .reclaimDeadlineNs(500 * MS)
                        .build();
        Peers peers = new Peers(1, limits, 4, 1 << 14, 16);
        peers.lab.link(1_000_000_000L, MS, 10 * MS);
        Peers.Client rude = peers.add(DEFAULTS);
        rude.write(1 << 14);
        peers.lab.expect("the rude one is first", rude::isDone, SECOND);
        Connection connection = rude.connection;
        peers.lab.addFault(
                packet ->
                        RawPacket.is(packet.bytes, ControlOpcode.RECLAIM)
                                        && packet.destination.equals(rude.node.address)
                                ? 0
                                : 1);
        peers.add(3, DEFAULTS);
        long start = peers.lab.nowNs();
        while (peers.server.count(CounterId.EXPIRED) == 0
                && peers.lab.nowNs() - start < 2 * SECOND) {
            keepBusy(peers);
        }
        assertThat(peers.lab.nowNs() - start).isBetween(500 * MS, 600 * MS);
        // The others had the other context in turns all the while.
        for (Peers.Client client : peers.clients.subList(1, 4)) {
            assertThat(client.completions.size()).isGreaterThan(100);
        }
        int before = rude.completions.size();
        for (int i = 0; i < 200; i++) {
            keepBusy(peers);
        }
        assertThat(rude.node.count(CounterId.RESETS_RECEIVED)).isPositive();
        assertThat(connection.failure()).isEmpty();
        assertThat(rude.completions.size()).as("it goes on").isGreaterThan(before);
        for (Peers.Client client : peers.clients) {
            assertThat(client.completions).allMatch(wc -> wc.status() == WcStatus.SUCCESS);
        }
    }

    private static void keepBusy(Peers peers) {
        for (Peers.Client client : peers.clients) {
            client.poll();
            while (client.posted() - client.completions.size() < 16) {
                client.write(1 << 14);
            }
        }
        peers.lab.advance(MS / 2);
    }

    /** MR-3.3-9: a lease lingers while slots are plenty, and goes at once when they are not. */
    @Test
    void aLeaseLingersOnlyWhileSlotsArePlenty() {
        for (int contexts : new int[] {1, 16}) {
            DeviceLimits limits = DEFAULTS.toBuilder().contexts(contexts).build();
            Peers peers = new Peers(1, limits, 1, 4096, 4);
            Peers.Client client = peers.add(DEFAULTS);
            peers.expectOpen(SECOND);
            client.write(4096);
            peers.lab.expect("written", client::isDone, SECOND);
            peers.lab.advance(MS);
            assertThat(peers.server.device.contextsInUse()).isEqualTo(contexts == 1 ? 0 : 1);
            peers.lab.advance(DEFAULTS.lingerNs());
            assertThat(peers.server.device.contextsInUse()).isZero();
        }
    }
}
