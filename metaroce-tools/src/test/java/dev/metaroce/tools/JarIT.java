package dev.metaroce.tools;

import static org.assertj.core.api.Assertions.assertThat;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.jar.JarFile;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

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

    @Test
    void anOlderJavaSaysWhatItLacksInOneLine_J03() throws IOException, InterruptedException {
        Path old = olderJava();
        Assumptions.assumeTrue(old != null, "needs a Java of version 11 to 24 in /usr/lib/jvm");
        Process process =
                new ProcessBuilder(
                                old.toString(),
                                "-jar",
                                System.getProperty("metaroce.jar"),
                                "perf",
                                "--help")
                        .start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        String errors = new String(process.getErrorStream().readAllBytes(), StandardCharsets.UTF_8);

        assertThat(process.waitFor()).as(errors).isEqualTo(3);
        assertThat(output).isEmpty();
        assertThat(errors)
                .hasLineCount(1)
                .startsWith("metaroce: needs Java 25 or newer, and this is Java ")
                .contains("JDK 25");
    }

    private static @Nullable Path olderJava() throws IOException {
        Path usual = Path.of("/usr/lib/jvm");
        if (!Files.isDirectory(usual)) {
            return null;
        }
        try (Stream<Path> homes = Files.list(usual)) {
            return homes.filter(JarIT::isOlder)
                    .findFirst()
                    .map(h -> h.resolve("bin/java"))
                    .orElse(null);
        }
    }

    private static boolean isOlder(Path home) {
        try {
            String release = Files.readString(home.resolve("release"));
            Matcher version = Pattern.compile("JAVA_VERSION=\"(\\d+)").matcher(release);
            int feature = version.find() ? Integer.parseInt(version.group(1)) : 0;
            return feature >= 11 && feature < 25 && Files.isExecutable(home.resolve("bin/java"));
        } catch (IOException e) {
            return false;
        }
    }

    /** Only the first class may be for older Javas: the others need what this one has. */
    @Test
    void theClassTheJarStartsWithIsForJava11_J03() throws IOException {
        try (JarFile jar = new JarFile(System.getProperty("metaroce.jar"))) {
            assertThat(classFileVersion(jar, "dev/metaroce/start/Start.class")).isEqualTo(55);
            assertThat(classFileVersion(jar, "dev/metaroce/tools/MetaRoce.class")).isEqualTo(69);
        }
    }

    private static int classFileVersion(JarFile jar, String entry) throws IOException {
        try (InputStream in = jar.getInputStream(jar.getEntry(entry))) {
            byte[] head = in.readNBytes(8);
            return head[6] << 8 | head[7];
        }
    }
}
