package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.testing.Swarm;
import dev.metaroce.testing.SwarmPlan;

import org.junit.jupiter.api.Test;

/** The same seed gives the same run, packet for packet and event for event. */
class DeterminismTest {
    private static String trace(long seed) {
        Swarm swarm = new Swarm(new SwarmPlan(seed));
        swarm.run();
        return Long.toHexString(swarm.lab.traceHash())
                + " "
                + swarm.lab.packets()
                + " packets, end "
                + swarm.lab.nowNs();
    }

    @Test
    void theSameSeedGivesTheSameRun() {
        for (long seed = 1; seed <= 12; seed++) {
            assertThat(trace(seed)).isEqualTo(trace(seed));
        }
    }

    @Test
    void anotherSeedGivesAnotherRun() {
        assertThat(trace(1)).isNotEqualTo(trace(2));
    }

    /** Only the seed may decide: not the address that memory got, nor what ran before. */
    @Test
    void theOrderOfRunsDoesNotMatter() {
        String third = trace(3);
        String fourth = trace(4);

        assertThat(trace(4)).isEqualTo(fourth);
        assertThat(trace(3)).isEqualTo(third);
    }
}
