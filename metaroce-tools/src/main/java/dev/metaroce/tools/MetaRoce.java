package dev.metaroce.tools;

import dev.metaroce.tools.cli.ExitCode;
import dev.metaroce.tools.cli.Failures;
import dev.metaroce.tools.connections.ConnectionsCommand;
import dev.metaroce.tools.demo.DemoCommand;
import dev.metaroce.tools.demo.DemoReceiverCommand;
import dev.metaroce.tools.example.ExampleCommand;
import dev.metaroce.tools.info.DevInfoCommand;
import dev.metaroce.tools.perf.PerfCommand;
import dev.metaroce.tools.relay.RelayCommand;
import dev.metaroce.tools.sim.SimCommand;
import dev.metaroce.tools.study.StudyCommand;
import dev.metaroce.tools.swarm.SwarmCommand;

import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.IVersionProvider;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** Entry point of the {@code metaroce} command. */
@Command(
        name = "metaroce",
        description = "RDMA over UDP, in Java.",
        mixinStandardHelpOptions = true,
        versionProvider = MetaRoce.Version.class,
        subcommands = {
            DemoCommand.class,
            PerfCommand.class,
            DevInfoCommand.class,
            RelayCommand.class,
            SimCommand.class,
            StudyCommand.class,
            SwarmCommand.class,
            ConnectionsCommand.class,
            ExampleCommand.class,
            DemoReceiverCommand.class
        },
        footer = {
            "",
            "Exit codes: 0 done, 1 failed while running, 2 wrong command line or input,",
            "3 the machine does not allow it, 4 result beyond a threshold."
        })
public final class MetaRoce implements Runnable {
    @Spec private CommandSpec spec;

    public static void main(String[] args) {
        System.exit(run(commandLine(), args));
    }

    /** A JVM that lacks memory, files or libraries throws errors, which picocli lets through. */
    private static int run(CommandLine line, String[] args) {
        try {
            return line.execute(args);
        } catch (LinkageError | OutOfMemoryError e) {
            return Failures.onStarvation(e, line, args);
        }
    }

    /** The command with its error handling, as {@link #main} runs it; for tests too. */
    public static CommandLine commandLine() {
        CommandLine line = new CommandLine(new MetaRoce());
        line.setUsageHelpAutoWidth(true);
        line.setExecutionStrategy(new CommandLine.RunLast());
        line.setExitCodeExceptionMapper(e -> ExitCode.FAILED);
        return Failures.install(line);
    }

    /** Version as the build wrote it into the jar. */
    public static String version() {
        String version = MetaRoce.class.getPackage().getImplementationVersion();
        return version == null ? "(unpackaged)" : version;
    }

    @Override
    public void run() {
        spec.commandLine().usage(spec.commandLine().getOut());
    }

    /** Reads the version that the build wrote into the jar's manifest. */
    static final class Version implements IVersionProvider {
        @Override
        public String[] getVersion() {
            return new String[] {"metaroce " + version()};
        }
    }
}
