package dev.metaroce.tools;

import org.junit.jupiter.api.Assertions;

import tools.jackson.core.StreamReadFeature;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The packaged jar in a process of its own. Waits are for lines and for the end, always bounded; a
 * wait that fails shows everything the process printed.
 */
public final class Tool implements AutoCloseable {
    private static final String END = "\u0000end";

    private final Process process;
    private final String what;
    private final Output out;
    private final Output err;

    private Tool(Process process, String what) {
        this.process = process;
        this.what = what;
        out = new Output(process.getInputStream());
        err = new Output(process.getErrorStream());
    }

    /** Runs {@code metaroce} with the arguments. */
    public static Tool start(String... arguments) {
        return start(List.of(), List.of(arguments));
    }

    /** Runs it with options for the JVM. */
    public static Tool start(List<String> jvmOptions, List<String> arguments) {
        return start(List.of(), jar(), jvmOptions, arguments);
    }

    /**
     * Runs it by way of another program.
     *
     * @param launcher program and arguments before the command line of Java, such as {@code prlimit
     *     --nofile=64}; it must become the Java process and not start it
     * @param jar the jar to run
     */
    public static Tool start(
            List<String> launcher, String jar, List<String> jvmOptions, List<String> arguments) {
        List<String> options = new ArrayList<>(jvmOptions);
        options.addAll(List.of("-jar", jar));
        return launch(launcher, options, arguments);
    }

    /** Runs a program of the tests by way of another program, with what the tests have on hand. */
    public static Tool start(List<String> launcher, Class<?> program, String... arguments) {
        List<String> options =
                List.of("-cp", System.getProperty("java.class.path"), program.getName());
        return launch(launcher, options, List.of(arguments));
    }

    private static Tool launch(
            List<String> launcher, List<String> options, List<String> arguments) {
        List<String> command = new ArrayList<>(launcher);
        command.add(java().toString());
        command.add("--enable-native-access=ALL-UNNAMED");
        command.add("-XX:+UseSerialGC");
        command.addAll(options);
        command.addAll(arguments);
        try {
            return new Tool(new ProcessBuilder(command).start(), String.join(" ", arguments));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The Java that runs the tests. */
    public static Path java() {
        return Path.of(System.getProperty("java.home"), "bin", "java");
    }

    public static String jar() {
        return System.getProperty("metaroce.jar", "target/metaroce.jar");
    }

    /** Waits for a line of standard output that contains the pattern, and returns the match. */
    public Matcher awaitOut(String pattern, int seconds) {
        return await(out, pattern, seconds);
    }

    /** The same on standard error. */
    public Matcher awaitErr(String pattern, int seconds) {
        return await(err, pattern, seconds);
    }

    private Matcher await(Output output, String pattern, int seconds) {
        Matcher match = output.await(Pattern.compile(pattern), seconds);
        if (match == null) {
            throw new AssertionError("no line with '" + pattern + "' came: " + this);
        }
        return match;
    }

    /** The port in the line with which a server says that it listens. */
    public int awaitPort() {
        Matcher line = awaitOut("listening on UDP \\S+:(\\d+),", 30);
        return Integer.parseInt(line.group(1));
    }

    /** Waits for the end and for the rest of the output. */
    public int awaitExit(int seconds) {
        try {
            if (!process.waitFor(seconds, TimeUnit.SECONDS)) {
                throw new AssertionError("still running after " + seconds + " s: " + this);
            }
            out.awaitEnd();
            err.awaitEnd();
            return process.exitValue();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted", e);
        }
    }

    /** Waits for exit code 0 and returns standard output. */
    public String awaitSuccess(int seconds) {
        int exitCode = awaitExit(seconds);
        Assertions.assertEquals(0, exitCode, this::toString);
        return out.text();
    }

    /** Standard output as the one JSON document that it must be. */
    public JsonNode json() {
        return json(out.text());
    }

    /** Text as the one JSON document that it must be, read strictly. */
    public static JsonNode json(String text) {
        JsonMapper strict =
                JsonMapper.builder()
                        .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
                        .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
                        .build();
        return strict.readTree(text);
    }

    public String out() {
        return out.text();
    }

    public String err() {
        return err.text();
    }

    public Process process() {
        return process;
    }

    @Override
    public String toString() {
        return what + "\n--- out ---\n" + out.text() + "--- err ---\n" + err.text();
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }

    /** Reads one stream to its end. */
    private static final class Output {
        private final BlockingQueue<String> lines = new LinkedBlockingQueue<>();
        private final StringBuffer text = new StringBuffer();
        private final Thread reader;

        Output(InputStream stream) {
            reader = Thread.ofVirtual().start(() -> read(stream));
        }

        private void read(InputStream stream) {
            try (BufferedReader in =
                    new BufferedReader(new InputStreamReader(stream, StandardCharsets.UTF_8))) {
                for (String line = in.readLine(); line != null; line = in.readLine()) {
                    text.append(line).append('\n');
                    lines.add(line);
                }
            } catch (IOException e) {
                text.append(e).append('\n');
            }
            lines.add(END);
        }

        Matcher await(Pattern pattern, int seconds) {
            long endNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
            try {
                while (true) {
                    String line = lines.poll(endNs - System.nanoTime(), TimeUnit.NANOSECONDS);
                    if (line == null || line.equals(END)) {
                        return null;
                    }
                    Matcher match = pattern.matcher(line);
                    if (match.find()) {
                        return match;
                    }
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return null;
            }
        }

        void awaitEnd() throws InterruptedException {
            reader.join(10_000);
        }

        String text() {
            return text.toString();
        }
    }
}
