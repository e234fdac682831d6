package dev.metaroce.tools;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
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
}
