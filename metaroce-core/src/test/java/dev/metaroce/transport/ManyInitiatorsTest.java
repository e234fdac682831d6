package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.CounterId;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.testing.Peers;
import dev.metaroce.wire.Profile;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.util.Arrays;

/** More initiators than contexts, and cases C05, C06, C14. */
class ManyInitiatorsTest {
    private static final long MS = 1_000_000;
    private static final long SECOND = 1_000 * MS;
    private static final DeviceLimits DEFAULTS = DeviceLimits.defaults();

    @ParameterizedTest
    @CsvSource({"QUEUE,257", "DENY,257", "PREEMPT,257", "QUEUE,600", "DENY,600", "PREEMPT,600"})
    @DisplayName("C14: more initiators than contexts start at once, and all are served")
    void c14MoreInitiatorsThanContexts(ExhaustionPolicy policy, int initiators) {
        int bytes = 20_000;
        Peers peers =
                new Peers(14, DEFAULTS.toBuilder().policy(policy).build(), initiators, bytes, 4);
        peers.lab.link(10_000_000_000L, MS, 10 * MS);
        peers.add(initiators, DEFAULTS);
        peers.clients.forEach(client -> client.write(bytes));
        CidPool pool = peers.server.engine.metaRoce().pool();
        long[] doneNs = new long[initiators];
        long start = peers.lab.nowNs();
        peers.lab.expect(
                "all served",
                () -> {
                    assertThat(pool.inUse()).isLessThanOrEqualTo(256);
                    boolean all = true;
                    for (Peers.Client client : peers.clients) {
                        if (doneNs[client.number] == 0 && client.isDone()) {
                            doneNs[client.number] = peers.lab.nowNs() - start;
                        }
                        all &= doneNs[client.number] != 0;
                    }
                    return all;
                },
                10 * SECOND);

        assertThat(peers.clients)
                .allMatch(client -> client.completions.size() == 1)
                .allMatch(c -> c.completions.get(0).status() == WcStatus.SUCCESS)
                .allMatch(Peers.Client::isPlaced);
        assertThat(peers.server.count(CounterId.QUEUED) > 0)
                .isEqualTo(policy != ExhaustionPolicy.DENY);
        Arrays.sort(doneNs);
        if (policy != ExhaustionPolicy.DENY) {
            assertThat(doneNs[initiators - 1]).isLessThan(10 * doneNs[initiators / 2]);
        }
        peers.expectNoContexts(SECOND);
        assertThat(pool.quarantined() + pool.free()).isEqualTo(256);
    }

    @Test
    void theTablesOfATargetDoNotGrowWithItsPeers() {
        long[] bytes = new long[3];
        int[] initiators = {1, 16, 257};
        for (int i = 0; i < 3; i++) {
            Peers peers = new Peers(1, DEFAULTS, initiators[i], 64, 4);
            peers.add(initiators[i], DEFAULTS);
            peers.clients.forEach(client -> client.write(64));
            peers.expectDone(SECOND);
            bytes[i] = peers.server.device.contextTableBytes();
        }
        assertThat(bytes[0]).isPositive().isEqualTo(bytes[1]).isEqualTo(bytes[2]);
    }

    @Test
    void aContextTakesTheDocumentedBytes() {
        assertThat(MetaRoceProtocol.contextBytes(Profile.S, 1)).isEqualTo(88);
        for (int paths = 1; paths <= 64; paths++) {
            assertThat(MetaRoceProtocol.contextBytes(Profile.M, paths)).isEqualTo(72 + 48 * paths);
        }
    }

    @ParameterizedTest
    @CsvSource({"S,QUEUE", "M,QUEUE", "M,PREEMPT"})
    @DisplayName("C05: the 257th of 256 busy flows waits its turn and costs them little")
    void c05TheFlowTooMany(Profile profile, ExhaustionPolicy policy) {
        DeviceLimits limits =
                DEFAULTS.toBuilder()
                        .profiles(profile.code())
                        .policy(policy)
                        .payloadMtu(4096)
                        .build();
        Peers peers = new Peers(5, limits, 257, 1 << 16, 8);
        peers.lab.link(5_000_000_000L, MS, 10 * MS);
        peers.add(256, limits);
        runFor(peers, 100 * MS, 256);
        long before = runFor(peers, 100 * MS, 256);
        assertThat(peers.server.engine.metaRoce().pool().inUse()).isEqualTo(256);
        Peers.Client late = peers.add(limits);
        long start = peers.lab.nowNs();
        late.write(1 << 16);
        long during = runFor(peers, 100 * MS, 256);
        assertThat(during).isGreaterThan(before * 9 / 10);
        runUntil(peers, late, 256);

        // It is told to wait and then served, in less than a second, while all others go on.
        assertThat(peers.lab.nowNs() - start).isLessThan(SECOND);
        assertThat(late.node.count(CounterId.REQUESTS_SENT)).isLessThan(20);
        assertThat(peers.server.count(CounterId.QUEUED)).isPositive();
        assertThat(peers.server.engine.metaRoce().pool().inUse()).isLessThanOrEqualTo(256);
    }

    @Test
    @DisplayName("C05: with policy DENY the 257th flow asks without hurry until one ends")
    void c05TheFlowTooManyIsDenied() {
        DeviceLimits limits =
                DEFAULTS.toBuilder().policy(ExhaustionPolicy.DENY).payloadMtu(4096).build();
        Peers peers = new Peers(5, limits, 257, 1 << 16, 8);
        peers.lab.link(5_000_000_000L, MS, 10 * MS);
        peers.add(256, limits);
        runFor(peers, 100 * MS, 256);
        long before = runFor(peers, 100 * MS, 256);
        Peers.Client late = peers.add(limits);
        late.write(1 << 16);
        long during = runFor(peers, 100 * MS, 256);
        assertThat(during).isGreaterThan(before * 9 / 10);
        assertThat(late.node.count(CounterId.REQUESTS_SENT)).isBetween(1L, 25L);
        // One of the 256 stops, if it was not between two messages at the right moment.
        long start = peers.lab.nowNs();
        while (!late.isDone() && peers.lab.nowNs() - start < SECOND) {
            keepBusy(peers, 255);
            peers.lab.advance(100_000);
        }
        assertThat(late.isDone()).isTrue();
    }

    private static long runFor(Peers peers, long ns, int busy) {
        long before = total(peers, busy);
        long end = peers.lab.nowNs() + ns;
        while (peers.lab.nowNs() < end) {
            keepBusy(peers, busy);
            peers.lab.advance(100_000);
        }
        return total(peers, busy) - before;
    }

    private static void runUntil(Peers peers, Peers.Client late, int busy) {
        long end = peers.lab.nowNs() + 2 * SECOND;
        while (peers.lab.nowNs() < end && !late.isDone()) {
            keepBusy(peers, busy);
            peers.lab.advance(100_000);
        }
    }

    private static void keepBusy(Peers peers, int busy) {
        for (int i = 0; i < busy; i++) {
            Peers.Client client = peers.clients.get(i);
            client.poll();
            while (client.posted() - client.completions.size() < 8) {
                client.write(1 << 16);
            }
        }
    }

    private static long total(Peers peers, int busy) {
        long sum = 0;
        for (int i = 0; i < busy; i++) {
            sum += peers.clients.get(i).bytes();
        }
        return sum;
    }

    @ParameterizedTest
    @CsvSource({"1,QUEUE", "2,QUEUE", "2,PREEMPT", "2,DENY"})
    @DisplayName("C06: one context serves four peers in turns")
    void c06OneContext(int paths, ExhaustionPolicy policy) {
        DeviceLimits limits =
                DEFAULTS.toBuilder().contexts(1).policy(policy).maxPaths(paths).build();
        Peers peers = new Peers(6, limits, 4, 4096, 128);
        peers.add(4, DEFAULTS);
        int round = 0;
        for (; round < 20; round++) {
            for (Peers.Client client : peers.clients) {
                client.region.segment().fill((byte) (round * 4 + client.number));
                for (int i = 0; i < 100; i++) {
                    assertThat(client.write(64)).isTrue();
                }
                client.write(4096);
                peers.lab.expect("a turn", client::isDone, 5 * SECOND);
                assertThat(client.isPlaced()).isTrue();
            }
        }

        for (Peers.Client client : peers.clients) {
            assertThat(client.completions).hasSize(20 * 101);
            for (int i = 0; i < client.completions.size(); i++) {
                WorkCompletion wc = client.completions.get(i);
                assertThat(wc.wrId()).isEqualTo(i);
                assertThat(wc.status()).isEqualTo(WcStatus.SUCCESS);
            }
        }
        peers.expectNoContexts(SECOND);
        // Every turn was one lease; the first of each peer opened its connection.
        assertThat(peers.server.count(CounterId.GRANTS)).isBetween(80L, 84L);
        assertThat(peers.server.count(CounterId.RELEASES))
                .isEqualTo(peers.server.count(CounterId.GRANTS));
    }
}
