package dev.metaroce.sim.topology;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class RoutesTest {
    @Test
    void everyHostOfAFatTreeReachesEveryHostByAnyChoice() {
        Topology tree =
                Topologies.build(
                        TopologySpec.builder(TopologySpec.Kind.FAT_TREE).hosts(16).build());
        Routes routes = Routes.of(tree);

        assertThat(tree.switches()).isEqualTo(20);
        for (int from = 0; from < 16; from++) {
            for (int to = 0; to < 16; to++) {
                int hops = from == to ? 0 : from / 2 == to / 2 ? 2 : from / 4 == to / 4 ? 4 : 6;
                assertReaches(routes, from, to, hops);
            }
        }
    }

    private static void assertReaches(Routes routes, int node, int to, int hopsLeft) {
        if (node == to) {
            assertThat(hopsLeft).isZero();
            return;
        }
        assertThat(hopsLeft).isPositive();
        assertThat(routes.nextPorts(node, to, 0)).isNotEmpty();
        for (int port : routes.nextPorts(node, to, 0)) {
            assertThat(routes.owner(port)).isEqualTo(node);
            assertReaches(routes, routes.target(port), to, hopsLeft - 1);
        }
    }
}
