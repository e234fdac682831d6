package dev.metaroce.transport;

import dev.metaroce.testing.Seeded;
import dev.metaroce.testing.Swarm;
import dev.metaroce.testing.SwarmPlan;

/** Random work under random faults, many times. */
class SwarmTest {
    @Seeded(cases = 300)
    void everythingArrivesOnceInOrderAndWhole(long seed) {
        new Swarm(new SwarmPlan(seed)).run();
    }
}
