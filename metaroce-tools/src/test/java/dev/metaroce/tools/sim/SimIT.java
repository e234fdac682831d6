package dev.metaroce.tools.sim;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.tools.Tool;

import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import tools.jackson.databind.JsonNode;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** {@code metaroce sim} in a process of its own, which gets signals. */
class SimIT {
    @TempDir private Path directory;

    @ParameterizedTest
    @CsvSource({"INT, 130", "TERM, 143"})
    void aSignalEndsTheRunWithAReport(String signal, int exitCode) throws Exception {
        Path flows = directory.resolve("flows.csv");
        Path series = directory.resolve("series.csv");
        Path json = directory.resolve("summary.json");
        // Whoever runs the tests may ignore SIGINT, and that would be inherited.
        try (Tool tool =
                Tool.start(
                        List.of("env", "--default-signal=INT"),
                        Tool.jar(),
                        List.of(),
                        List.of(
                                "sim",
                                "--hosts=16",
                                "--size=2G",
                                "--flows=" + flows,
                                "--series=" + series,
                                "--json=" + json))) {
            tool.awaitOut("permutation: 16 flows", 60);
            kill(signal, tool.process().pid());

            assertThat(tool.awaitExit(60)).as(tool.toString()).isEqualTo(exitCode);
            assertThat(tool.out()).contains("0 ended, 0 failed, 16 open").contains("trace");
            assertThat(tool.err()).contains("interrupted at").contains("16 flows are open");
        }
        JsonNode document = Sims.valid(Files.readString(json));
        assertThat(document.get("outcome").asString()).isEqualTo("interrupted");
        assertWhole(flows, 17);
        assertWhole(series, 1);
    }

    private static void kill(String signal, long pid) throws IOException, InterruptedException {
        Process kill = new ProcessBuilder("kill", "-" + signal, Long.toString(pid)).start();
        assertThat(kill.waitFor()).isZero();
    }

    /** All lines have as many values as the first, and the last is whole. */
    private static void assertWhole(Path csv, int linesMin) throws IOException {
        String text = Files.readString(csv);
        List<String> lines = text.lines().toList();
        int columns = lines.getFirst().split(",", -1).length;
        assertThat(text).endsWith("\n");
        assertThat(lines).hasSizeGreaterThanOrEqualTo(linesMin);
        assertThat(lines).allMatch(line -> line.split(",", -1).length == columns);
    }
}
