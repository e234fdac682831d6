package dev.metaroce.tools.sim;

import dev.metaroce.sim.run.Flows;
import dev.metaroce.sim.run.Series;
import dev.metaroce.sim.run.Simulation;
import dev.metaroce.sim.run.Summary;
import dev.metaroce.sim.run.Supervisor;
import dev.metaroce.sim.run.Supervisor.Outcome;
import dev.metaroce.sim.topology.Topology;
import dev.metaroce.tools.cli.Terminal;

import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;

/**
 * One simulation that ended, and what it took.
 *
 * @param error one line; empty when all went well
 * @param setUpS seconds of the wall clock to build the network
 * @param runS seconds of the wall clock to simulate
 * @param warnings what should not be, one line each
 * @param unfinished flows that are open or failed, the first of them
 */
record SimResult(
        SimConfiguration configuration,
        Outcome outcome,
        String error,
        Summary summary,
        double setUpS,
        double runS,
        double eventsPerSecond,
        List<String> warnings,
        List<Unfinished> unfinished) {
    private static final int LISTED = 20;

    /** Following more flows through the network would take long. */
    private static final int CENSUS_FLOWS_MAX = 100_000;

    /**
     * A flow that did not end well.
     *
     * @param id what the workload calls it
     * @param state what it is doing, or why it failed
     */
    record Unfinished(
            long id,
            String source,
            String destination,
            long bytes,
            long missingBytes,
            String state) {
        @Override
        public String toString() {
            return "flow %d, %s to %s: %s of %s bytes missing; %s"
                    .formatted(
                            id,
                            source,
                            destination,
                            Terminal.count(missingBytes),
                            Terminal.count(bytes),
                            state);
        }
    }

    /**
     * Runs a simulation to its end.
     *
     * @param series where samples go; null for none
     * @param setUpNs what it took to build it
     */
    static SimResult run(
            Simulation simulation,
            RunOptions options,
            @Nullable Series series,
            BooleanSupplier mayGoOn,
            long setUpNs) {
        long maxTimePs = options.maxTimePs == null ? Long.MAX_VALUE : options.maxTimePs;
        Supervisor supervisor = new Supervisor(simulation, maxTimePs, options.patiencePs, series);
        long startNs = System.nanoTime();
        Outcome outcome = supervisor.run(mayGoOn);
        return of(simulation, outcome, setUpNs, System.nanoTime() - startNs);
    }

    private static SimResult of(Simulation simulation, Outcome outcome, long setUpNs, long runNs) {
        Summary summary = Summary.of(simulation);
        List<Unfinished> unfinished = unfinished(simulation);
        return new SimResult(
                SimConfiguration.of(simulation),
                outcome,
                error(simulation, outcome, unfinished),
                summary,
                setUpNs / 1e9,
                runNs / 1e9,
                summary.events() * 1e9 / Math.max(1, runNs),
                warnings(simulation),
                unfinished);
    }

    private static List<String> warnings(Simulation simulation) {
        List<String> warnings = new ArrayList<>(simulation.fabric().warnings());
        if (simulation.flows().count() <= CENSUS_FLOWS_MAX) {
            int routes = SimConfiguration.of(simulation).paths();
            warnings.addAll(simulation.census(routes).warnings());
        }
        return warnings;
    }

    boolean isWell() {
        return error.isEmpty();
    }

    private static List<Unfinished> unfinished(Simulation simulation) {
        Flows flows = simulation.flows();
        Topology topology = simulation.topology();
        List<Unfinished> found = new ArrayList<>();
        for (int flow = 0; flow < flows.count() && found.size() < LISTED; flow++) {
            boolean open = flows.isOpen(flow);
            if (open || !flows.failure(flow).isEmpty()) {
                found.add(
                        new Unfinished(
                                simulation.flowId(flow),
                                topology.name(flows.source(flow)),
                                topology.name(flows.destination(flow)),
                                flows.bytes(flow),
                                simulation.missingBytes(flow),
                                open ? simulation.state(flow) : flows.failure(flow)));
            }
        }
        return found;
    }

    private static String error(
            Simulation simulation, Outcome outcome, List<Unfinished> unfinished) {
        Flows flows = simulation.flows();
        int open = flows.expected() - flows.ended();
        String first = unfinished.isEmpty() ? "" : ", the first: " + unfinished.getFirst();
        String flowsOpen = open == 1 ? "1 flow is open" : open + " flows are open";
        String at = " at " + us(simulation.nowPs());
        return switch (outcome) {
            case COMPLETED ->
                    flows.failed() == 0
                            ? ""
                            : "%d of %d flows failed%s"
                                    .formatted(flows.failed(), flows.expected(), first);
            case NOTHING_LEFT -> flowsOpen + at + " and nothing is left that could happen" + first;
            case NO_PROGRESS -> flowsOpen + at + " and nothing got ahead for long" + first;
            case TIME_UP -> flowsOpen + at + ", when --max-time was up" + first;
            case INTERRUPTED -> "interrupted" + at + ": " + flowsOpen;
        };
    }

    private static String us(long ps) {
        return "%,.3f us".formatted(ps / 1e6);
    }
}
