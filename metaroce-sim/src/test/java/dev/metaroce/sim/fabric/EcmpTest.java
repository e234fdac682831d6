package dev.metaroce.sim.fabric;

import static dev.metaroce.sim.fabric.FabricRig.GBPS;
import static dev.metaroce.sim.fabric.FabricRig.US;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.metaroce.sim.run.SimConfig;
import dev.metaroce.sim.run.Simulation;
import dev.metaroce.sim.topology.Routes;
import dev.metaroce.sim.topology.Topologies;
import dev.metaroce.sim.topology.Topology;
import dev.metaroce.sim.topology.TopologySpec;
import dev.metaroce.util.Rng;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class EcmpTest {
    private static final FabricConfig SAME =
            FabricConfig.defaults().toBuilder().sameHashSeed(true).build();

    /** Flows between random hosts of a fat tree with k = 4, from random ports. */
    private static EcmpCensus census(FabricConfig config, int flows) {
        Topology tree =
                Topologies.build(
                        TopologySpec.builder(TopologySpec.Kind.FAT_TREE)
                                .hosts(16)
                                .hostRate(100 * GBPS)
                                .delayPs(US)
                                .build());
        Routes routes = Routes.of(tree);
        EcmpCensus census = new FabricRig(tree, config).fabric.census();
        Rng rng = new Rng(11);
        for (int i = 0; i < flows; i++) {
            int source = rng.nextInt(16);
            int destination = (source + 1 + rng.nextInt(15)) % 16;
            census.add(routes.ports(source)[0], destination, rng.nextInt());
        }
        return census;
    }

    @Test
    @DisplayName("M05: equal uplinks carry equal parts of the flows at every stage")
    void m05_equalUplinksCarryEqualPartsOfTheFlows() {
        EcmpCensus few = census(FabricConfig.defaults(), 4_096);
        assertThat(few.warnings()).isEmpty();
        for (int tier = 1; tier <= 2; tier++) {
            int at = tier;
            long first = 0;
            long total = 0;
            for (EcmpCensus.Group g : few.groups().stream().filter(g -> g.tier() == at).toList()) {
                assertThat(g.ways()).isEqualTo(2);
                first += g.flows(0);
                total += g.total();
            }
            assertThat((double) first / total).isBetween(0.45, 0.55);
        }
        // Of each switch alone there are too few for that to hold by more than chance.
        EcmpCensus many = census(FabricConfig.defaults(), 65_536);
        assertThat(many.groups()).hasSize(16).allMatch(g -> Math.abs(g.share(0) - 0.5) < 0.05);
    }

    @Test
    @DisplayName("M05: switches that hash alike polarise, and the census says so")
    void m05_switchesThatHashAlikePolariseAndThatIsSaid() {
        EcmpCensus census = census(SAME, 4_096);

        assertThat(census.warnings()).hasSize(1);
        assertThat(census.warnings().getFirst())
                .matches(
                        "hash polarisation at tier 2: 8 of 8 sets of equal ways are uneven;"
                                + " agg\\d sends 100 % of \\d+ flows one of 2 ways");
    }

    @Test
    void aSimulationCountsTheRoutesOfItsFlows() {
        Topology tree =
                Topologies.build(
                        TopologySpec.builder(TopologySpec.Kind.FAT_TREE)
                                .hosts(128)
                                .hostRate(100 * GBPS)
                                .delayPs(US)
                                .build());
        for (FabricConfig config : new FabricConfig[] {FabricConfig.defaults(), SAME}) {
            Simulation simulation =
                    new Simulation(new SimConfig(1, SimConfig.limits(0), config), tree);
            for (int host = 0; host < 128; host++) {
                simulation.addFlow(host, (host + 64) % 128, 1, 0);
            }
            assertThat(simulation.census(64).warnings()).hasSize(config == SAME ? 1 : 0);
        }
    }

    @Test
    void unevenSharesOfFewFlowsAreChance() {
        assertThat(new EcmpCensus.Group(0, 1, 7, 3).isSkewed()).isFalse();
        assertThat(new EcmpCensus.Group(0, 1, 700, 300).isSkewed()).isTrue();
        assertThat(new EcmpCensus.Group(0, 1, 54_000, 46_000).isSkewed()).isFalse();
        assertThat(new EcmpCensus.Group(0, 1, 90, 110, 95, 105).isSkewed()).isFalse();
        assertThat(new EcmpCensus.Group(0, 1, 50, 200, 50, 100).isSkewed()).isTrue();
    }

    @Test
    @DisplayName("M06: parallel links between two switches are all used")
    void m06_parallelLinksAreAllUsed() {
        double one = throughput(1);
        double four = throughput(4);

        assertThat(one).isCloseTo(25e9, within(0.01 * 25e9));
        assertThat(four).isCloseTo(100e9, within(0.01 * 100e9));
    }

    /** Bits per second between two leaves that are joined by links of 25 Gb/s. */
    private static double throughput(int links) {
        Topology.Builder builder = Topology.builder("leaves", 16, 1);
        int left = builder.addSwitch("left", 1, 0);
        int right = builder.addSwitch("right", 1, 0);
        for (int host = 0; host < 16; host++) {
            builder.addLink(host, host < 8 ? left : right, 100 * GBPS, US, 0);
        }
        for (int i = 0; i < links; i++) {
            builder.addLink(left, right, 25 * GBPS, US, 0);
        }
        FabricConfig config =
                FabricConfig.defaults().toBuilder().switchBufferBytes(1L << 40).build();
        FabricRig rig = new FabricRig(builder.build(), config);
        Rng rng = new Rng(3);
        int[] hashes = new int[256];
        for (int flow = 0; flow < 256; flow++) {
            hashes[flow] = rng.nextInt();
        }
        for (int i = 0; i < 20; i++) {
            for (int flow = 0; flow < 256; flow++) {
                rig.send(flow % 8, 8 + flow / 8 % 8, 4_000, hashes[flow]);
            }
        }
        rig.runUntil(100 * US);
        int before = rig.arrivals.size();
        rig.runUntil(200 * US);
        int arrived = rig.arrivals.size() - before;
        for (int i = 0; i < links; i++) {
            assertThat(rig.fabric.port(32 + 2 * i).txPackets()).isPositive();
        }
        return arrived * 4_000 * 8 / 100e-6;
    }
}
