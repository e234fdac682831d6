package dev.metaroce.tools.example;

import dev.metaroce.tools.cli.ChildJvm;
import dev.metaroce.tools.cli.ToolException;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.Stream;

/** {@code metaroce example}: compiles and runs one of the single-file programs of a checkout. */
@Command(
        name = "example",
        mixinStandardHelpOptions = true,
        description = "Runs a program of the examples directory; without a name, lists them.")
public final class ExampleCommand implements Callable<Integer> {
    private static final String DIRECTORY = "examples";
    private static final String SUFFIX = ".java";

    @Spec private CommandSpec spec;

    @Parameters(
            index = "0",
            arity = "0..1",
            paramLabel = "NAME",
            description = "File name without .java, or its beginning in any case.")
    private @Nullable String name;

    @Parameters(index = "1..*", paramLabel = "ARGUMENT", description = "Handed to the program.")
    private List<String> arguments = new ArrayList<>();

    @Override
    public Integer call() throws InterruptedException {
        List<Path> programs = programs();
        if (name == null) {
            PrintWriter out = spec.commandLine().getOut();
            programs.forEach(program -> out.println(nameOf(program)));
            return 0;
        }
        String wanted = name.toLowerCase(java.util.Locale.ROOT).replace("-", "");
        List<Path> matching =
                programs.stream()
                        .filter(
                                program ->
                                        nameOf(program)
                                                .toLowerCase(java.util.Locale.ROOT)
                                                .startsWith(wanted))
                        .toList();
        if (matching.size() != 1) {
            throw ToolException.usage(
                    "'%s' names %d examples of %s"
                            .formatted(
                                    name,
                                    matching.size(),
                                    programs.stream().map(ExampleCommand::nameOf).toList()));
        }
        return ChildJvm.startSource(matching.getFirst(), arguments).waitFor();
    }

    private static String nameOf(Path program) {
        String file = program.getFileName().toString();
        return file.substring(0, file.length() - SUFFIX.length());
    }

    private static List<Path> programs() {
        Path directory = directory();
        try (Stream<Path> files = Files.list(directory)) {
            return files.filter(file -> file.toString().endsWith(SUFFIX)).sorted().toList();
        } catch (IOException e) {
            throw ToolException.environment("cannot list " + directory + ": " + e.getMessage());
        }
    }

    /** Beside the jar's checkout, or under the working directory. */
    private static Path directory() {
        Path jar = Path.of(System.getProperty("java.class.path")).toAbsolutePath();
        for (Path at = jar.getParent(); at != null; at = at.getParent()) {
            if (Files.isDirectory(at.resolve(DIRECTORY))) {
                return at.resolve(DIRECTORY);
            }
        }
        Path here = Path.of(DIRECTORY);
        if (Files.isDirectory(here)) {
            return here;
        }
        throw ToolException.environment(
                "found no directory '" + DIRECTORY + "': run this in a checkout of the project");
    }
}
