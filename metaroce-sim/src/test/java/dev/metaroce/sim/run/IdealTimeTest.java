package dev.metaroce.sim.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.metaroce.sim.fabric.FabricConfig;
import dev.metaroce.sim.topology.Topologies;
import dev.metaroce.sim.topology.Topology;
import dev.metaroce.sim.topology.TopologySpec;

import org.junit.jupiter.api.Test;

/** Against the closed form, worked out by hand. */
class IdealTimeTest {
    private static final long GBPS = 1_000_000_000L;

    /** A full packet of 4096 bytes on the wire: 52 of headers and checksum, 66 around them. */
    private static final int FULL_BYTES = 4096 + 52 + 66;

    private static final int ACK_BYTES = 52 + 66;

    private static IdealTime on(TopologySpec.Builder builder) {
        Topology topology = Topologies.build(builder.build());
        return new IdealTime(
                new Simulation(
                        new SimConfig(1, SimConfig.limits(100 * GBPS), FabricConfig.defaults()),
                        topology));
    }

    private static double ps(double bytes, long rate) {
        return bytes * 8e12 / rate;
    }

    @Test
    void onACableAllPacketsFollowEachOther() {
        IdealTime ideal = on(TopologySpec.builder(TopologySpec.Kind.PAIR).delayPs(1_000_000));

        double expected =
                10 * ps(FULL_BYTES, 100 * GBPS) + ps(ACK_BYTES, 100 * GBPS) + 2 * 1_000_000;
        assertThat(ideal.ps(0, 1, 10 * 4096)).isCloseTo(expected, within(1.0));
    }

    @Test
    void aNarrowLinkInTheMiddleIsWhatCounts() {
        IdealTime ideal =
                on(
                        TopologySpec.builder(TopologySpec.Kind.DUMBBELL)
                                .hosts(4)
                                .delayPs(0)
                                .linkRate(10 * GBPS));

        double narrow = 10 * ps(FULL_BYTES, 10 * GBPS) + ps(ACK_BYTES, 10 * GBPS);
        double edges = 2 * ps(FULL_BYTES, 100 * GBPS) + 2 * ps(ACK_BYTES, 100 * GBPS);
        assertThat(ideal.ps(0, 3, 10 * 4096)).isCloseTo(narrow + edges, within(1.0));
    }

    @Test
    void planesAddUp() {
        long bytes = 10_000 * 4096L;
        double one = on(TopologySpec.builder(TopologySpec.Kind.STAR)).ps(0, 1, bytes);
        double four = on(TopologySpec.builder(TopologySpec.Kind.STAR).planes(4)).ps(0, 1, bytes);

        assertThat(one / four).isCloseTo(4, within(0.1));
    }

    @Test
    void theWaysOfAFatTreeAreNoObstacle() {
        IdealTime ideal = on(TopologySpec.builder(TopologySpec.Kind.FAT_TREE).hosts(16).delayPs(0));

        double expected = (10 + 5) * ps(FULL_BYTES, 100 * GBPS) + 6 * ps(ACK_BYTES, 100 * GBPS);
        assertThat(ideal.ps(0, 15, 10 * 4096)).isCloseTo(expected, within(1.0));
    }
}
