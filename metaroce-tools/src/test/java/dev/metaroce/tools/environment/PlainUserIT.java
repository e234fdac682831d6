package dev.metaroce.tools.environment;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.tools.Tool;

import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A user without any privilege can do everything. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class PlainUserIT {
    /** The user nobody, with nothing left that a program could gain by. */
    private static final List<String> NOBODY =
            List.of(
                    "setpriv",
                    "--reuid=65534",
                    "--regid=65534",
                    "--clear-groups",
                    "--inh-caps=-all",
                    "--bounding-set=-all",
                    "--no-new-privs");

    @TempDir private Path directory;
    private Path jar;
    private List<String> launcher = List.of();

    /** Tests that are not run by root are run by a plain user already. */
    @BeforeEach
    void becomeNobody() throws IOException {
        // What others may read: neither the checkout nor the temporary directory need be.
        Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxr-xr-x"));
        jar = Files.copy(Path.of(Tool.jar()), directory.resolve("metaroce.jar"));
        Files.setPosixFilePermissions(jar, PosixFilePermissions.fromString("rw-r--r--"));
        if (Shell.run("id", "-u").output().strip().equals("0")) {
            launcher = NOBODY;
            Shell.Result java = run(Tool.java().toString(), "-version");
            Assumptions.assumeTrue(
                    java.exitCode() == 0, () -> "needs a Java that everybody may run: " + java);
        }
        assertThat(run("grep", "CapEff", "/proc/self/status").output())
                .containsPattern("\\s0000000000000000\\s");
    }

    private Shell.Result run(String... command) {
        List<String> all = new ArrayList<>(launcher);
        all.addAll(List.of(command));
        return Shell.run(all);
    }

    private Tool start(String... arguments) {
        return Tool.start(launcher, jar.toString(), List.of(), List.of(arguments));
    }

    /** What this machine does not grant is told in a line each, before anything else happens. */
    private static void expectNotesOnly(Tool tool) {
        assertThat(tool.err().lines()).allMatch(line -> line.startsWith("metaroce "));
        assertThat(tool.err().lines()).doesNotHaveDuplicates();
    }

    @ParameterizedTest
    @ValueSource(strings = {"write-bw", "send-lat"})
    void bandwidthAndLatencyTestsWork_E05(String test) {
        try (Tool perf = start("perf", test, "--self", "-n", "50", "--warm-up", "0", "--json")) {
            assertThat(perf.awaitExit(60)).as(perf::toString).isZero();
            assertThat(perf.json().get("error").isNull()).isTrue();
            expectNotesOnly(perf);
        }
    }

    @Test
    void demoRelayAndDevinfoWork_E05() {
        try (Tool demo = start("demo", "--size", "1M")) {
            assertThat(demo.awaitSuccess(60)).containsPattern("SHA-256 +equal +equal");
        }
        try (Tool relay =
                start("relay", "--listen", "127.0.0.1:0", "--to", "127.0.0.1:9", "-D", "1")) {
            assertThat(relay.awaitSuccess(60)).contains("black-holed");
        }
        try (Tool devinfo = start("devinfo")) {
            assertThat(devinfo.awaitSuccess(60)).contains("receive contexts");
            expectNotesOnly(devinfo);
        }
    }

    @Test
    void aPortOfTheSystemIsRefusedInOneLine_E05() {
        Shell.Result first = Shell.run("cat", "/proc/sys/net/ipv4/ip_unprivileged_port_start");
        Assumptions.assumeTrue(
                first.output().strip().equals("1024"),
                () -> "every port is for everybody: " + first);
        try (Tool server = start("perf", "write-bw", "-p", "7")) {
            assertThat(server.awaitExit(60)).as(server::toString).isEqualTo(3);
            assertThat(server.err().lines()).hasSize(1);
            assertThat(server.err()).contains("port 7").contains("choose a port above 1023");
        }
    }
}
