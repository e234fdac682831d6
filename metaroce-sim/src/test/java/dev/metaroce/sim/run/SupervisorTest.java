package dev.metaroce.sim.run;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.sim.fabric.FabricConfig;
import dev.metaroce.sim.fabric.LinkChange;
import dev.metaroce.sim.run.Supervisor.Outcome;
import dev.metaroce.sim.topology.Topologies;
import dev.metaroce.sim.topology.TopologySpec;
import dev.metaroce.sim.workload.FlowList;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;

/** When a run ends, and what is known of its flows then. */
class SupervisorTest {
    private static final long US = 1_000_000;
    private static final long SECOND = 1_000_000 * US;
    private static final long NEVER = Long.MAX_VALUE;

    private static Simulation pair() {
        TopologySpec.Builder spec = TopologySpec.builder(TopologySpec.Kind.PAIR);
        return new Simulation(
                new SimConfig(1, SimConfig.limits(400_000_000_000L), FabricConfig.defaults()),
                Topologies.build(spec.build()));
    }

    private static void change(Simulation simulation, long atPs, boolean down) {
        simulation.fabric().plan(List.of(new LinkChange(atPs, 0, down)));
    }

    private static Outcome run(Simulation simulation, long maxTimePs, long patiencePs) {
        return new Supervisor(simulation, maxTimePs, patiencePs, null).run(() -> true);
    }

    @Test
    void aRunEndsWithItsLastFlow() {
        Simulation simulation = pair();
        simulation.addFlow(0, 1, 100_000, 5 * US);

        assertThat(run(simulation, NEVER, SECOND)).isEqualTo(Outcome.COMPLETED);
        assertThat(simulation.nowPs()).isEqualTo(simulation.flows().endPs(0));
        assertThat(simulation.missingBytes(0)).isZero();
    }

    @Test
    void whereALookIsTakenChangesNothing() {
        Simulation once = pair();
        Simulation often = pair();
        once.addFlow(0, 1, 1_000_000, 0);
        often.addFlow(0, 1, 1_000_000, 0);

        run(once, NEVER, SECOND);
        run(often, NEVER, 10 * US);

        assertThat(often.traceHash()).isEqualTo(once.traceHash());
        assertThat(often.eventCount()).isEqualTo(once.eventCount());
        assertThat(often.nowPs()).isEqualTo(once.nowPs());
    }

    @Test
    void theTimeIsUpAtThatTime() {
        Simulation simulation = pair();
        simulation.addFlow(0, 1, 1_000_000, 0);

        assertThat(run(simulation, 40 * US, SECOND)).isEqualTo(Outcome.TIME_UP);
        assertThat(simulation.nowPs()).isEqualTo(40 * US);
        assertThat(simulation.missingBytes(0)).isBetween(500_000L, 900_000L);
        assertThat(simulation.state(0)).startsWith("OPEN: cid 0/").contains("bytes in flight");
        assertThat(simulation.sending(0)).isNotNull();
    }

    @Test
    void whoeverRunsItCanEndIt() {
        Simulation simulation = pair();
        simulation.addFlow(0, 1, 1L << 30, 0);
        List<Integer> asked = new ArrayList<>();

        Outcome outcome =
                new Supervisor(simulation, NEVER, SECOND, null)
                        .run(
                                () -> {
                                    asked.add(1);
                                    return asked.size() < 3;
                                });

        assertThat(outcome).isEqualTo(Outcome.INTERRUPTED);
        assertThat(simulation.flows().ended()).isZero();
    }

    @Test
    @DisplayName("M02: without progress a run ends after the patience given")
    void withoutProgressARunEnds_M02() {
        Simulation simulation = pair();
        change(simulation, 20 * US, true);
        simulation.addFlow(0, 1, 10_000_000, 0);

        assertThat(run(simulation, NEVER, 100_000 * US)).isEqualTo(Outcome.NO_PROGRESS);
        assertThat(simulation.nowPs()).isBetween(100_000 * US, 120_000 * US);
    }

    @Test
    @DisplayName("M02: a flow whose way is gone fails, and what waits for it stays open")
    void aFlowWhoseWayIsGoneFails_M02() {
        Simulation simulation = pair();
        FlowList.Builder flows = FlowList.builder("test", 2);
        int first = flows.add(0, 1, 0, 10_000_000);
        int barrier = flows.addBarrier(1);
        flows.addTriggered(1, 0, barrier, 1000);
        flows.setsOff(first, barrier);
        change(simulation, 20 * US, true);
        simulation.add(flows.build());

        assertThat(run(simulation, NEVER, 10 * SECOND)).isEqualTo(Outcome.NOTHING_LEFT);
        assertThat(simulation.flows().failed()).isEqualTo(1);
        assertThat(simulation.flows().expected()).isEqualTo(2);
        assertThat(simulation.flows().count()).isEqualTo(1);
        assertThat(simulation.missingBytes(0)).isEqualTo(10_000_000);
    }

    @Test
    void aLinkThatComesBackLetsFlowsEnd() {
        Simulation simulation = pair();
        change(simulation, 20 * US, true);
        change(simulation, 50_000 * US, false);
        simulation.addFlow(0, 1, 10_000_000, 0);

        assertThat(run(simulation, NEVER, SECOND)).isEqualTo(Outcome.COMPLETED);
        assertThat(simulation.flows().failed()).isZero();
        assertThat(simulation.nowPs()).isGreaterThan(50_000 * US);
    }

    @Test
    void aLongGapBetweenFlowsIsNoStandstill() {
        Simulation simulation = pair();
        simulation.addFlow(0, 1, 1000, 0);
        simulation.addFlow(1, 0, 1000, 5000 * SECOND);

        assertThat(run(simulation, NEVER, SECOND)).isEqualTo(Outcome.COMPLETED);
        assertThat(simulation.nowPs()).isBetween(5000 * SECOND, 5000 * SECOND + 100 * US);
    }

    @Test
    void samplesComeAtTheirTimes() {
        Simulation simulation = pair();
        simulation.addFlow(0, 1, 1_000_000, 0);
        List<Long> times = new ArrayList<>();
        List<String> names = new ArrayList<>();
        Series series =
                new Series(
                        simulation,
                        10 * US,
                        1,
                        1,
                        (atPs, what, of, value) -> {
                            if (!times.contains(atPs)) {
                                times.add(atPs);
                            }
                            names.add(what + " " + of);
                        });

        new Supervisor(simulation, NEVER, SECOND, series).run(() -> true);

        assertThat(times).hasSizeGreaterThan(5).startsWith(10 * US, 20 * US, 30 * US);
        assertThat(names)
                .contains("open_flows all", "queue_bytes h0->h1", "rate_gbps flow 0")
                .contains("window_bytes flow 0", "hint_gbps flow 0", "contexts_in_use all");
    }
}
