package dev.metaroce.tools.perf;

import dev.metaroce.tools.cli.Interruption;
import dev.metaroce.tools.cli.Json;
import dev.metaroce.tools.cli.JsonReporter;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

import tools.jackson.databind.node.ObjectNode;

import java.util.concurrent.Callable;

/** {@code metaroce perf ping}: round trips at leisure, until the count or the interrupt. */
@Command(
        name = "ping",
        description = "Sends a small message each second and shows how long its answer takes.",
        mixinStandardHelpOptions = true)
final class PingCommand implements Callable<Integer>, JsonReporter {
    /** After an interrupt the summary must be out by then. */
    private static final int FAREWELL_SECONDS = 3;

    @Spec private CommandSpec spec;
    @Mixin private PingOptions options;

    PingCommand() {
        options = new PingOptions();
    }

    @Override
    public boolean json() {
        return options.json;
    }

    @Override
    public ObjectNode document() {
        return Json.object().put("command", spec.qualifiedName()).put("test", "ping");
    }

    @Override
    public Integer call() {
        options.checkEndpoint(false);
        options.checkRocePort();
        EndpointOptions.refuse(
                options.port() == 0, "-p/--port 0 is for the server: give the port it printed");
        PingRun run = new PingRun(options, options.devices(options.host), new Printer(spec));
        try (Interruption interruption = Interruption.byStopping(run::stop, FAREWELL_SECONDS)) {
            return interruption.endsWith(run.run());
        }
    }
}
