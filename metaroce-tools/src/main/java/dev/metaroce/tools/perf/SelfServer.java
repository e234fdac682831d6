package dev.metaroce.tools.perf;

import dev.metaroce.net.Transport;
import dev.metaroce.tools.cli.ChildJvm;
import dev.metaroce.tools.cli.Choice;
import dev.metaroce.tools.cli.ToolException;
import dev.metaroce.tools.cli.TransportName;
import dev.metaroce.tools.link.Endpoint;
import dev.metaroce.tools.link.SocketOptions;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** The server of {@code --self}: a second JVM on a free port of the loopback address. */
final class SelfServer implements AutoCloseable {
    private static final long EXIT_SECONDS = 10;

    private final Process process;
    private final BufferedReader output;
    private final int port;

    private SelfServer(Process process, BufferedReader output, int port) {
        this.process = process;
        this.output = output;
        this.port = port;
    }

    /** Starts it and waits until it listens. */
    static SelfServer start(PerfTest test, PerfOptions options, SocketOptions sockets) {
        List<String> arguments = new ArrayList<>();
        arguments.addAll(List.of("perf", test.command(), "--end-with-parent"));
        if (options.transport == Transport.METAROCE) {
            arguments.addAll(List.of("--port", "0"));
        }
        arguments.addAll(List.of("--bind", address(options)));
        arguments.addAll(sockets.arguments());
        String transport = TransportName.label(options.transport);
        arguments.addAll(List.of("--transport", transport));
        arguments.addAll(List.of("--qp-timeout", options.qpTimeout + ""));
        arguments.addAll(List.of("--drive", Choice.label(options.drive)));
        if (options.mtu != null) {
            arguments.addAll(List.of("--mtu", options.mtu.toString()));
        }
        if (options.paths != null) {
            arguments.addAll(List.of("--paths", options.paths.toString()));
        }
        Process process = ChildJvm.start(arguments);
        BufferedReader output = process.inputReader(StandardCharsets.UTF_8);
        String line;
        try {
            line = output.readLine();
        } catch (IOException e) {
            line = null;
        }
        if (line == null) {
            throw ToolException.environment(
                    "the server that --self started ended at once with exit code "
                            + exitCode(process)
                            + "; its own message is above");
        }
        return new SelfServer(process, output, ServerRun.portOf(line));
    }

    /** Where it listens. */
    static String address(PerfOptions options) {
        if (options.transport == Transport.ROCE_V2) {
            return Endpoint.ownLoopback(1);
        }
        return options.ipv6 ? "::1" : "127.0.0.1";
    }

    int port() {
        return port;
    }

    /** Waits for its regular end. */
    void awaitExit() {
        int code = exitCode(process);
        if (code != 0) {
            throw ToolException.failed(
                    "the server that --self started ended with exit code " + code);
        }
    }

    private static int exitCode(Process process) {
        try {
            if (process.waitFor(EXIT_SECONDS, TimeUnit.SECONDS)) {
                return process.exitValue();
            }
            process.destroyForcibly();
            throw ToolException.failed(
                    "the server that --self started did not end within " + EXIT_SECONDS + " s");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw ToolException.failed("interrupted");
        }
    }

    @Override
    public void close() {
        process.destroy();
        try {
            output.close();
        } catch (IOException e) {
            // The process is gone; nothing is lost.
        }
    }
}
