package dev.metaroce.tools.perf;

import dev.metaroce.tools.cli.Json;
import dev.metaroce.tools.cli.JsonReporter;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

import tools.jackson.databind.node.ObjectNode;

import java.util.concurrent.Callable;

/** {@code metaroce perf server}: serves any test, one client after the other, until stopped. */
@Command(
        name = "server",
        description =
                "Serves whatever test a client asks for, one client after the other, until it is "
                        + "stopped. With --json: one line per client.",
        mixinStandardHelpOptions = true)
final class ServerCommand implements Callable<Integer>, JsonReporter {
    @Spec private CommandSpec spec;
    @Mixin private EndpointOptions options;

    private @Nullable ServerRun server;

    ServerCommand() {
        options = new EndpointOptions();
    }

    @Override
    public boolean json() {
        return options.json;
    }

    @Override
    public ObjectNode document() {
        if (server != null) {
            return server.document();
        }
        return Json.object().put("command", spec.qualifiedName()).put("role", "server");
    }

    @Override
    public Integer call() {
        options.checkEndpoint(true);
        options.checkRocePort();
        server = new ServerRun(options, null, true, new Printer(spec));
        return server.serve();
    }
}
