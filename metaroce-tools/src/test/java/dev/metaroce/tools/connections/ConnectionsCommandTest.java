package dev.metaroce.tools.connections;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.net.Transport;
import dev.metaroce.tools.InProcess;
import dev.metaroce.tools.cli.ExitCode;

import org.junit.jupiter.api.Test;

import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

import java.util.ArrayList;
import java.util.List;

/** {@code metaroce connections}, and the figure that it prints. */
class ConnectionsCommandTest {
    private static final int MOST_BYTES = 1024;

    /** For what else a JVM keeps meanwhile, per connection. */
    private static final int NOISE_BYTES = 64;

    private static InProcess connections(String... options) {
        List<String> arguments = new ArrayList<>(List.of("connections"));
        arguments.addAll(List.of(options));
        return InProcess.run(arguments);
    }

    /** MR-1.2-7: there are more connections than source contexts, and each works. */
    @Test
    void aHundredThousandIdleConnectionsTakeAKibibyteEachAndWork() {
        IdleConnections.Setup setup =
                new IdleConnections.Setup(Transport.METAROCE, 100_000, 4, 1_000, 7);
        IdleConnections.Outcome found;
        try (IdleConnections all = new IdleConnections(setup, () -> true)) {
            found = all.run();
        }
        System.out.println("an idle connection takes " + found.bytesPerConnection() + " bytes");

        assertThat(found.bytesPerConnection()).isBetween(100L, (long) MOST_BYTES + NOISE_BYTES);
        assertThat(found.contextsAtMost()).isBetween(4, 4 * 256);
        assertThat(found.contextsIdle()).isZero();
        assertThat(found.sourceContextsIdle()).isZero();
        assertThat(found.works()).isEqualTo(1_000);
    }

    @Test
    void theDocumentHasTheFiguresOfTheTable() {
        InProcess table = connections("--peers", "1000", "--writes", "50");
        assertThat(table.exitCode()).isZero();
        assertThat(table.err()).isEmpty();
        assertThat(table.out())
                .contains("1,000 connections to 4 devices", "bytes of heap", "50 of 50");

        InProcess run = connections("--peers", "1000", "--writes", "50", "--json", "-");
        JsonNode document = JsonMapper.shared().readTree(run.out());
        assertThat(document.get("error").isNull()).isTrue();
        assertThat(document.get("connections").asInt()).isEqualTo(1_000);
        assertThat(document.get("bytes_per_idle_connection").isIntegralNumber()).isTrue();
        assertThat(document.get("writes_arrived").asInt()).isEqualTo(50);
        assertThat(document.get("contexts_when_idle").asInt()).isZero();
        assertThat(document.get("first_use_us").asDouble()).isPositive();
    }

    /** The baseline: each connection keeps its queue pairs. */
    @Test
    void connectionsOfRoceKeepTheirQueuePairs() {
        IdleConnections.Setup setup =
                new IdleConnections.Setup(Transport.ROCE_V2, 5_000, 4, 100, 7);
        IdleConnections.Outcome found;
        try (IdleConnections all = new IdleConnections(setup, () -> true)) {
            found = all.run();
        }

        assertThat(found.bytesPerConnection()).isGreaterThan(2 * MOST_BYTES);
        assertThat(found.contextsIdle()).isEqualTo(5_000);
        assertThat(found.works()).isEqualTo(100);
    }

    @Test
    void aLimitThatIsPassedIsTold() {
        InProcess run = connections("--peers", "20000", "--writes", "10", "--max-bytes", "10");

        assertThat(run.exitCode()).isEqualTo(ExitCode.THRESHOLD);
        assertThat(run.err()).contains("more than --max-bytes 10");
    }
}
