package dev.metaroce.tools.study;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code metaroce study}: what the design promises, measured in the simulator. */
@Command(
        name = "study",
        mixinStandardHelpOptions = true,
        header = "Measure what the design promises, in virtual time.",
        description =
                "Each study is a set of simulations with the engine of the other commands. It does"
                        + " not depend on the machine: the same options give the same figures.",
        subcommands = {
            LeasesCommand.class,
            LossCommand.class,
            IncastCommand.class,
            PlanesCommand.class,
            AblationCommand.class,
            FairnessCommand.class,
            RoceCommand.class
        })
public final class StudyCommand implements Runnable {
    @Spec private CommandSpec spec;

    @Override
    public void run() {
        spec.commandLine().usage(spec.commandLine().getOut());
    }
}
