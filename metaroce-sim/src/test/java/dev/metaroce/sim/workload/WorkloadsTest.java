package dev.metaroce.sim.workload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.metaroce.sim.ConfigException;
import dev.metaroce.sim.topology.Topologies;
import dev.metaroce.sim.topology.Topology;
import dev.metaroce.sim.topology.TopologySpec;
import dev.metaroce.sim.workload.WorkloadSpec.Kind;
import dev.metaroce.testing.Seeded;
import dev.metaroce.util.Rng;

import org.assertj.core.data.Percentage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;

class WorkloadsTest {
    private static WorkloadSpec.Builder of(Kind kind) {
        return WorkloadSpec.builder(kind);
    }

    private static Topology star(int hosts) {
        return Topologies.build(
                TopologySpec.builder(TopologySpec.Kind.STAR).hosts(hosts).planes(2).build());
    }

    private static FlowList make(WorkloadSpec.Builder spec, int hosts, long seed) {
        return Workloads.build(spec.build(hosts), star(hosts), new Rng(seed));
    }

    private static List<Integer> sources(FlowList flows) {
        return IntStream.range(0, flows.flows()).mapToObj(flows::source).toList();
    }

    private static List<Integer> destinations(FlowList flows) {
        return IntStream.range(0, flows.flows()).mapToObj(flows::destination).toList();
    }

    private static List<Started.Flow> all(FlowList flows) {
        Started started = new Started();
        flows.start(started);
        return started.flows;
    }

    @ParameterizedTest
    @EnumSource
    void aSeedMakesTheSameFlowsAndAnotherSeedOthersWhereTheyAreRandom(Kind kind) {
        List<Started.Flow> flows = all(make(of(kind), 20, 7));

        assertThat(all(make(of(kind), 20, 7))).isEqualTo(flows);
        boolean isRandom = kind == Kind.PERMUTATION || kind == Kind.POISSON || kind == Kind.STORAGE;
        assertThat(all(make(of(kind), 20, 8)).equals(flows)).isEqualTo(!isRandom);
    }

    @ParameterizedTest
    @EnumSource
    void eachKindMakesAsManyFlowsAsItsSpecSays(Kind kind) {
        WorkloadSpec spec = of(kind).build(9);
        FlowList flows = Workloads.build(spec, star(9), new Rng(1));

        assertThat(flows.kind()).isEqualTo(kind.toString());
        assertThat((long) flows.flows()).isEqualTo(spec.flows());
    }

    @Seeded(cases = 50)
    void inAPermutationEachHostSendsAndReceivesOnceAndNeverItself(long seed) {
        int hosts = 2 + new Rng(seed).nextInt(40);
        FlowList flows = make(of(Kind.PERMUTATION).bytes(2_000_000), hosts, seed);

        Integer[] every = IntStream.range(0, hosts).boxed().toArray(Integer[]::new);
        assertThat(sources(flows)).containsExactly(every);
        assertThat(destinations(flows)).containsExactlyInAnyOrder(every);
        for (int flow = 0; flow < hosts; flow++) {
            assertThat(flows.source(flow)).isNotEqualTo(flows.destination(flow));
            assertThat(flows.bytes(flow)).isEqualTo(2_000_000);
        }
    }

    @Test
    void allPermutationsWithoutFixedPointsAreAsLikely() {
        // Of four hosts there are nine.
        int[] counts = new int[256];
        int draws = 9000;
        for (int seed = 0; seed < draws; seed++) {
            List<Integer> targets = destinations(make(of(Kind.PERMUTATION), 4, seed));
            counts[targets.get(0) << 4 | targets.get(1) << 2 | targets.get(2)]++;
        }

        int[] met = IntStream.of(counts).filter(count -> count > 0).toArray();
        assertThat(met).hasSize(9);
        // Five standard deviations of a count with mean 1000.
        for (int count : met) {
            assertThat(count).isBetween(1000 - 150, 1000 + 150);
        }
    }

    @Test
    void anIncastHasDistinctSendersAndAnOutcastDistinctReceivers() {
        FlowList in = make(of(Kind.INCAST).fan(3), 5, 1);
        FlowList out = make(of(Kind.OUTCAST), 5, 1);

        assertThat(sources(in)).containsExactly(1, 2, 3);
        assertThat(destinations(in)).containsExactly(0, 0, 0);
        assertThat(sources(out)).containsExactly(0, 0, 0, 0);
        assertThat(destinations(out)).containsExactly(1, 2, 3, 4);
    }

    @Test
    void aSweepSharesHostsWhenThereAreMoreInitiators() {
        FlowList flows = make(of(Kind.SWEEP_TARGET).fan(5).bytes(65_536), 4, 1);

        assertThat(sources(flows)).containsExactly(1, 2, 3, 1, 2);
        assertThat(destinations(flows)).containsOnly(0);
    }

    @Test
    void allToAllHasEachPairOnceAndBeginsWithTheNextHost() {
        FlowList flows = make(of(Kind.ALL_TO_ALL), 4, 1);

        Set<List<Integer>> pairs = new HashSet<>();
        for (int flow = 0; flow < flows.flows(); flow++) {
            pairs.add(List.of(flows.source(flow), flows.destination(flow)));
        }
        assertThat(pairs).hasSize(12).noneMatch(pair -> pair.get(0).equals(pair.get(1)));
        assertThat(destinations(flows)).startsWith(1, 2, 3, 2, 3, 0);
    }

    @Test
    void poissonArrivalsOfferTheLoad() {
        int count = 50_000;
        FlowList flows =
                make(
                        of(Kind.POISSON)
                                .count(count)
                                .load(0.3)
                                .sizes(Sizes.parse("uniform:1k-64k")),
                        10,
                        5);

        double bits = 0;
        int[] bySource = new int[10];
        int[] byDestination = new int[10];
        for (int flow = 0; flow < count; flow++) {
            bits += 8.0 * flows.bytes(flow);
            bySource[flows.source(flow)]++;
            byDestination[flows.destination(flow)]++;
            assertThat(flows.source(flow)).isNotEqualTo(flows.destination(flow));
        }
        double seconds = flows.startPs(count - 1) / 1e12;
        // Ten hosts with 100 Gb/s in each of two planes.
        assertThat(bits / seconds / 2e12).isCloseTo(0.3, Percentage.withPercentage(3));
        for (int host = 0; host < 10; host++) {
            assertThat(bySource[host]).isCloseTo(5000, Percentage.withPercentage(8));
            assertThat(byDestination[host]).isCloseTo(5000, Percentage.withPercentage(8));
        }
    }

    @Test
    void aStorageClientReadsFromDistinctServersAndGoesOnWhenAllHaveAnswered() {
        FlowList flows = make(of(Kind.STORAGE).fan(3).count(2).bytes(4096), 5, 1);
        Started started = new Started();

        flows.start(started);
        List<Started.Flow> requests =
                started.flows.stream().filter(flow -> flow.source() == 2).toList();
        assertThat(started.flows).hasSize(5 * 3).allMatch(flow -> flow.bytes() == 64);
        assertThat(requests.stream().map(Started.Flow::destination).distinct()).hasSize(3);
        started.flows.clear();

        for (Started.Flow request : requests) {
            flows.onFlowDone(request.flow(), 10, started);
        }
        List<Started.Flow> answers = List.copyOf(started.flows);
        assertThat(answers).hasSize(3).allMatch(flow -> flow.destination() == 2);
        assertThat(answers).allMatch(flow -> flow.bytes() == 4096 && flow.startPs() == 10);
        started.flows.clear();

        flows.onFlowDone(answers.get(0).flow(), 20, started);
        flows.onFlowDone(answers.get(2).flow(), 30, started);
        assertThat(started.flows).isEmpty();
        flows.onFlowDone(answers.get(1).flow(), 40, started);
        assertThat(started.flows).hasSize(3).allMatch(flow -> flow.source() == 2);
        assertThat(started.flows).allMatch(flow -> flow.bytes() == 64 && flow.startPs() == 40);
    }

    @Test
    void whatIsWrongIsNamedInOneLine() {
        refused(of(Kind.INCAST).fan(5), 5, "fan 5: workload incast takes 1..4");
        refused(of(Kind.OUTCAST).fan(0), 5, "fan 0: workload outcast takes 1..4");
        refused(of(Kind.STORAGE).count(0), 5, "count 0: workload storage takes 1..20000000");
        refused(of(Kind.PERMUTATION).fan(2), 5, "fan 2: workload permutation has none");
        refused(of(Kind.INCAST).count(2), 5, "count 2: workload incast has none");
        refused(of(Kind.INCAST).load(0.5), 5, "load 0.5: workload incast has none");
        refused(of(Kind.POISSON).load(1.5), 5, "load 1.5: workload poisson takes 0.001..1");
        refused(of(Kind.POISSON).load(0), 5, "load 0.0: workload poisson takes 0.001..1");
        refused(
                of(Kind.ALL_TO_ALL),
                10_000,
                "workload all-to-all: 10000 hosts make 99990000 flows, more than 20000000");
        assertThatThrownBy(() -> of(Kind.INCAST).bytes(0))
                .isInstanceOf(ConfigException.class)
                .hasMessage("size 0: is not in 1..1099511627776");
        assertThatThrownBy(() -> Kind.named("gather"))
                .isInstanceOf(ConfigException.class)
                .hasMessage(
                        "workload gather: is none of permutation, incast, outcast, all-to-all,"
                                + " sweep-target, poisson, storage");
        assertThat(Kind.named("all-to-all")).isEqualTo(Kind.ALL_TO_ALL);
    }

    private static void refused(WorkloadSpec.Builder spec, int hosts, String message) {
        assertThatThrownBy(() -> spec.build(hosts))
                .isInstanceOf(ConfigException.class)
                .hasMessage(message);
    }

    @Test
    void arrivalsBeyondTheRangeOfTimeAreRefused() {
        Topology slow =
                Topologies.build(TopologySpec.builder(TopologySpec.Kind.PAIR).hostRate(1).build());
        WorkloadSpec spec = of(Kind.POISSON).bytes(1 << 30).load(0.001).count(100).build(2);

        assertThatThrownBy(() -> Workloads.build(spec, slow, new Rng(1)))
                .isInstanceOf(ConfigException.class)
                .hasMessage("count 100: at load 0.001 they take more than 100 days to arrive");
    }
}
