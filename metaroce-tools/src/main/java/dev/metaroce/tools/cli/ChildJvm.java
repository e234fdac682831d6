package dev.metaroce.tools.cli;

import dev.metaroce.net.OpenFiles;

import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Starts this program a second time, in a process of its own: same Java, same options, same jar.
 *
 * <p>The child's standard input is a pipe that nobody writes to; a child that calls {@link
 * #endWithParent} ends when the pipe closes, so that no process is left over however the parent
 * dies.
 */
public final class ChildJvm {
    /** What it takes to start a process, roughly. */
    private static final int FILES = 16;

    private ChildJvm() {}

    /** Runs the {@code metaroce} command with the arguments; its standard error is ours. */
    public static Process start(List<String> arguments) {
        List<String> command = new ArrayList<>(javaAndOptions());
        command.add("dev.metaroce.tools.MetaRoce");
        command.addAll(arguments);
        return start(command, "a second Java process");
    }

    /** Runs a single-file Java program against this program's classes, with our own streams. */
    public static Process startSource(Path source, List<String> arguments) {
        List<String> command = new ArrayList<>(javaAndOptions());
        command.add(source.toString());
        command.addAll(arguments);
        ProcessBuilder builder = new ProcessBuilder(command).inheritIO();
        try {
            return builder.start();
        } catch (IOException e) {
            throw cannotStart(source.toString(), e);
        }
    }

    private static List<String> javaAndOptions() {
        String home = System.getProperty("java.home");
        List<String> command = new ArrayList<>();
        command.add(home + File.separator + "bin" + File.separator + "java");
        command.add("--enable-native-access=ALL-UNNAMED");
        command.add("-XX:+UseParallelGC");
        command.add("-cp");
        command.add(System.getProperty("java.class.path"));
        return command;
    }

    private static Process start(List<String> command, String what) {
        ProcessBuilder builder = new ProcessBuilder(command);
        builder.redirectError(ProcessBuilder.Redirect.INHERIT);
        try {
            Process child = builder.start();
            Runtime.getRuntime().addShutdownHook(new Thread(child::destroyForcibly));
            return child;
        } catch (IOException e) {
            throw cannotStart(what, e);
        }
    }

    private static ToolException cannotStart(String what, IOException e) {
        // The JDK adds guesses about itself, on lines of their own.
        String reason = String.valueOf(e.getMessage()).lines().findFirst().orElse("").strip();
        String advice = OpenFiles.areTooFew(FILES) ? ": " + OpenFiles.advice(FILES) : "";
        return ToolException.environment("cannot start " + what + ": " + reason + advice);
    }

    /** Ends this process as soon as its standard input does. */
    public static void endWithParent() {
        Thread watch = new Thread(ChildJvm::awaitEndOfInput, "parent-watch");
        watch.setDaemon(true);
        watch.start();
    }

    private static void awaitEndOfInput() {
        try {
            while (System.in.read() >= 0) {
                // Nothing is expected; only the end matters.
            }
        } catch (IOException e) {
            // A broken pipe says the same as its end.
        }
        Runtime.getRuntime().halt(ExitCode.FAILED);
    }
}
