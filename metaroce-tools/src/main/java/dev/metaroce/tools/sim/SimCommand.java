package dev.metaroce.tools.sim;

import dev.metaroce.sim.ConfigException;
import dev.metaroce.sim.run.Connections;
import dev.metaroce.sim.run.Simulation;
import dev.metaroce.tools.cli.Interruption;
import dev.metaroce.tools.cli.Json;
import dev.metaroce.tools.cli.JsonReporter;
import dev.metaroce.tools.cli.Output;
import dev.metaroce.tools.cli.ToolException;

import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

import tools.jackson.databind.node.ObjectNode;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/** {@code metaroce sim}: many engines on a simulated network. */
@Command(
        name = "sim",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        header = "Simulate a network of endpoints.",
        description =
                "Runs up to 200,000 endpoints, each the engine of the other commands, on a"
                        + " simulated network, and tells how their messages went. Ends with 0 when"
                        + " all arrived.",
        footer = {
            "",
            "Examples:",
            "  metaroce sim --topology fat-tree --hosts 1024 --size 2000000",
            "  metaroce sim --topology leaf-spine --workload incast --series queues.csv",
            "  metaroce sim --hosts 16 --loss 0.1 --seeds 100 --threads 2",
            "  metaroce sim --topology leaf-spine --link-down 50us:leaf0/spine1",
            "  metaroce sim --sweep --size 64k"
        })
public final class SimCommand implements Callable<Integer>, JsonReporter {
    /** After an interrupt the summary and all files must be out by then. */
    private static final int REPORT_SECONDS = 60;

    @Spec private CommandSpec spec;

    @ArgGroup(validate = false, heading = "%nTopology:%n", order = 1)
    private TopologyOptions topology = new TopologyOptions();

    @ArgGroup(validate = false, heading = "%nWorkload:%n", order = 2)
    private WorkloadOptions workload = new WorkloadOptions();

    @ArgGroup(validate = false, heading = "%nEndpoints:%n", order = 3)
    private TransportOptions transport = new TransportOptions();

    @ArgGroup(validate = false, heading = "%nMechanisms, to see what each earns:%n", order = 4)
    private MechanismOptions mechanisms = new MechanismOptions();

    @ArgGroup(validate = false, heading = "%nNICs:%n", order = 5)
    private NicOptions nics = new NicOptions();

    @ArgGroup(validate = false, heading = "%nSwitches:%n", order = 6)
    private SwitchOptions switches = new SwitchOptions();

    @ArgGroup(validate = false, heading = "%nFaults:%n", order = 7)
    private FaultOptions faults = new FaultOptions();

    @ArgGroup(validate = false, heading = "%nRuns:%n", order = 8)
    private RunOptions runs = new RunOptions();

    @ArgGroup(validate = false, heading = "%nOutput:%n", order = 9)
    private OutputOptions output = new OutputOptions();

    @Override
    public boolean json() {
        return Output.isStandardOutput(output.json);
    }

    @Override
    public ObjectNode document() {
        ObjectNode document = Json.object();
        document.put("command", spec.qualifiedName());
        return document;
    }

    @Override
    public Integer call() {
        topology.check(runs);
        workload.check();
        transport.check(mechanisms);
        nics.check();
        switches.check();
        faults.check();
        runs.check();
        output.check(runs);
        Output to = new Output(spec, output.json);
        try (Interruption interruption =
                Interruption.bySignal(SimCommand::sayLate, REPORT_SECONDS)) {
            BooleanSupplier mayGoOn = () -> !interruption.isAsked();
            if (runs.sweep != null) {
                return sweep(RunOptions.senders(runs.sweep), to, mayGoOn);
            }
            return runs.seeds == null ? one(to, mayGoOn) : seeds(runs.seeds, to, mayGoOn);
        } catch (ConfigException e) {
            throw ToolException.usage(String.valueOf(e.getMessage()));
        }
    }

    private static void sayLate() {
        System.err.println("metaroce sim: interrupted, and the report does not end");
    }

    private Scenario scenario() {
        return new Scenario(topology.build(null), equipment(), workload::build);
    }

    private Scenario.Equipment equipment() {
        return new Scenario.Equipment(transport, mechanisms, switches, nics, faults);
    }

    private int one(Output to, BooleanSupplier mayGoOn) {
        try (SimRun run = new SimRun(output)) {
            return one(run, to, mayGoOn);
        }
    }

    private int one(SimRun run, Output to, BooleanSupplier mayGoOn) {
        long startNs = System.nanoTime();
        Scenario scenario = scenario();
        MemoryNeed need = MemoryNeed.measure(scenario.config(runs.seed));
        need.check(scenario.topology(), 1);
        Simulation simulation = scenario.build(runs.seed);
        long setUpNs = System.nanoTime() - startNs;
        SimReport report = to.out == null ? null : new SimReport(to.out);
        if (report != null) {
            report.header(SimConfiguration.of(simulation));
        }
        SimResult result;
        try (SimProgress progress = new SimProgress(simulation, to.err())) {
            result = run.run(simulation, runs, progress.looking(mayGoOn), setUpNs);
        }
        MemoryUse memory = new MemoryUse(need.endpointBytes(), PeakMemory.bytes());
        if (report != null) {
            report.result(result, memory);
        }
        result.warnings().forEach(to::warn);
        ObjectNode document = document();
        document.setAll(SimReport.resultDocument(result));
        document.set("memory", Json.tree(memory));
        return to.end(document, result.error());
    }

    private int seeds(int count, Output to, BooleanSupplier mayGoOn) {
        Scenario scenario = scenario();
        MemoryNeed.measure(scenario.config(runs.seed))
                .check(scenario.topology(), Math.min(count, runs.threads));
        List<Supplier<Simulation>> simulations = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            long seed = runs.seed + i;
            simulations.add(() -> scenario.build(seed));
        }
        ObjectNode document = document();
        ManyRuns many = new ManyRuns(to, runs, mayGoOn, new ManyRuns.SeedTable());
        return to.end(document, many.run(simulations, document));
    }

    private int sweep(List<Integer> counts, Output to, BooleanSupplier mayGoOn) {
        if (transport.connections == null) {
            transport.connections = Connections.CLOSE;
        }
        List<Supplier<Simulation>> simulations = new ArrayList<>();
        for (int senders : counts) {
            Scenario scenario =
                    new Scenario(
                            topology.build(senders + 1),
                            equipment(),
                            (built, seed) -> workload.incast(built, senders, seed));
            MemoryNeed.measure(scenario.config(runs.seed)).check(scenario.topology(), 1);
            simulations.add(() -> scenario.build(runs.seed));
        }
        ObjectNode document = document();
        ManyRuns many = new ManyRuns(to, runs, mayGoOn, new ManyRuns.SweepTable());
        return to.end(document, many.run(simulations, document));
    }
}
