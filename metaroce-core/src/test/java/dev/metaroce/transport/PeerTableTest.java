package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.testing.Seeded;
import dev.metaroce.util.Rng;
import dev.metaroce.wire.NetAddress;

import org.junit.jupiter.api.Test;

import java.util.HashSet;
import java.util.Set;

class PeerTableTest {
    private static final NetAddress HERE = NetAddress.ofIpv4(1, 1);
    private static final NetAddress THERE = NetAddress.ofIpv4(2, 2);

    private final PeerTable table = new PeerTable();

    /** A nonce is fresh when it was never used and less than 64 behind the newest. */
    @Seeded(cases = 300)
    void theNonceWindowAgreesWithASet(long seed) {
        Rng rng = new Rng(seed);
        int peer = table.enter(rng.nextLong(), 1, HERE);
        Set<Long> used = new HashSet<>();
        long newest = 0;
        long around = rng.nextLong() >>> 2 | 1;
        for (int step = 0; step < 500; step++) {
            long nonce = Math.max(1, around + rng.nextInt(200) - 100);
            boolean fresh =
                    newest == 0 || nonce > newest || (newest - nonce < 64 && !used.contains(nonce));
            assertThat(table.isFresh(peer, nonce))
                    .as("nonce %d newest %d", nonce, newest)
                    .isEqualTo(fresh);
            if (fresh && rng.chance(0.5)) {
                table.use(peer, nonce);
                used.add(nonce);
                newest = Math.max(newest, nonce);
            }
            around += rng.nextInt(10);
        }
    }

    @Test
    void anEntryInUseStaysHoweverManyEndpointsCome() {
        Rng rng = new Rng(1);
        long[] held = new long[50];
        int[] entries = new int[50];
        for (int i = 0; i < held.length; i++) {
            held[i] = rng.nextLong();
            entries[i] = table.enter(held[i], 1, HERE);
            table.use(entries[i], 1000);
            table.hold(entries[i], 1);
        }
        for (int i = 0; i < 100_000; i++) {
            int other = table.enter(rng.nextLong(), 1, THERE);
            assertThat(other).isNotNegative();
        }
        for (int i = 0; i < held.length; i++) {
            assertThat(table.enter(held[i], 1, HERE)).isEqualTo(entries[i]);
            assertThat(table.isNew(entries[i])).isFalse();
            assertThat(table.isFresh(entries[i], 1000)).isFalse();
        }
    }

    @Test
    void aSetFullOfHoldersTakesNoMore() {
        // Endpoint ids that differ by a multiple of this fall into one set as often as not; eight
        // of
        // every set are enough.
        Rng rng = new Rng(2);
        int refused = 0;
        for (int i = 0; i < 20_000; i++) {
            int entry = table.enter(rng.nextLong(), 1, HERE);
            if (entry < 0) {
                refused++;
            } else {
                table.hold(entry, 1);
            }
        }
        assertThat(20_000 - refused).isEqualTo(4096);
    }

    @Test
    void anEndpointThatRestartedStartsItsNoncesAnew() {
        int peer = table.enter(77, 5, HERE);
        assertThat(table.isNew(peer)).isTrue();
        table.use(peer, 1_000);
        assertThat(table.enter(77, 5, HERE)).isEqualTo(peer);
        assertThat(table.isNew(peer)).isFalse();

        assertThat(table.enter(77, 4, THERE)).isEqualTo(peer);
        assertThat(table.isNew(peer)).isFalse();
        assertThat(table.incarnation(peer)).isEqualTo(5);
        assertThat(table.address(peer)).isEqualTo(HERE);

        assertThat(table.enter(77, 6, THERE)).isEqualTo(peer);
        assertThat(table.isNew(peer)).isTrue();
        assertThat(table.isFresh(peer, 1_000)).isTrue();
        assertThat(table.address(peer)).isEqualTo(THERE);
    }

    @Test
    void patienceDoublesWithEveryGrantThatCameToNothingUpToTheMost() {
        int peer = table.enter(1, 1, HERE);
        int other = table.enter(2, 1, HERE);
        long[] expected = {250, 500, 1000, 2000, 4000, 4000};
        for (long ms : expected) {
            assertThat(table.patienceNs(peer, 250, 4000)).isEqualTo(ms);
            table.cameLate(peer);
        }
        for (int i = 0; i < 100; i++) {
            table.cameLate(peer);
        }
        assertThat(table.patienceNs(peer, Long.MAX_VALUE / 4, 1)).isEqualTo(Long.MAX_VALUE / 4);
        assertThat(table.patienceNs(other, 250, 4000)).isEqualTo(250);
        for (int i = 0; i < 10; i++) {
            table.cameEarly(peer);
        }
        assertThat(table.patienceNs(peer, 250, 4000)).isEqualTo(250);
    }
}
