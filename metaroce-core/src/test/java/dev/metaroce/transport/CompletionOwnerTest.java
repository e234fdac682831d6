package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.testing.Pair;

import org.junit.jupiter.api.Test;

/** Queue pairs that share a completion queue. */
class CompletionOwnerTest {
    @Test
    void aCompletionNamesItsQueuePair() {
        Pair pair = new Pair(1, DeviceLimits.defaults(), 3, 1 << 16).connect();
        for (int i = 0; i < 3; i++) {
            pair.receive(i, i, i * 4096L, 4096);
            pair.send(i, i, i * 4096L, 4096);
        }
        pair.expectSends(3, 1_000_000_000L);
        pair.expectReceives(3, 1_000_000_000L);

        assertThat(pair.clientEnd.sends)
                .allMatch(wc -> wc.owner() == pair.clientEnd.pairs.get((int) wc.wrId()));
        assertThat(pair.serverEnd.receives)
                .allMatch(wc -> wc.owner() == pair.serverEnd.pairs.get((int) wc.wrId()));
    }
}
