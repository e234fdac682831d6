package dev.metaroce.tools.demo;

import dev.metaroce.tools.cli.ChildJvm;
import dev.metaroce.tools.cli.ToolException;
import dev.metaroce.wire.Profile;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** The receiver of the demo: a second JVM whose lines are read by a thread of this one. */
final class ReceiverProcess implements AutoCloseable {
    private final Process process;
    private final BufferedReader lines;
    private final int port;

    private ReceiverProcess(Process process, BufferedReader lines, int port) {
        this.process = process;
        this.lines = lines;
        this.port = port;
    }

    static ReceiverProcess start(Profile profile, long bytes) {
        Process process =
                ChildJvm.start(
                        List.of(
                                DemoReceiverCommand.NAME,
                                "--profile",
                                profile.name(),
                                "--bytes",
                                Long.toString(bytes)));
        BufferedReader lines = process.inputReader(StandardCharsets.UTF_8);
        String first = null;
        try {
            first = lines.readLine();
        } catch (IOException e) {
            // Same as no line.
        }
        if (first == null || !first.startsWith(DemoReceiverCommand.PORT)) {
            process.destroy();
            throw ToolException.environment("the receiver process did not start: see above");
        }
        String port = first.substring(DemoReceiverCommand.PORT.length());
        return new ReceiverProcess(process, lines, Integer.parseInt(port.strip()));
    }

    int port() {
        return port;
    }

    long pid() {
        return process.pid();
    }

    /** Hands every further line to the life line, on a thread of its own. */
    void follow(LifeLine lifeLine) {
        Thread.ofVirtual().name("receiver-lines").start(() -> read(lifeLine));
    }

    private void read(LifeLine lifeLine) {
        try {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                lifeLine.accept(line);
            }
        } catch (IOException e) {
            // The process ended; whoever waits for its answer notices.
        }
    }

    boolean isAlive() {
        return process.isAlive();
    }

    @Override
    public void close() {
        process.destroy();
        try {
            if (!process.waitFor(5, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }
}
