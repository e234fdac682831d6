package dev.metaroce.tools.perf;

import dev.metaroce.tools.cli.ExitCode;
import dev.metaroce.tools.cli.Json;
import dev.metaroce.tools.cli.JsonReporter;
import dev.metaroce.tools.link.Endpoint;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

import tools.jackson.databind.node.ObjectNode;

import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

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
        options.checkEndpoint();
        EndpointOptions.refuse(
                options.port == 0, "-p/--port 0 is for the server: give the port it printed");
        PingRun run =
                new PingRun(
                        options,
                        Endpoint.resolve(options.host, options.port, options.family()),
                        new Printer(spec));
        CountDownLatch told = new CountDownLatch(1);
        int[] exitCode = {ExitCode.FAILED};
        // After the interrupt the JVM waits for hooks only, and its exit code would be the
        // signal's: the hook waits for the summary and ends the process with the run's own code.
        Thread atInterrupt =
                new Thread(
                        () -> {
                            run.stop();
                            await(told);
                            Runtime.getRuntime().halt(exitCode[0]);
                        });
        Runtime.getRuntime().addShutdownHook(atInterrupt);
        try {
            exitCode[0] = run.run();
            return exitCode[0];
        } finally {
            told.countDown();
            try {
                Runtime.getRuntime().removeShutdownHook(atInterrupt);
            } catch (IllegalStateException e) {
                // Shutting down already: the hook ends the process.
            }
        }
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await(FAREWELL_SECONDS, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
