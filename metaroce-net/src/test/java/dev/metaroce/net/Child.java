package dev.metaroce.net;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A {@link ChildStation} in a process of its own, seen from the test. */
final class Child implements AutoCloseable {
    private static final int PATIENCE_S = 60;

    private final Process process;
    private final BlockingQueue<String> lines = new LinkedBlockingQueue<>();
    private final StringBuffer text = new StringBuffer();

    private Child(Process process) {
        this.process = process;
        read(process.getInputStream());
        read(process.getErrorStream());
    }

    /** Of MetaRoCE. */
    static Child start(Object... arguments) {
        return start(Transport.METAROCE, arguments);
    }

    static Child start(Transport transport, Object... arguments) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(
                List.of(
                        "--enable-native-access=ALL-UNNAMED",
                        "-XX:+UseSerialGC",
                        "-XX:TieredStopAtLevel=1",
                        "-cp",
                        System.getProperty("java.class.path"),
                        ChildStation.class.getName(),
                        transport.name()));
        for (Object argument : arguments) {
            boolean isAddress = argument instanceof InetSocketAddress;
            command.add(
                    isAddress
                            ? ChildStation.text((InetSocketAddress) argument)
                            : argument.toString());
        }
        try {
            return new Child(new ProcessBuilder(command).start());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void read(InputStream stream) {
        Thread.ofVirtual()
                .start(
                        () -> {
                            try (BufferedReader in =
                                    new BufferedReader(
                                            new InputStreamReader(
                                                    stream, StandardCharsets.UTF_8))) {
                                for (String line = in.readLine();
                                        line != null;
                                        line = in.readLine()) {
                                    text.append(line).append('\n');
                                    lines.add(line);
                                }
                            } catch (IOException e) {
                                text.append(e).append('\n');
                            }
                        });
    }

    /** Waits for a line, of either stream, that contains the pattern; skips those before it. */
    Matcher await(String pattern) {
        Pattern wanted = Pattern.compile(pattern);
        long endNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_S);
        try {
            while (true) {
                String line = lines.poll(endNs - System.nanoTime(), TimeUnit.NANOSECONDS);
                if (line == null) {
                    throw new AssertionError("no line with '" + pattern + "' came: " + text);
                }
                Matcher match = wanted.matcher(line);
                if (match.find()) {
                    return match;
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted", e);
        }
    }

    /** Where a station that serves is. */
    InetSocketAddress awaitAddress() {
        return ChildStation.address(await("^at (\\S+)$").group(1));
    }

    /** Gives the child a line to react to. */
    Child nudge() {
        try {
            process.getOutputStream().write('\n');
            process.getOutputStream().flush();
            return this;
        } catch (IOException e) {
            throw new UncheckedIOException(text.toString(), e);
        }
    }

    /** All it printed so far. */
    String text() {
        return text.toString();
    }

    /** Sends a signal by name: STOP, CONT. */
    void signal(String name) {
        try {
            String command = "kill -" + name + " " + process.pid();
            int exitCode = new ProcessBuilder("sh", "-c", command).start().waitFor();
            if (exitCode != 0) {
                throw new AssertionError(command + " ended with " + exitCode);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted", e);
        }
    }

    /** Signal 9, and waits until the process is gone with its sockets. */
    void kill() {
        process.destroyForcibly();
        process.onExit().join();
    }

    @Override
    public void close() {
        kill();
    }
}
