package dev.metaroce.tools.study;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.metaroce.tools.InProcess;
import dev.metaroce.transport.ExhaustionPolicy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** {@code metaroce study leases}: its tables in all forms. */
class LeasesCommandTest {
    private static InProcess study(String... options) {
        List<String> arguments =
                new ArrayList<>(List.of("study", "leases", "--senders", "4", "--contexts", "2"));
        arguments.addAll(List.of("--rate", "10G", "--backlog", "1M", "--quota", "128k"));
        arguments.addAll(List.of(options));
        return InProcess.run(arguments);
    }

    @Test
    void theTablesHaveARowForEachPolicyAndEachKindOfWrite() {
        InProcess run = study();

        assertThat(run.exitCode()).isZero();
        assertThat(run.err()).isEmpty();
        assertThat(run.out())
                .contains("4 busy senders, 2 contexts, 10 Gb/s", " queue ", " deny ", " cold: ");
    }

    @Test
    void documentAndCsvSayTheSame(@TempDir Path directory) throws IOException {
        Path csv = directory.resolve("leases.csv");
        JsonNode document =
                JsonMapper.shared().readTree(study("--json", "-", "--csv", csv.toString()).out());

        assertThat(document.get("error").isNull()).isTrue();
        assertThat(document.get("busy_senders").size()).isEqualTo(ExhaustionPolicy.values().length);
        JsonNode queue = document.get("busy_senders").get(0);
        assertThat(queue.get("row").asString()).isEqualTo("queue");
        assertThat(queue.get("hand_overs").asInt()).isPositive();
        assertThat(queue.get("failed").asInt()).isZero();
        JsonNode cold = document.get("latency").get(1);
        assertThat(cold.get("round_trips_more").asDouble()).isCloseTo(1, within(0.1));
        assertThat(Files.readAllLines(csv))
                .startsWith("table,row,quantity,value")
                .contains("busy_senders,queue,hand_overs," + queue.get("hand_overs").asInt());
    }

    @Test
    void onePolicyAndTheSameTwice() {
        InProcess run = study("--policy", "deny");

        assertThat(run.out()).contains(" deny ").doesNotContain(" queue ");
        assertThat(study("--policy", "deny").out()).isEqualTo(run.out());
    }
}
