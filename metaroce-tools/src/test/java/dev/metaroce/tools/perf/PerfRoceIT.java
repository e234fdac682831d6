package dev.metaroce.tools.perf;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.tools.InProcess;
import dev.metaroce.tools.Tool;
import dev.metaroce.tools.link.Endpoint;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import tools.jackson.databind.JsonNode;

import java.net.DatagramSocket;
import java.net.InetAddress;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** The tests of perf over RoCEv2, both ends ours. */
@Timeout(value = 180, unit = TimeUnit.SECONDS)
class PerfRoceIT {
    private static JsonNode run(String test, String... more) {
        String[] all = new String[more.length + 7];
        System.arraycopy(
                new String[] {
                    test, "--self", "--json", "--transport", "rocev2", "--warm-up", "0.1"
                },
                0,
                all,
                0,
                7);
        System.arraycopy(more, 0, all, 7, more.length);
        try (Tool run = Runs.perf(all)) {
            assertThat(run.awaitExit(120)).as(run::toString).isZero();
            JsonNode document = Runs.document(run.out());
            JsonNode configuration = document.get("configuration");
            assertThat(configuration.get("transport").asString()).isEqualTo("rocev2");
            assertThat(configuration.get("exchange").asString()).isEqualTo("native");
            assertThat(configuration.get("profile").isNull()).isTrue();
            assertThat(configuration.get("payload_mtu").asInt()).isEqualTo(4096);
            assertThat(configuration.get("remote_address").asString()).endsWith(":4791");
            return document;
        }
    }

    @ParameterizedTest
    @CsvSource({"write-bw, inline", "write-bw, thread", "read-bw, inline", "send-bw, inline"})
    void bandwidthTestsMoveIntactData(String test, String drive) {
        JsonNode document = run(test, "-n", "100", "-s", "20001", "-q", "2", "--drive", drive);
        Runs.assertAddsUp(document);
        assertThat(document.get("iterations").asLong()).isEqualTo(200);
        assertThat(document.get("data_intact").asBoolean()).isTrue();
        assertThat(document.get("contexts_peak").asInt()).as("queue pairs").isEqualTo(3);
    }

    /** Two queue pairs count the words of the server up, each its own. */
    @Test
    void atomicsAddUp() {
        JsonNode document = run("atomic-bw", "-n", "500", "-q", "2");
        assertThat(document.get("iterations").asLong()).isEqualTo(1000);
        assertThat(document.get("data_intact").asBoolean()).isTrue();
    }

    @ParameterizedTest
    @ValueSource(strings = {"write-lat", "send-lat", "read-lat"})
    void latencyTestsPlayAllRounds(String test) {
        assertThat(run(test, "-n", "200").get("iterations").asLong()).isEqualTo(200);
    }

    @Test
    @DisplayName("I08: a timed test of both directions ends at both ends; all shares one queue")
    void aTimedTestOfBothDirectionsEndsAndSharesReceives() {
        JsonNode document = run("send-bw", "-b", "-D", "1", "-q", "2", "--use-srq");

        Runs.assertDirectionsAddUp(document);
        for (String direction : List.of("local", "remote")) {
            JsonNode one = document.get(direction);
            assertThat(one.get("active_s").asDouble()).as(direction).isBetween(1.0, 3.0);
            String receiver = direction.equals("local") ? "receiver" : "sender";
            JsonNode taken = document.get(receiver).get("counters").get("shared_receives");
            assertThat(taken.asLong()).isGreaterThanOrEqualTo(one.get("iterations").asLong() / 2);
        }
    }

    @Test
    @DisplayName("I02: that the one port of an address is taken is said with address and cause")
    void aTakenPortIsNamed() throws Exception {
        String host = Endpoint.ownLoopback(1);
        try (DatagramSocket taken = new DatagramSocket(4791, InetAddress.ofLiteral(host))) {
            assertThat(taken.isBound()).isTrue();
            InProcess server =
                    InProcess.run("perf", "server", "--transport", "rocev2", "--bind", host);

            assertThat(server.exitCode()).isEqualTo(3);
            assertThat(server.errLines()).hasSize(1);
            assertThat(server.err()).contains(host, "4791").containsIgnoringCase("in use");
        }
    }

    @Test
    @DisplayName("I03: a client without server ends at its budget and says who did not answer")
    void aClientWithoutServerSaysWho() {
        String host = Endpoint.ownLoopback(1);
        InProcess client =
                InProcess.run("perf", "write-bw", "--transport", "rocev2", host, "--timeout", "1");

        assertThat(client.exitCode()).isEqualTo(1);
        assertThat(client.errLines()).hasSize(1);
        assertThat(client.err()).contains("no answer from " + host + ":4791").doesNotContain("-p");
    }
}
