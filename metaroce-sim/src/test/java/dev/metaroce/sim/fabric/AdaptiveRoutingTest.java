package dev.metaroce.sim.fabric;

import static dev.metaroce.sim.fabric.FabricRig.GBPS;
import static dev.metaroce.sim.fabric.FabricRig.US;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.CounterId;
import dev.metaroce.sim.run.SimConfig;
import dev.metaroce.sim.run.Simulation;
import dev.metaroce.sim.topology.Topologies;
import dev.metaroce.sim.topology.Topology;
import dev.metaroce.sim.topology.TopologySpec;

import org.junit.jupiter.api.Test;

class AdaptiveRoutingTest {
    private static final FabricConfig ADAPTIVE =
            FabricConfig.defaults().toBuilder().adaptiveRouting(true).build();

    /** Two switches joined by four links; the first of them is a quarter as fast. */
    private static Topology parallel(long firstRate) {
        Topology.Builder builder = Topology.builder("parallel", 2, 1);
        int left = builder.addSwitch("left", 1, 0);
        int right = builder.addSwitch("right", 1, 0);
        builder.addLink(0, left, 400 * GBPS, US, 0);
        builder.addLink(1, right, 400 * GBPS, US, 0);
        for (int i = 0; i < 4; i++) {
            builder.addLink(left, right, i == 0 ? firstRate : 100 * GBPS, US, 0);
        }
        return builder.build();
    }

    private static FabricRig send(Topology topology, FabricConfig config, int packets) {
        FabricRig rig = new FabricRig(topology, config);
        for (int i = 0; i < packets; i++) {
            rig.send(0, 1, 4_000, 42);
        }
        rig.run();
        return rig;
    }

    @Test
    void packetsOfOneFlowAreSpreadByTheLoadOfThePorts() {
        FabricRig even = send(parallel(100 * GBPS), ADAPTIVE, 4_000);
        FabricRig uneven = send(parallel(25 * GBPS), ADAPTIVE, 3_250);

        for (int link = 2; link < 6; link++) {
            assertThat(even.fabric.port(2 * link).txPackets()).isEqualTo(1_000);
            assertThat(uneven.fabric.port(2 * link).txPackets())
                    .isBetween(link == 2 ? 240L : 980L, link == 2 ? 270L : 1_020L);
        }
        assertThat(even.fabric.port(4).queueBytesMax()).as("what goes at once waits not").isZero();
        FabricRig hashed = send(parallel(100 * GBPS), FabricConfig.defaults(), 100);
        assertThat(hashed.fabric.port(4).txPackets() % 100).isZero();
    }

    @Test
    void aLinkThatIsDownIsNotChosen() {
        FabricRig rig = new FabricRig(parallel(100 * GBPS), ADAPTIVE);
        rig.fabric.setDown(0, 3, true);
        for (int i = 0; i < 300; i++) {
            rig.send(0, 1, 4_000, i);
        }
        rig.run();

        assertThat(rig.fabric.port(6).txPackets()).isZero();
        assertThat(rig.arrivals).hasSize(300);
    }

    @Test
    void theTransportDeliversEverythingOnceThoughPacketsOvertakeEachOther() {
        int hosts = 16;
        long bytes = 1_000_000;
        Simulation simulation =
                new Simulation(
                        new SimConfig(2, SimConfig.limits(0), ADAPTIVE),
                        Topologies.build(
                                TopologySpec.builder(TopologySpec.Kind.FAT_TREE)
                                        .hosts(hosts)
                                        .hostRate(100 * GBPS)
                                        .delayPs(US)
                                        .build()));
        for (int host = 0; host < hosts; host++) {
            simulation.addFlow(host, (host + 5) % hosts, bytes, 0);
            simulation.addFlow(host, (host + 9) % hosts, bytes, 0);
        }
        while (simulation.flows().ended() < 2 * hosts && simulation.run(100_000)) {}

        assertThat(simulation.flows().ended()).isEqualTo(2 * hosts);
        assertThat(simulation.flows().failed()).isZero();
        long overtaken = 0;
        for (int host = 0; host < hosts; host++) {
            assertThat(simulation.engine(host).counters().get(CounterId.PAYLOAD_BYTES))
                    .isEqualTo(2 * bytes);
            overtaken += simulation.engine(host).counters().get(CounterId.OUT_OF_ORDER);
        }
        assertThat(overtaken).isPositive();
    }
}
