package dev.metaroce.transport;

import dev.metaroce.testing.Seeded;
import dev.metaroce.testing.Swarm;
import dev.metaroce.testing.SwarmPlan;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/** Random work under random faults, many times. */
class SwarmTest {
    private static final String MORE = "metaroce.swarm";

    @Seeded(cases = 800)
    void everythingArrivesOnceInOrderAndWhole(long seed) {
        new Swarm(new SwarmPlan(seed)).run();
    }

    /** As many more as -Dmetaroce.swarm says. */
    @Test
    @EnabledIfSystemProperty(named = MORE, matches = "\\d+")
    void andManyTimesMore() {
        long runs = Long.getLong(MORE);
        for (long seed = 0; seed < runs; seed++) {
            new Swarm(new SwarmPlan(seed)).run();
        }
    }
}
