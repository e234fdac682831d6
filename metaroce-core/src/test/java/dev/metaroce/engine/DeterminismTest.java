package dev.metaroce.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.testing.Pair;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.util.Rng;

import org.junit.jupiter.api.Test;

/** The same seed gives the same run, packet for packet and event for event. */
class DeterminismTest {
    private static final long SECOND = 1_000_000_000L;

    /** Hash over the time and head of each packet and over each event of a lossy transfer. */
    private static long traceHash(long seed) {
        Pair pair = new Pair(seed, DeviceLimits.defaults(), 3, 4 << 20).connect();
        Rng faults = pair.lab.rng("faults");
        pair.lab.addFault(
                packet -> {
                    packet.delayNs += faults.nextInt(20_000);
                    return faults.chance(0.05) ? 0 : faults.chance(0.01) ? 2 : 1;
                });
        for (int i = 0; i < 64; i++) {
            pair.write(i % 3, i, (long) i << 16, 1 << 16);
        }
        pair.expectSends(64, 20 * SECOND);
        assertThat(pair.lab.packets()).isGreaterThan(64L * 7);
        return pair.lab.traceHash();
    }

    @Test
    void theSameSeedGivesTheSameTrace() {
        assertThat(traceHash(7)).isEqualTo(traceHash(7));
    }

    @Test
    void anotherSeedGivesAnotherTrace() {
        assertThat(traceHash(7)).isNotEqualTo(traceHash(8));
    }
}
