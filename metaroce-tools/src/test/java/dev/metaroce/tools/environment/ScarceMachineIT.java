package dev.metaroce.tools.environment;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.tools.Tool;

import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Limits so tight that most things still work, or that nothing does. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class ScarceMachineIT {
    private static final List<String> SELF =
            List.of("perf", "write-bw", "--self", "-n", "50", "--warm-up", "0");

    private static Tool start(List<String> launcher, List<String> arguments) {
        return Tool.start(launcher, Tool.jar(), List.of(), arguments);
    }

    private static List<String> openFiles(int limit) {
        Shell.Result there = Shell.run("prlimit", "--nofile=64", "true");
        Assumptions.assumeTrue(there.exitCode() == 0, () -> "needs prlimit: " + there);
        return List.of("prlimit", "--nofile=" + limit);
    }

    @ParameterizedTest
    @ValueSource(strings = {"linux", "nio"})
    void sixtyFourOpenFilesAreEnough_E06(String sockets) {
        List<String> arguments = new ArrayList<>(SELF);
        arguments.addAll(List.of("--json", "--sockets", sockets));
        try (Tool perf = start(openFiles(64), arguments)) {
            assertThat(perf.awaitExit(60)).as(perf::toString).isZero();
            assertThat(perf.json().get("data_intact").asBoolean()).isTrue();
            assertThat(perf.err()).isEmpty();
        }
        try (Tool demo = start(openFiles(64), List.of("demo", "--size", "1M"))) {
            assertThat(demo.awaitSuccess(60)).containsPattern("SHA-256 +equal +equal");
        }
    }

    /**
     * The limit, its value and the need; whichever of the two processes runs into it first. The
     * other one may say that it lost its companion, and so may the loader of the system.
     */
    @ParameterizedTest
    @CsvSource({"20, linux", "14, nio", "10, linux"})
    void fewerAreNamedWithWhatIsNeeded_E06(int limit, String sockets) {
        List<String> arguments = new ArrayList<>(SELF);
        arguments.addAll(List.of("--sockets", sockets));
        try (Tool perf = start(openFiles(limit), arguments)) {
            assertThat(perf.awaitExit(60)).as(perf::toString).isEqualTo(3);
            assertThat(perf.err().lines())
                    .filteredOn(line -> line.startsWith("metaroce "))
                    .first()
                    .asString()
                    .containsPattern(
                            "the limit of open files is "
                                    + limit
                                    + " \\(ulimit -n\\), \\d+ are in use and \\d+ more are needed");
            assertThat(perf.err()).doesNotContain("\tat ");
        }
    }

    @Test
    void aDeviceThatDoesNotFitIsNamedByDevinfo_E06() {
        try (Tool devinfo = start(openFiles(12), List.of("devinfo"))) {
            assertThat(devinfo.awaitExit(60)).as(devinfo::toString).isEqualTo(3);
            assertThat(devinfo.err().lines()).hasSize(1);
            assertThat(devinfo.err()).contains("the limit of open files is 12 (ulimit -n)");
        }
    }

    /** Nothing of ours is locked in memory, shared, or on huge pages. */
    @Test
    void littleLockedAndSharedMemoryIsEnough_E06() {
        List<String> launcher =
                List.of(
                        "prlimit",
                        "--memlock=65536",
                        "unshare",
                        "--mount",
                        "sh",
                        "-c",
                        "mount -t tmpfs -o size=1m tmpfs /dev/shm && exec \"$@\"",
                        "sh");
        List<String> look = new ArrayList<>(launcher);
        look.addAll(List.of("sh", "-c", "ulimit -l; df --output=size /dev/shm | tail -1"));
        Shell.Result limits = Shell.run(look);
        Assumptions.assumeTrue(
                limits.exitCode() == 0, () -> "needs a mount namespace (root): " + limits);
        assertThat(limits.output().strip().split("\\s+")).containsExactly("64", "1024");

        List<String> arguments = new ArrayList<>(SELF);
        arguments.add("--json");
        try (Tool perf = start(launcher, arguments)) {
            assertThat(perf.awaitExit(60)).as(perf::toString).isZero();
            assertThat(perf.json().get("data_intact").asBoolean()).isTrue();
            assertThat(perf.err()).isEmpty();
        }
    }
}
