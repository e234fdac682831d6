package dev.metaroce.sim.topology;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;

import dev.metaroce.sim.topology.TopologySpec.Kind;
import dev.metaroce.testing.Seeded;
import dev.metaroce.util.Rng;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.lang.management.ManagementFactory;
import java.util.ArrayDeque;
import java.util.Arrays;

class RoutesTest {
    private static final long RATE = 100_000_000_000L;
    private static final long DELAY_PS = 1_000_000;

    private static Topology fatTree(int hosts) {
        return Topologies.build(TopologySpec.builder(Kind.FAT_TREE).hosts(hosts).build());
    }

    private static void link(Topology.Builder net, int a, int b, int plane) {
        net.addLink(a, b, RATE, DELAY_PS, plane);
    }

    /** Next hops by the definition: the neighbours from which the rest is one hop shorter. */
    private static void assertShortest(Topology net) {
        Routes routes = Routes.of(net);
        for (int plane = 0; plane < net.planes(); plane++) {
            for (int to = 0; to < net.hosts(); to++) {
                int[] distances = distancesTo(net, routes, to, plane);
                for (int node = 0; node < net.nodes(); node++) {
                    if (net.isHost(node) || net.planeOfSwitch(node) == plane) {
                        int[] expected = nextByDistance(net, routes, node, distances, plane);
                        assertThat(routes.nextPorts(node, to, plane))
                                .as(
                                        "from %s to %s in plane %d",
                                        net.name(node), net.name(to), plane)
                                .containsExactly(expected);
                    }
                }
            }
        }
    }

    private static int[] distancesTo(Topology net, Routes routes, int to, int plane) {
        int[] distances = new int[net.nodes()];
        Arrays.fill(distances, Integer.MAX_VALUE);
        distances[to] = 0;
        ArrayDeque<Integer> queue = new ArrayDeque<>();
        queue.add(to);
        while (!queue.isEmpty()) {
            int node = queue.remove();
            if (node != to && net.isHost(node)) {
                continue;
            }
            for (int port : routes.ports(node)) {
                int other = routes.target(port);
                if (net.plane(port >> 1) == plane && distances[other] == Integer.MAX_VALUE) {
                    distances[other] = distances[node] + 1;
                    queue.add(other);
                }
            }
        }
        return distances;
    }

    private static int[] nextByDistance(
            Topology net, Routes routes, int node, int[] distances, int plane) {
        if (distances[node] == Integer.MAX_VALUE) {
            return new int[0];
        }
        return Arrays.stream(routes.ports(node))
                .filter(port -> net.plane(port >> 1) == plane)
                .filter(port -> distances[routes.target(port)] == distances[node] - 1)
                .filter(port -> forwards(net, routes.target(port), distances))
                .toArray();
    }

    private static boolean forwards(Topology net, int node, int[] distances) {
        return distances[node] == 0 || !net.isHost(node);
    }

    @Test
    void aFatTreeOfFourPortsHasItsEqualCostPortsAtEachTier() {
        Topology net = fatTree(16);
        Routes routes = Routes.of(net);
        int edge = 16;
        int aggregation = 24;
        int core = 32;

        // Up: from an edge and an aggregation switch to another pod.
        assertThat(routes.nextPorts(0, 15, 0)).hasSize(1);
        assertThat(routes.nextPorts(edge, 15, 0)).hasSize(2);
        assertThat(routes.nextPorts(aggregation, 15, 0)).hasSize(2);
        // Down: one way only.
        assertThat(routes.nextPorts(core, 15, 0)).hasSize(1);
        assertThat(routes.nextPorts(aggregation, 1, 0)).hasSize(1);
        assertThat(routes.nextPorts(edge, 1, 0)).hasSize(1);
        // Within the pod, but under another edge switch.
        assertThat(routes.nextPorts(edge, 2, 0)).hasSize(2);
        assertThat(routes.nextPorts(0, 0, 0)).isEmpty();
    }

    @Test
    void everyHostOfAFatTreeReachesEveryHostByAnyChoice() {
        Routes routes = Routes.of(fatTree(16));

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

    @ParameterizedTest
    @EnumSource
    void nextPortsOfEachKindAreOnShortestPathsInEachPlane(Kind kind) {
        TopologySpec.Builder spec = TopologySpec.builder(kind).planes(2);
        assertShortest(Topologies.build(spec.hosts(kind == Kind.PAIR ? 2 : 19).build()));
    }

    @Test
    void parallelLinksAllCount() {
        Topology net =
                Topologies.build(TopologySpec.builder(Kind.DUMBBELL).hosts(2).parallel(3).build());

        assertThat(Routes.of(net).nextPorts(2, 1, 0)).containsExactly(4, 6, 8);
        assertThat(Routes.of(net).nextPorts(3, 0, 0)).containsExactly(5, 7, 9);
    }

    @Test
    void aHostOnSeveralSwitchesUsesThoseThatAreNearest() {
        // h0 hangs on s0 and s1, h1 on s0, h2 on s2 behind s1, h3 on s2 and s0 as h0 does not.
        Topology.Builder net = Topology.builder("test", 4, 1);
        int first = net.addSwitch("s0", 1, 0);
        net.addSwitch("s1", 1, 0);
        net.addSwitch("s2", 1, 0);
        int[][] cables = {{0, 4}, {0, 5}, {0, 5}, {1, 4}, {2, 6}, {3, 6}, {3, 4}, {4, 5}, {5, 6}};
        for (int[] cable : cables) {
            link(net, cable[0], cable[1], 0);
        }
        Topology built = net.build();
        Routes routes = Routes.of(built);

        assertThat(first).isEqualTo(4);
        assertThat(routes.nextPorts(0, 1, 0)).containsExactly(0);
        assertThat(routes.nextPorts(0, 2, 0)).containsExactly(2, 4);
        assertShortest(built);
    }

    @Test
    void aHostForwardsNothingForOthers() {
        // A chain of three hosts, and two switches with only a host between them.
        Topology.Builder net = Topology.builder("test", 6, 1);
        net.addSwitch("left", 1, 0);
        net.addSwitch("right", 1, 0);
        int[][] cables = {{0, 1}, {1, 2}, {3, 6}, {4, 6}, {4, 7}, {5, 7}};
        for (int[] cable : cables) {
            link(net, cable[0], cable[1], 0);
        }
        Topology built = net.build();
        Routes routes = Routes.of(built);

        assertThat(routes.nextPorts(0, 1, 0)).containsExactly(0);
        assertThat(routes.nextPorts(0, 2, 0)).isEmpty();
        assertThat(routes.nextPorts(3, 5, 0)).isEmpty();
        assertThat(routes.nextPorts(6, 5, 0)).isEmpty();
        assertThat(routes.nextPorts(3, 4, 0)).hasSize(1);
        assertThat(routes.reaches(0, 1)).isTrue();
        assertThat(routes.reaches(0, 2)).isFalse();
        assertShortest(built);
    }

    @Seeded(cases = 100)
    void randomNetworksHaveNoPathButTheShortest(long seed) {
        Rng rng = new Rng(seed);
        int hosts = 2 + rng.nextInt(8);
        int planes = 1 + rng.nextInt(2);
        Topology.Builder net = Topology.builder("random", hosts, planes);
        int[] planeOf = new int[hosts + rng.nextInt(9)];
        for (int node = hosts; node < planeOf.length; node++) {
            planeOf[node] = rng.nextInt(planes);
            net.addSwitch("s" + node, 1, planeOf[node]);
        }
        for (int i = 0; i < 2 * planeOf.length; i++) {
            int a = rng.nextInt(planeOf.length);
            int b = rng.nextInt(planeOf.length);
            int plane = Math.max(planeOf[a], planeOf[b]);
            boolean fits = (a < hosts || planeOf[a] == plane) && (b < hosts || planeOf[b] == plane);
            if (a != b && fits) {
                link(net, a, b, plane);
            }
        }
        assertShortest(net.build());
    }

    @Test
    void tenThousandHostsKeepOneRowForEachEdgeSwitch() {
        Topology net = fatTree(10_000);
        Routes routes = Routes.of(net);

        // k = 36: 18 ways up, the same array for all hosts of other pods.
        int edge = net.hosts();
        assertThat(routes.nextPorts(edge, 9_999, 0)).hasSize(18);
        assertThat(routes.nextPorts(edge, 9_999, 0)).isSameAs(routes.nextPorts(edge, 5_000, 0));
        assertReachesByFirst(routes, 0, 9_999);
        assertReachesByFirst(routes, 9_999, 17);
        assertThat(bytesAllocatedByLookups(routes)).isZero();
    }

    private static long bytesAllocatedByLookups(Routes routes) {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long allocated = 0;
        for (int round = 0; round < 2; round++) { // the first loads classes
            long before = threads.getCurrentThreadAllocatedBytes();
            for (int to = 1; to < 10_000; to++) {
                routes.nextPorts(0, to, 0);
                routes.nextPorts(10_000, to, 0);
            }
            allocated = threads.getCurrentThreadAllocatedBytes() - before;
        }
        return allocated;
    }

    private static void assertReachesByFirst(Routes routes, int from, int to) {
        int node = from;
        for (int hop = 0; hop < 6; hop++) {
            node = routes.target(routes.nextPorts(node, to, 0)[0]);
        }
        assertThat(node).isEqualTo(to);
    }
}
