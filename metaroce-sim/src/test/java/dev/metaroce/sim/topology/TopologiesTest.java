package dev.metaroce.sim.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.metaroce.sim.ConfigException;
import dev.metaroce.sim.topology.TopologySpec.Kind;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TopologiesTest {
    private static TopologySpec.Builder of(Kind kind) {
        return TopologySpec.builder(kind);
    }

    private static int linksBetween(Topology net, int a, int b) {
        int count = 0;
        for (int link = 0; link < net.links(); link++) {
            boolean ab = net.linkA(link) == a && net.linkB(link) == b;
            boolean ba = net.linkA(link) == b && net.linkB(link) == a;
            count += ab || ba ? 1 : 0;
        }
        return count;
    }

    @ParameterizedTest
    @CsvSource({
        // hosts, switches, links: k = 4, 16 (with 1,024 and with fewer places used) and 32
        "16, 20, 48",
        "1024, 320, 3072",
        "1000, 320, 3048",
        "8192, 1280, 24576",
        "2, 5, 6",
        "3, 20, 35",
    })
    void aFatTreeIsTheSmallestThatHasThePlaces(int hosts, int switches, int links) {
        Topology net = Topologies.build(of(Kind.FAT_TREE).hosts(hosts).build());

        assertThat(net.hosts()).isEqualTo(hosts);
        assertThat(net.switches()).isEqualTo(switches);
        assertThat(net.links()).isEqualTo(links);
    }

    @Test
    void aFatTreeOf1024HostsHas16PodsOf64AndFullBisection() {
        Topology net = Topologies.build(of(Kind.FAT_TREE).hosts(1024).build());
        Routes routes = Routes.of(net);

        int[] switchesOfTier = new int[4];
        for (int node = net.hosts(); node < net.nodes(); node++) {
            switchesOfTier[net.tier(node)]++;
            assertThat(routes.ports(node)).as(net.name(node)).hasSize(16);
        }
        assertThat(switchesOfTier).containsExactly(0, 128, 128, 64);
        // Hosts of one pod meet below the core, hosts of two pods do not.
        assertThat(hops(routes, 0, 63)).isEqualTo(4);
        assertThat(hops(routes, 0, 64)).isEqualTo(6);
        assertThat(hops(routes, 960, 1023)).isEqualTo(4);
        assertThat(hops(routes, 959, 960)).isEqualTo(6);
    }

    private static int hops(Routes routes, int from, int to) {
        int hops = 0;
        for (int node = from; node != to; node = routes.target(routes.nextPorts(node, to, 0)[0])) {
            hops++;
        }
        return hops;
    }

    @Test
    void aPairIsTwoHostsAndTheirCables() {
        Topology net = Topologies.build(of(Kind.PAIR).parallel(3).delayPs(7).build());

        assertThat(net.nodes()).isEqualTo(2);
        assertThat(linksBetween(net, 0, 1)).isEqualTo(3);
        assertThat(net.rateBaBitsPerSecond(2)).isEqualTo(100_000_000_000L);
        assertThat(net.delayPs(2)).isEqualTo(7);
    }

    @Test
    void aDumbbellHasABottleneckOfItsOwnRate() {
        Topology net = Topologies.build(of(Kind.DUMBBELL).hosts(5).linkRate(10_000).build());

        assertThat(net.links()).isEqualTo(6);
        for (int host = 0; host < 5; host++) {
            assertThat(linksBetween(net, host, host < 3 ? 5 : 6)).isEqualTo(1);
            assertThat(net.rateAbBitsPerSecond(host)).isEqualTo(100_000_000_000L);
        }
        assertThat(linksBetween(net, 5, 6)).isEqualTo(1);
        assertThat(net.rateAbBitsPerSecond(5)).isEqualTo(10_000);
    }

    @Test
    void aRingGivesEachSwitchItsShareOfTheHosts() {
        Topology net = Topologies.build(of(Kind.RING).hosts(10).switches(4).parallel(2).build());

        assertThat(net.links()).isEqualTo(10 + 8);
        int[] hosts = new int[4];
        for (int host = 0; host < 10; host++) {
            hosts[net.linkB(host) - 10]++;
        }
        assertThat(hosts).containsExactly(3, 2, 3, 2);
        for (int i = 0; i < 4; i++) {
            assertThat(linksBetween(net, 10 + i, 10 + (i + 1) % 4)).isEqualTo(2);
        }
        assertThat(linksBetween(net, 10, 12)).isZero();
    }

    @Test
    void aLeafSpineJoinsEachLeafToEachSpine() {
        Topology net =
                Topologies.build(
                        of(Kind.LEAF_SPINE)
                                .hosts(12)
                                .leaves(3)
                                .spines(2)
                                .parallel(2)
                                .linkRate(400_000_000_000L)
                                .build());

        assertThat(net.links()).isEqualTo(12 + 3 * 2 * 2);
        assertThat(linksBetween(net, 5, 13)).isEqualTo(1);
        assertThat(linksBetween(net, 14, 16)).isEqualTo(2);
        assertThat(net.tier(14)).isEqualTo(1);
        assertThat(net.tier(16)).isEqualTo(2);
        assertThat(net.rateAbBitsPerSecond(12)).isEqualTo(400_000_000_000L);
    }

    @Test
    void aLeafSpineIsSquareAndNotOversubscribedUnlessSaid() {
        TopologySpec spec = of(Kind.LEAF_SPINE).hosts(64).build();

        assertThat(spec.leaves()).isEqualTo(8);
        assertThat(spec.spines()).isEqualTo(8);
        assertThat(of(Kind.LEAF_SPINE).hosts(64).leaves(16).build().spines()).isEqualTo(4);
    }

    @ParameterizedTest
    @CsvSource({"PAIR", "STAR", "DUMBBELL", "RING", "LEAF_SPINE", "FAT_TREE"})
    void planesAreCopiesOfTheSwitches(Kind kind) {
        Topology one = Topologies.build(of(kind).build());
        Topology three = Topologies.build(of(kind).planes(3).build());

        assertThat(three.planes()).isEqualTo(3);
        assertThat(three.hosts()).isEqualTo(one.hosts());
        assertThat(three.switches()).isEqualTo(3 * one.switches());
        assertThat(three.links()).isEqualTo(3 * one.links());
        assertThat(one.plane(one.links() - 1)).isZero();
        assertThat(three.plane(one.links())).isEqualTo(1);
        assertThat(three.plane(three.links() - 1)).isEqualTo(2);
    }

    @Test
    void whatIsWrongIsNamedInOneLine() {
        refused(of(Kind.STAR).hosts(1), "hosts 1: a star takes 2..200000");
        refused(of(Kind.PAIR).hosts(3), "hosts 3: a pair takes 2..2");
        refused(of(Kind.STAR).hostRate(0), "host-rate 0: a star takes 1..1600000000000");
        refused(of(Kind.RING).linkRate(-1), "link-rate -1: a ring takes 1..1600000000000");
        refused(of(Kind.STAR).linkRate(5), "link-rate 5: a star has none");
        refused(of(Kind.STAR).delayPs(-1), "link-delay -1: a star takes 0..1000000000000000");
        refused(of(Kind.RING).switches(2), "switches 2: a ring takes 3..10000");
        refused(of(Kind.FAT_TREE).leaves(4), "leaves 4: a fat-tree has none");
        refused(of(Kind.LEAF_SPINE).leaves(0), "leaves 0: a leaf-spine takes 1..10000");
        refused(of(Kind.STAR).parallel(2), "parallel 2: a star has none");
        refused(of(Kind.STAR).planes(0), "planes 0: a star takes 1..64");
        refused(of(Kind.STAR).hosts(200_000).planes(11), "planes 11: a star takes 1..10");
        assertThatThrownBy(() -> Kind.named("torus"))
                .isInstanceOf(ConfigException.class)
                .hasMessage(
                        "topology torus: is none of"
                                + " pair, star, dumbbell, ring, leaf-spine, fat-tree");
        assertThat(Kind.named("leaf-spine")).isEqualTo(Kind.LEAF_SPINE);
    }

    private static void refused(TopologySpec.Builder spec, String message) {
        assertThatThrownBy(spec::build).isInstanceOf(ConfigException.class).hasMessage(message);
    }

    @Test
    void moreLinksThanCanBeSimulatedAreRefused() {
        TopologySpec dense = of(Kind.LEAF_SPINE).leaves(10_000).spines(10_000).build();

        assertThatThrownBy(() -> Topologies.build(dense))
                .isInstanceOf(ConfigException.class)
                .hasMessage("topology leaf-spine: has more than 4000000 links");
    }
}
