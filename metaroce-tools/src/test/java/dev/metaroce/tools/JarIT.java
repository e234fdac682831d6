package dev.metaroce.tools;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The executable jar, started as users start it. */
class JarIT {
    private static final Path JAVA = Path.of(System.getProperty("java.home"), "bin", "java");

    @Test
    void versionIsPrintedAndNothingElse() throws IOException, InterruptedException {
        Process process =
                new ProcessBuilder(
                                List.of(
                                        JAVA.toString(),
                                        "-jar",
                                        System.getProperty("metaroce.jar"),
                                        "--version"))
                        .redirectErrorStream(true)
                        .start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);

        assertThat(output).startsWith("metaroce ").doesNotContain("WARNING").hasLineCount(1);
        assertThat(process.waitFor()).isZero();
    }

    @Test
    void withoutNativeAccessJavaNioDoesItAndOneLineSaysSo_J03()
            throws IOException, InterruptedException {
        List<String> command = new ArrayList<>();
        command.add(JAVA.toString());
        command.addAll(List.of("--illegal-native-access=deny", "-cp"));
        command.addAll(List.of(System.getProperty("metaroce.jar"), "dev.metaroce.tools.MetaRoce"));
        command.addAll(List.of("perf", "write-bw", "--self", "-n", "100", "--warm-up", "0"));
        Process process = new ProcessBuilder(command).start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        String errors = new String(process.getErrorStream().readAllBytes(), StandardCharsets.UTF_8);

        assertThat(process.waitFor()).as(errors).isZero();
        assertThat(output).contains("data at the server: intact");
        assertThat(errors)
                .containsOnlyOnce(
                        "java.nio sockets, slower, no ECN: native access is not permitted")
                .contains("--enable-native-access=ALL-UNNAMED");
    }
}
