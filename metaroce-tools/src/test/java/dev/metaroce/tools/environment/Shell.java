package dev.metaroce.tools.environment;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Runs a program of the system to its end. */
final class Shell {
    private static final int PATIENCE_S = 20;

    /** What came of it: exit code (127 when there is no such program) and all its output. */
    record Result(String command, int exitCode, String output) {
        /** The output; fails when the program did. */
        String expectSuccess() {
            if (exitCode != 0) {
                throw new AssertionError(this);
            }
            return output;
        }

        @Override
        public String toString() {
            return "'" + command + "' ended with " + exitCode + ": " + output.strip();
        }
    }

    private Shell() {}

    static Result run(List<String> command) {
        return run(PATIENCE_S, command);
    }

    /** Runs it for so many seconds at most. */
    static Result run(int patienceS, List<String> command) {
        String text = String.join(" ", command);
        try {
            Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
            process.getOutputStream().close();
            String output =
                    new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            if (!process.waitFor(patienceS, TimeUnit.SECONDS)) {
                process.destroyForcibly();
                throw new AssertionError("'" + text + "' does not end: " + output);
            }
            return new Result(text, process.exitValue(), output);
        } catch (IOException e) {
            return new Result(text, 127, String.valueOf(e.getMessage()));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new UncheckedIOException(new IOException(text, e));
        }
    }

    static Result run(String... command) {
        return run(List.of(command));
    }
}
