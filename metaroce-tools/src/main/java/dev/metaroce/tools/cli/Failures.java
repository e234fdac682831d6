package dev.metaroce.tools.cli;

import dev.metaroce.net.OpenFiles;

import picocli.CommandLine;
import picocli.CommandLine.IExecutionExceptionHandler;
import picocli.CommandLine.IParameterExceptionHandler;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.UnmatchedArgumentException;

import tools.jackson.databind.node.ObjectNode;

import java.util.Arrays;
import java.util.List;

/**
 * Turns every failure of a command into one line on standard error and an exit code. With {@code
 * --json} the document on standard output says the same in its {@code error}.
 */
public final class Failures {
    /** Set to anything to see the stack trace of a failure as well. */
    public static final String TRACE_VARIABLE = "METAROCE_TRACE";

    /** Fewer free files than this make Java itself fail. */
    private static final int FILES_MIN = 4;

    private Failures() {}

    /** Installs both handlers on a command and, as picocli does, on all its subcommands. */
    public static CommandLine install(CommandLine command) {
        IParameterExceptionHandler parsing = Failures::onParameters;
        IExecutionExceptionHandler running = (e, failed, parsed) -> onExecution(e, failed);
        return command.setParameterExceptionHandler(parsing).setExecutionExceptionHandler(running);
    }

    private static int onParameters(ParameterException e, String[] arguments) {
        CommandLine command = e.getCommandLine();
        String name = command.getCommandSpec().qualifiedName();
        String message = oneLine(messageOf(e)) + hint(e, name);
        boolean json = wantsDocument(command, arguments);
        report(command, message, ExitCode.USAGE, json ? Json.object() : null);
        return ExitCode.USAGE;
    }

    /** Some commands have the document in a file that follows, and on standard output for "-". */
    private static boolean wantsDocument(CommandLine command, String[] arguments) {
        List<String> words = Arrays.asList(arguments);
        int at = words.indexOf("--json");
        OptionSpec option = command.getCommandSpec().findOption("--json");
        boolean hasFile = option != null && option.arity().max() > 0;
        return at >= 0 && (!hasFile || words.subList(at + 1, words.size()).indexOf("-") == 0);
    }

    private static int onExecution(Exception e, CommandLine command) {
        if (System.getenv(TRACE_VARIABLE) != null) {
            e.printStackTrace(command.getErr());
        }
        int exitCode = ExitCode.FAILED;
        String message;
        if (e instanceof ToolException known) {
            exitCode = known.exitCode();
            message = messageOf(known);
        } else {
            message = "unexpected " + e + "; set " + TRACE_VARIABLE + "=1 for its stack trace";
        }
        ObjectNode document = null;
        if (command.getCommand() instanceof JsonReporter reporter && reporter.json()) {
            document = reporter.document();
        }
        report(command, oneLine(message), exitCode, document);
        return exitCode;
    }

    /** The machine did not give Java what it needs to go on. */
    public static int onStarvation(Error e, CommandLine command, String[] arguments) {
        if (System.getenv(TRACE_VARIABLE) != null) {
            e.printStackTrace(command.getErr());
        }
        Throwable root = e;
        while (root.getCause() != null) {
            root = root.getCause();
        }
        String advice = OpenFiles.areTooFew(FILES_MIN) ? ": " + OpenFiles.advice(FILES_MIN) : "";
        boolean json = wantsDocument(command, arguments);
        report(
                command,
                oneLine("Java cannot go on: " + root + advice),
                ExitCode.ENVIRONMENT,
                json ? Json.object() : null);
        return ExitCode.ENVIRONMENT;
    }

    private static void report(
            CommandLine command,
            String message,
            int exitCode,
            @org.jspecify.annotations.Nullable ObjectNode document) {
        String name = command.getCommandSpec().qualifiedName();
        if (document != null) {
            if (!document.has("command")) {
                document.put("command", name);
            }
            document.put("error", message);
            document.put("exit_code", exitCode);
            command.getOut().println(Json.pretty(document));
            command.getOut().flush();
        }
        command.getErr().println(name + ": " + message);
        command.getErr().flush();
    }

    private static String hint(ParameterException e, String name) {
        String help = " (see '" + name + " --help')";
        if (e instanceof UnmatchedArgumentException unmatched) {
            List<String> near = unmatched.getSuggestions();
            if (!near.isEmpty()) {
                return ", did you mean " + String.join(" or ", near) + "?" + help;
            }
        }
        return help;
    }

    private static String messageOf(Exception e) {
        String message = e.getMessage();
        return message == null ? e.toString() : message;
    }

    private static String oneLine(String message) {
        return message.strip().replaceAll("\\s*\\R\\s*", "; ");
    }
}
