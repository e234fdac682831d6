package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.CounterId;
import dev.metaroce.testing.Peers;
import dev.metaroce.testing.RawPacket;
import dev.metaroce.wire.ControlOpcode;

import org.junit.jupiter.api.Test;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** Short messages among busy senders, when there are fewer contexts than senders. */
class ShortSlotsTest {
    private static final long MS = 1_000_000;
    private static final long SECOND = 1_000 * MS;
    private static final int BULK_BYTES = 1 << 18;
    private static final int BUSY = 24;
    private static final DeviceLimits DEFAULTS = DeviceLimits.defaults();

    private static Peers busyServer(int shortSlots) {
        DeviceLimits limits =
                DEFAULTS.toBuilder()
                        .contexts(4)
                        .shortSlots(shortSlots)
                        .payloadMtu(4096)
                        .quotaTimeNs(SECOND)
                        .build();
        Peers peers = new Peers(3, limits, BUSY + 1, BULK_BYTES, 64);
        peers.lab.link(10_000_000_000L, MS, 10 * MS);
        peers.add(BUSY, DEFAULTS);
        return peers;
    }

    private static void keepBusy(Peers peers) {
        for (Peers.Client client : peers.clients.subList(0, BUSY)) {
            client.poll();
            while (client.posted() - client.completions.size() < 6) {
                client.write(BULK_BYTES);
            }
        }
        peers.lab.advance(50_000);
    }

    /** The longest time that one of 40 small WRITEs took, each with a lease of its own. */
    private static long longestNs(Peers peers) {
        for (int i = 0; i < 100; i++) {
            keepBusy(peers);
        }
        Peers.Client brief = peers.add(DEFAULTS);
        long longest = 0;
        for (int i = 0; i < 40; i++) {
            long start = peers.lab.nowNs();
            brief.write(64);
            while (!brief.isDone() && peers.lab.nowNs() - start < SECOND) {
                keepBusy(peers);
            }
            assertThat(brief.isDone()).isTrue();
            longest = Math.max(longest, peers.lab.nowNs() - start);
            for (int pause = 0; pause < 4; pause++) {
                keepBusy(peers);
            }
        }
        return longest;
    }

    /** MR-3.8-1, MR-3.8-3: waves of busy senders take 20 ms, short messages do not wait for one. */
    @Test
    void aShortMessageDoesNotWaitForTheBusySenders() {
        long with = longestNs(busyServer(1));
        long without = longestNs(busyServer(0));
        assertThat(without).isGreaterThan(10 * MS);
        assertThat(with).isLessThan(without / 2);
    }

    /** MR-3.8-5: who asks for a short message and sends a long one has had his turn. */
    @Test
    void aLeaseThatWasPreferredIsAskedBackWhenItIsNoLongerShort() {
        Peers peers = busyServer(1);
        for (int i = 0; i < 100; i++) {
            keepBusy(peers);
        }
        Peers.Client liar = peers.add(DEFAULTS);
        liar.write(64);
        List<Integer> asked = new ArrayList<>();
        peers.lab.addFault(
                packet -> {
                    if (RawPacket.is(packet.bytes, ControlOpcode.RECLAIM)
                            && packet.destination.equals(liar.node.address)) {
                        asked.add((int) liar.node.count(CounterId.DATA_SENT));
                    }
                    return 1;
                });
        while (liar.connection.cid() < 0) {
            peers.lab.step();
        }
        for (int i = 0; i < 32; i++) {
            liar.write(1 << 14);
        }
        for (int i = 0; i < 100 && asked.isEmpty(); i++) {
            keepBusy(peers);
        }
        // 64 KiB are 16 packets; some more are on their way until it is asked.
        assertThat(asked).isNotEmpty();
        assertThat(asked.getFirst()).isBetween(16, 64);
    }

    /** MR-3.8-1: in KiB, rounded up, of all streams, and never 0 when there is anything. */
    @Test
    void aRequestTellsHowMuchWaits() {
        Peers peers = new Peers(1, DEFAULTS, 4, 1 << 20, 1024);
        List<Integer> demands = new ArrayList<>();
        peers.lab.addFault(
                packet -> {
                    if (RawPacket.is(packet.bytes, ControlOpcode.REQUEST)) {
                        demands.add(ByteBuffer.wrap(packet.bytes).getInt(60));
                    }
                    return 1;
                });
        int[][] posts = {{}, {0}, {1}, {1024, 1}, {1 << 20, 1 << 20}};
        for (int[] lengths : posts) {
            Peers.Client client = peers.clients.isEmpty() ? peers.add(DEFAULTS) : again(peers);
            for (int length : lengths) {
                client.write(length);
            }
            peers.expectOpen(SECOND);
        }
        Peers.Client many = again(peers);
        for (int i = 0; i < 600; i++) {
            many.write(1);
        }
        peers.expectOpen(SECOND);
        assertThat(demands).containsExactly(0, 1, 1, 2, 2048, 65_536);
    }

    /** The first client with another connection. */
    private static Peers.Client again(Peers peers) {
        Peers.Client client = peers.clients.get(0);
        peers.lab.advance(SECOND);
        client.dial();
        return client;
    }
}
