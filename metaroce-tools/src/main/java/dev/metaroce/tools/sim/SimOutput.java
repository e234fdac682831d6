package dev.metaroce.tools.sim;

import dev.metaroce.tools.cli.ExitCode;
import dev.metaroce.tools.cli.Json;
import dev.metaroce.tools.cli.Terminal;
import dev.metaroce.tools.cli.ToolException;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Model.CommandSpec;

import tools.jackson.databind.node.ObjectNode;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;

/** Where the results of {@code metaroce sim} go. */
final class SimOutput {
    private final CommandSpec spec;
    private final OutputOptions options;

    /** For people; null when standard output is for a document. */
    final @Nullable Terminal out;

    SimOutput(CommandSpec spec, OutputOptions options) {
        this.spec = spec;
        this.options = options;
        out = options.isJsonOnly() ? null : Terminal.of(spec.commandLine().getOut());
        if (out != null && options.json != null) {
            write(options.json, ""); // a wrong name is told in time
        }
    }

    PrintWriter err() {
        return spec.commandLine().getErr();
    }

    /**
     * Writes the document, if there is to be one, and tells what went wrong.
     *
     * @param error one line; empty when all went well
     * @return the exit code
     */
    int end(ObjectNode document, String error) {
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
    void warn(String text) {
        err().println(spec.qualifiedName() + ": " + text);
        err().flush();
    }

    private void write(ObjectNode document) {
        Path path = options.json;
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
