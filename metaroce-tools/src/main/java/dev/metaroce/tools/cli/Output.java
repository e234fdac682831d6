package dev.metaroce.tools.cli;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Model.CommandSpec;

import tools.jackson.databind.node.ObjectNode;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Where the results of a simulating command go: a table for people, a document by {@code --json}.
 */
public final class Output {
    private static final String STANDARD_OUTPUT = "-";

    private final CommandSpec spec;
    private final @Nullable Path json;

    /** For people; null when standard output is for a document. */
    public final @Nullable Terminal out;

    /**
     * @param json the file of {@code --json}, or "-" for standard output; null for no document
     */
    public Output(CommandSpec spec, @Nullable Path json) {
        this.spec = spec;
        this.json = json;
        out = isStandardOutput(json) ? null : Terminal.of(spec.commandLine().getOut());
        if (out != null && json != null) {
            write(json, ""); // a wrong name is told in time
        }
    }

    /** True for the name that stands for standard output. */
    public static boolean isStandardOutput(@Nullable Path json) {
        return json != null && json.toString().equals(STANDARD_OUTPUT);
    }

    public PrintWriter err() {
        return spec.commandLine().getErr();
    }

    /**
     * Writes the document, if there is to be one, and tells what went wrong.
     *
     * @param error one line; empty when all went well
     * @return the exit code
     */
    public int end(ObjectNode document, String error) {
        int exitCode = error.isEmpty() ? ExitCode.OK : ExitCode.FAILED;
        if (error.isEmpty()) {
            document.putNull("error");
        } else {
            document.put("error", error);
            document.put("exit_code", exitCode);
        }
        write(document);
        if (!error.isEmpty()) {
            warn(error);
        }
        return exitCode;
    }

    /** One line on standard error. */
    public void warn(String text) {
        err().println(spec.qualifiedName() + ": " + text);
        err().flush();
    }

    private void write(ObjectNode document) {
        Path path = json;
        if (path == null) {
            return;
        }
        String text = Json.pretty(document) + System.lineSeparator();
        if (out == null) {
            spec.commandLine().getOut().print(text);
            spec.commandLine().getOut().flush();
        } else {
            write(path, text);
        }
    }

    private static void write(Path path, String text) {
        try {
            Files.writeString(path, text);
        } catch (IOException e) {
            throw ToolException.usage(
                    "cannot write --json '%s' (%s): name another file"
                            .formatted(path, e.getClass().getSimpleName()));
        }
    }
}
