package dev.metaroce.tools;

import picocli.CommandLine;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;

/** Runs a command in this JVM, as main would, and keeps what it printed. */
public record InProcess(int exitCode, String out, String err) {
    public static InProcess run(String... arguments) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        CommandLine line = MetaRoce.commandLine();
        line.setOut(new PrintWriter(out));
        line.setErr(new PrintWriter(err));
        int exitCode = line.execute(arguments);
        return new InProcess(exitCode, out.toString(), err.toString());
    }

    public static InProcess run(List<String> arguments) {
        return run(arguments.toArray(String[]::new));
    }

    public List<String> errLines() {
        return err.lines().toList();
    }
}
