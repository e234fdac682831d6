package dev.metaroce.tools.perf;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.metaroce.tools.Tool;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import tools.jackson.databind.JsonNode;

import java.util.List;
import java.util.concurrent.TimeUnit;

/** Two processes with the packaged jar, as users run it. */
@Timeout(value = 180, unit = TimeUnit.SECONDS)
class PerfIT {
    private static final String[] BRIEF = {"--warm-up", "0.1"};

    @ParameterizedTest
    @CsvSource({
        "write-bw, S, inline",
        "write-bw, M, inline",
        "write-bw, M, thread",
        "send-bw,  S, inline",
        "send-bw,  M, inline",
        "send-bw,  M, thread"
    })
    void bandwidthIsOneDocumentWhoseFiguresAddUp(String test, String profile, String drive) {
        try (Tool run =
                Runs.perf(
                        test,
                        "--self",
                        "--json",
                        "-n",
                        "300",
                        "-s",
                        "64k",
                        "-q",
                        "2",
                        "--profile",
                        profile,
                        "--drive",
                        drive,
                        BRIEF[0],
                        BRIEF[1])) {
            assertThat(run.awaitExit(120)).as(run::toString).isZero();
            JsonNode document = Runs.document(run.out());

            Runs.assertAddsUp(document);
            assertThat(document.get("error").isNull()).isTrue();
            assertThat(document.get("test").asString()).isEqualTo(test);
            assertThat(document.get("message_bytes").asLong()).isEqualTo(65_536);
            assertThat(document.get("iterations").asLong()).isEqualTo(600);
            assertThat(document.get("data_intact").asBoolean()).isTrue();
            assertThat(document.get("data_packets").asLong()).isGreaterThanOrEqualTo(600 * 8);
            assertThat(document.get("contexts_peak").asInt()).isBetween(1, 2);
            JsonNode configuration = document.get("configuration");
            assertThat(configuration.get("profile").asString()).isEqualTo(profile);
            assertThat(configuration.get("drive").asString()).isEqualTo(drive);
            assertThat(configuration.get("payload_mtu").asInt()).isEqualTo(8896);
            assertThat(configuration.get("remote_address").asString()).startsWith("127.0.0.1:");
            assertThat(configuration.get("java_version").asString()).isNotEmpty();
        }
    }

    @ParameterizedTest
    @CsvSource({
        "write-lat, S, 2", "write-lat, M, 2", "write-lat, M, 100000",
        "send-lat,  S, 2", "send-lat,  M, 2", "send-lat,  M, 100000"
    })
    void latencyHasFiguresInTheirOrder(String test, String profile, String bytes) {
        try (Tool run =
                Runs.perf(
                        test,
                        "--self",
                        "--json",
                        "-n",
                        "500",
                        "-s",
                        bytes,
                        "--profile",
                        profile,
                        BRIEF[0],
                        BRIEF[1])) {
            assertThat(run.awaitExit(120)).as(run::toString).isZero();
            JsonNode document = Runs.document(run.out());

            assertThat(document.get("iterations").asLong()).isEqualTo(500);
            double min = document.get("t_min_us").asDouble();
            double typical = document.get("t_typical_us").asDouble();
            double p99 = document.get("t_p99_us").asDouble();
            double p999 = document.get("t_p999_us").asDouble();
            double max = document.get("t_max_us").asDouble();
            assertThat(min).isPositive();
            assertThat(List.of(min, typical, p99, p999, max)).isSorted();
            // 500 round trips of twice the average half must be the time it took.
            double sum = document.get("t_avg_us").asDouble() * 2 * 500 / 1e6;
            assertThat(document.get("elapsed_s").asDouble()).isCloseTo(sum, within(sum * 0.01));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"write-bw", "send-lat"})
    void aTimedRunEndsWhenItsTimeIsOver(String test) {
        try (Tool run = Runs.perf(test, "--self", "--json", "-D", "1", BRIEF[0], BRIEF[1])) {
            assertThat(run.awaitExit(60)).as(run::toString).isZero();

            assertThat(Runs.document(run.out()).get("elapsed_s").asDouble()).isBetween(1.0, 3.0);
        }
    }

    @Test
    void theTableHasTheColumnsOfPerftest() {
        try (Tool server = Runs.server("write-bw");
                Tool client =
                        Runs.perf(
                                "write-bw",
                                "127.0.0.1",
                                "-p",
                                server.awaitPort() + "",
                                "-n",
                                "100")) {
            String table = client.awaitSuccess(60);

            assertThat(table)
                    .contains("RDMA WRITE bandwidth test")
                    .contains("#bytes    #iterations    BW peak[MiB/sec]   BW average[MiB/sec]")
                    .contains("MsgRate[Mpps]")
                    .containsPattern("(?m)^ 65536 +100 +[0-9.]+ +[0-9.]+ +[0-9.]+ ");
            assertThat(server.awaitSuccess(20)).contains("client 127.0.0.1:").contains("intact");
        }
    }

    @Test
    void manyInitiatorsShareTheContextsOfOneServer() {
        try (Tool run =
                Runs.perf(
                        "write-bw",
                        "--self",
                        "--json",
                        "--initiators",
                        "24",
                        "-n",
                        "20",
                        "-s",
                        "4k",
                        BRIEF[0],
                        BRIEF[1])) {
            assertThat(run.awaitExit(120)).as(run::toString).isZero();
            JsonNode document = Runs.document(run.out());

            assertThat(document.get("iterations").asLong()).isEqualTo(24 * 20);
            assertThat(document.get("contexts_peak").asInt()).isBetween(1, 24);
            assertThat(document.get("context_table_bytes").asLong()).isPositive();
            assertThat(document.get("data_intact").asBoolean()).isTrue();
            Runs.assertAddsUp(document);
        }
    }

    @Test
    void aSmallPayloadIsNegotiatedAndShown() {
        try (Tool run =
                Runs.perf(
                        "write-bw",
                        "--self",
                        "--json",
                        "--mtu",
                        "1024",
                        "-s",
                        "10000",
                        "-n",
                        "50")) {
            assertThat(run.awaitExit(60)).as(run::toString).isZero();

            assertThat(Runs.document(run.out()).get("configuration").get("payload_mtu").asInt())
                    .isEqualTo(1024);
            assertThat(Runs.document(run.out()).get("data_packets").asLong()).isEqualTo(50 * 10);
        }
    }

    @Test
    void aServerStartedBySelfDoesNotOutliveItsParent() throws Exception {
        try (Tool run = Runs.perf("write-bw", "--self", "-D", "120", "--warm-up", "0")) {
            run.awaitOut("#bytes", 30);
            ProcessHandle child = run.process().descendants().findFirst().orElseThrow();
            run.process().destroyForcibly();

            assertThat(child.onExit().get(30, TimeUnit.SECONDS)).isNotNull();
        }
    }
}
