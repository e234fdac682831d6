package dev.metaroce.tools.swarm;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.tools.InProcess;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** {@code metaroce swarm}: outcomes, exit codes, and the same with any number of threads. */
class SwarmCommandTest {
    private static JsonNode json(String... options) {
        String[] arguments = new String[options.length + 2];
        arguments[0] = "swarm";
        arguments[1] = "--json";
        System.arraycopy(options, 0, arguments, 2, options.length);
        return JsonMapper.shared().readTree(InProcess.run(arguments).out());
    }

    @Test
    void theNumberOfThreadsChangesNothing() {
        JsonNode one = json("--seeds", "50", "--threads", "1");
        JsonNode two = json("--seeds", "50", "--threads", "2");

        assertThat(one.get("seeds").asLong()).isEqualTo(50);
        assertThat(one.get("failed").asLong()).isZero();
        assertThat(one.get("error").isNull()).isTrue();
        assertThat(two.get("hash")).isEqualTo(one.get("hash"));
        assertThat(two.get("events")).isEqualTo(one.get("events"));
        assertThat(json("--seeds", "50", "--first-seed", "2").get("hash"))
                .isNotEqualTo(one.get("hash"));
    }

    @Test
    void aCleanRunPrintsItsSums() {
        InProcess run = InProcess.run("swarm", "--seeds", "5", "--first-seed", "7");

        assertThat(run.exitCode()).isZero();
        assertThat(run.out())
                .contains("5 seeds from 7 on in ", "0 failed", " events, ", "hash ")
                .doesNotContain("replay:");
        assertThat(run.err()).isEmpty();
    }

    @Test
    void theCanaryIsNoticedAndSaysWhere() {
        InProcess run = InProcess.run("swarm", "--seeds", "100", "--canary");

        assertThat(run.exitCode()).isZero();
        assertThat(run.out()).containsPattern("the canary was noticed in [1-9]");
        assertThat(run.out()).containsPattern("the first: seed \\d+: ");
    }

    @Test
    void aCanaryThatNobodyNoticesIsAFailure() {
        // A run of this seed has no packet that the canary could strike.
        InProcess run = InProcess.run("swarm", "--seeds", "1", "--first-seed", "2", "--canary");

        assertThat(run.exitCode()).isEqualTo(1);
        assertThat(run.errLines())
                .singleElement()
                .asString()
                .startsWith("metaroce swarm: the canary was not noticed in 1 seeds");
    }

    @ParameterizedTest
    @CsvSource({
        "--seeds,      0, 1..2147483647",
        "--first-seed, x, 'x'",
        "--threads,    0, 1..1024",
        "--minutes,    0, 0.01..10080"
    })
    void aWrongOptionIsRefusedWithOneLine(String option, String value, String right) {
        InProcess run = InProcess.run("swarm", option, value);

        assertThat(run.exitCode()).isEqualTo(2);
        assertThat(run.out()).isEmpty();
        assertThat(run.errLines()).singleElement().asString().contains(option, right);
    }

    @Test
    void aTimeLimitEndsTheRunWithWhatWasDone() {
        JsonNode document = json("--seeds", "1000000", "--minutes", "0.01");

        assertThat(document.get("seeds").asLong()).isBetween(1L, 100_000L);
        assertThat(document.get("seeds_asked_for").asLong()).isEqualTo(1_000_000);
        assertThat(document.get("error").isNull()).isTrue();
    }
}
