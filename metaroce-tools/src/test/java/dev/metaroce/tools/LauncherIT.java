package dev.metaroce.tools;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/** The script {@code metaroce} looks for a JDK that is new enough. */
@Timeout(60)
class LauncherIT {
    private static final Path SCRIPT = Path.of("..", "metaroce").toAbsolutePath().normalize();

    private record Result(int exitCode, String out, String err) {}

    @TempDir private Path directory;

    private static Result run(Path javaHome, Path home, String... command)
            throws IOException, InterruptedException {
        ProcessBuilder builder = new ProcessBuilder(command);
        builder.environment().put("JAVA_HOME", javaHome.toString());
        builder.environment().put("HOME", home.toString());
        Process process = builder.start();
        String out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        String err = new String(process.getErrorStream().readAllBytes(), StandardCharsets.UTF_8);
        return new Result(process.waitFor(), out, err);
    }

    /** What looks like a JDK of a version, as far as the script looks. */
    private Path fakeJdk(String name, int version) throws IOException {
        Path home = Files.createDirectories(directory.resolve(name));
        Files.writeString(home.resolve("release"), "JAVA_VERSION=\"" + version + ".0.1\"\n");
        Path java = Files.createDirectories(home.resolve("bin")).resolve("java");
        Files.writeString(java, "#!/bin/sh\nexit 77\n");
        assertThat(java.toFile().setExecutable(true)).isTrue();
        return home;
    }

    @Test
    void aJavaHomeThatIsTooOldIsPassedOver_J03() throws Exception {
        Path old = fakeJdk("old", 17);
        Result result = run(old, directory, SCRIPT.toString(), "--find-jdk");

        assertThat(result.exitCode()).as(result.err()).isZero();
        assertThat(result.out().strip()).isNotEqualTo(old.toString());
        assertThat(Path.of(result.out().strip(), "bin", "java")).isExecutable();
    }

    @Test
    void aJavaHomeThatIsNewEnoughIsTaken_J03() throws Exception {
        Path recent = fakeJdk("recent", 25);
        Result result = run(recent, directory, SCRIPT.toString(), "--find-jdk");

        assertThat(result.out().strip()).isEqualTo(recent.toString());
    }

    /** In a mount namespace of its own the usual places are empty, but for an old JDK. */
    @Test
    void withoutAnyThatIsNewEnoughThereIsOneLine_J03() throws Exception {
        String hide = "mount -t tmpfs none /usr/lib/jvm && ";
        Result can = run(directory, directory, "unshare", "-m", "sh", "-c", hide + "true");
        Assumptions.assumeTrue(
                can.exitCode() == 0, () -> "needs a mount namespace (root): " + can.err());
        Result result =
                run(
                        fakeJdk("old", 17),
                        directory,
                        "unshare",
                        "-m",
                        "sh",
                        "-c",
                        hide + "PATH=/usr/bin:/bin " + SCRIPT + " --version");
        Assumptions.assumeTrue(
                result.exitCode() != 0, () -> "there is a JDK in another place: " + result.out());

        assertThat(result.exitCode()).isEqualTo(3);
        assertThat(result.out()).isEmpty();
        assertThat(result.err())
                .hasLineCount(1)
                .contains("needs JDK 25 or newer and found none")
                .contains("JAVA_HOME");
    }
}
