package dev.metaroce.tools;

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
        versionProvider = MetaRoce.Version.class)
public final class MetaRoce implements Runnable {
    @Spec private CommandSpec spec;

    public static void main(String[] args) {
        System.exit(new CommandLine(new MetaRoce()).execute(args));
    }

    @Override
    public void run() {
        spec.commandLine().usage(spec.commandLine().getOut());
    }

    /** Reads the version that the build wrote into the jar's manifest. */
    static final class Version implements IVersionProvider {
        @Override
        public String[] getVersion() {
            String version = MetaRoce.class.getPackage().getImplementationVersion();
            return new String[] {"metaroce " + (version == null ? "(unpackaged)" : version)};
        }
    }
}
