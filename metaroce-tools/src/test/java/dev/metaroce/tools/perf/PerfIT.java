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

import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Two processes with the packaged jar, as users run it. */
@Timeout(value = 180, unit = TimeUnit.SECONDS)
class PerfIT {
    private static final String[] BRIEF = {"--warm-up", "0.1"};

    private static Tool perf(String test, String... arguments) {
        List<String> all = new ArrayList<>(List.of("perf", test));
        all.addAll(List.of(arguments));
        return Tool.start(all.toArray(String[]::new));
    }

    private static Tool server(String test, String... arguments) {
        List<String> all = new ArrayList<>(List.of("perf", test, "-p", "0", "--bind", "127.0.0.1"));
        all.addAll(List.of(arguments));
        return Tool.start(all.toArray(String[]::new));
    }

    private static void assertAddsUp(JsonNode row) {
        double bytes = row.get("message_bytes").asDouble();
        double gbps = row.get("bw_average_gbps").asDouble();
        double rate = row.get("msg_rate_mpps").asDouble() * 1e6;
        double perSecond = row.get("iterations").asDouble() / row.get("elapsed_s").asDouble();
        double mib = row.get("bw_average_mib_s").asDouble();
        assertThat(rate * bytes * 8 / 1e9).isCloseTo(gbps, within(gbps * 0.01));
        assertThat(perSecond).isCloseTo(rate, within(rate * 0.01));
        assertThat(mib * (1 << 20) * 8 / 1e9).isCloseTo(gbps, within(gbps * 0.01));
        assertThat(row.get("bw_peak_gbps").asDouble()).isGreaterThanOrEqualTo(gbps * 0.999);
    }

    private static void assertFinite(JsonNode node) {
        if (node.isNumber()) {
            assertThat(Double.isFinite(node.asDouble())).isTrue();
        }
        node.forEach(PerfIT::assertFinite);
    }

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
                perf(
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
            JsonNode document = run.json();

            assertFinite(document);
            assertAddsUp(document);
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
                perf(
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
            JsonNode document = run.json();

            assertFinite(document);
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
    @ValueSource(strings = {"1", "1003"})
    void exactlyAsManyMessagesAsAskedFor(String iterations) {
        try (Tool run =
                perf(
                        "write-bw",
                        "--self",
                        "--json",
                        "-n",
                        iterations,
                        "-s",
                        "1",
                        "--warm-up",
                        "0")) {
            assertThat(run.awaitExit(60)).as(run::toString).isZero();

            assertThat(run.json().get("iterations").asString()).isEqualTo(iterations);
        }
    }

    @Test
    void aSweepHas23RowsOfTheSameKind() {
        try (Tool run =
                perf("write-bw", "--self", "--json", "-a", "-n", "20", BRIEF[0], BRIEF[1])) {
            assertThat(run.awaitExit(150)).as(run::toString).isZero();
            JsonNode rows = run.json().get("results");

            assertThat(rows).hasSize(23);
            long bytes = 2;
            for (JsonNode row : rows) {
                assertThat(row.get("message_bytes").asLong()).isEqualTo(bytes);
                assertThat(row.get("iterations").asLong()).isEqualTo(20);
                assertThat(row.get("data_intact").asBoolean()).isTrue();
                assertAddsUp(row);
                bytes *= 2;
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"write-bw", "send-lat"})
    void aTimedRunEndsWhenItsTimeIsOver(String test) {
        try (Tool run = perf(test, "--self", "--json", "-D", "1", BRIEF[0], BRIEF[1])) {
            assertThat(run.awaitExit(60)).as(run::toString).isZero();

            assertThat(run.json().get("elapsed_s").asDouble()).isBetween(1.0, 3.0);
        }
    }

    @Test
    void theTableHasTheColumnsOfPerftest() {
        try (Tool server = server("write-bw");
                Tool client =
                        perf("write-bw", "127.0.0.1", "-p", server.awaitPort() + "", "-n", "100")) {
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
    void theServerAdoptsWhatTheClientAsksFor() {
        try (Tool server = server("write-bw", "-s", "64", "--json");
                Tool client =
                        perf(
                                "send-lat",
                                "127.0.0.1:" + port(server),
                                "-s",
                                "1024",
                                "-n",
                                "50",
                                "--json")) {
            assertThat(client.awaitExit(60)).as(client::toString).isZero();
            assertThat(client.json().get("message_bytes").asLong()).isEqualTo(1024);
            assertThat(server.awaitExit(20)).as(server::toString).isZero();
            assertThat(server.json().get("test").asString()).isEqualTo("send-lat");
        }
    }

    /** With --json a server says on standard error that it listens. */
    private static int port(Tool server) {
        return Integer.parseInt(server.awaitErr("listening on UDP \\S+:(\\d+),", 30).group(1));
    }

    @Test
    void aServerThatIsKeptServesOneClientAfterTheOther() {
        try (Tool server = server("write-bw", "--keep")) {
            String port = server.awaitPort() + "";
            for (String test : List.of("write-bw", "write-lat", "write-bw")) {
                try (Tool client = perf(test, "127.0.0.1", "-p", port, "-n", "50", "--json")) {
                    assertThat(client.awaitExit(60)).as(client::toString).isZero();
                }
            }
            assertThat(server.process().isAlive()).as(server::toString).isTrue();
        }
    }

    @Test
    void aClientStartedFirstWaitsForItsServer() throws Exception {
        int port = freePort();
        try (Tool client =
                perf("write-bw", "127.0.0.1", "-p", port + "", "-n", "50", "--timeout", "60")) {
            // A packet at the port proves that the client is asking before any server exists.
            try (DatagramSocket early =
                    new DatagramSocket(new InetSocketAddress("127.0.0.1", port))) {
                early.setSoTimeout(30_000);
                early.receive(new java.net.DatagramPacket(new byte[2000], 2000));
            }
            try (Tool server = perf("write-bw", "-p", port + "", "--bind", "127.0.0.1")) {
                client.awaitSuccess(60);
                server.awaitSuccess(20);
            }
        }
    }

    @Test
    void aClientWithoutServerEndsAtItsBudgetAndSaysWho() throws Exception {
        int port = freePort();
        try (Tool client =
                perf("write-bw", "127.0.0.1", "-p", port + "", "--timeout", "1", "--json")) {
            assertThat(client.awaitExit(30)).isEqualTo(1);

            assertThat(client.err().lines()).hasSize(1);
            assertThat(client.err()).contains("no answer from 127.0.0.1:" + port);
            JsonNode document = client.json();
            assertThat(document.get("error").asString()).contains("no answer from 127.0.0.1:");
            assertThat(document.get("exit_code").asInt()).isEqualTo(1);
            assertThat(document.get("configuration").get("payload_mtu").isNull()).isTrue();
        }
    }

    @Test
    void aSecondClientIsToldThatTheServerIsBusy() {
        try (Tool server = server("write-bw")) {
            String port = server.awaitPort() + "";
            try (Tool first = perf("write-bw", "127.0.0.1", "-p", port, "-D", "100");
                    Tool second = awaitHeaderThenStart(first, port)) {
                assertThat(second.awaitExit(30)).as(second::toString).isEqualTo(1);
                assertThat(second.err())
                        .contains("127.0.0.1:" + port)
                        .contains("it is serving another client");
            }
        }
    }

    private static Tool awaitHeaderThenStart(Tool first, String port) {
        first.awaitOut("#bytes", 30);
        return perf("write-bw", "127.0.0.1", "-p", port, "--timeout", "1");
    }

    @Test
    void aTakenPortIsNamedWithAddressAndCause() throws Exception {
        try (DatagramSocket taken = new DatagramSocket(0, InetAddress.ofLiteral("127.0.0.1"));
                Tool server =
                        perf("write-bw", "--bind", "127.0.0.1", "-p", taken.getLocalPort() + "")) {
            assertThat(server.awaitExit(30)).isEqualTo(3);

            assertThat(server.err().lines()).hasSize(1);
            assertThat(server.err())
                    .contains("127.0.0.1")
                    .contains(taken.getLocalPort() + "")
                    .containsIgnoringCase("in use");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"::1", "[::1]:%d", "[::1]"})
    void ipv6NeedsNoExtraOption(String form) {
        try (Tool server = perf("write-bw", "-p", "0", "--bind", "::1")) {
            int port = server.awaitPort();
            try (Tool client =
                    perf("write-bw", form.formatted(port), "-p", port + "", "-n", "50", "--json")) {
                assertThat(client.awaitExit(60)).as(client::toString).isZero();
                JsonNode configuration = client.json().get("configuration");
                assertThat(configuration.get("remote_address").asString())
                        .isEqualTo("[::1]:" + port);
            }
        }
    }

    @Test
    void aWildcardServerAnswersBothFamilies() {
        try (Tool server = perf("write-bw", "-p", "0", "--keep")) {
            int port = server.awaitPort();
            for (String host : List.of("127.0.0.1", "::1")) {
                try (Tool client = perf("write-bw", host, "-p", port + "", "-n", "50", "--json")) {
                    assertThat(client.awaitExit(60)).as(client::toString).isZero();
                }
            }
        }
    }

    @Test
    void aThresholdHasItsOwnExitCode() {
        try (Tool run =
                perf(
                        "write-bw",
                        "--self",
                        "-n",
                        "50",
                        "--json",
                        "--min-bw",
                        "100000",
                        BRIEF[0],
                        BRIEF[1])) {
            assertThat(run.awaitExit(60)).as(run::toString).isEqualTo(4);

            assertThat(run.err()).contains("is below threshold --min-bw");
            assertThat(run.json().get("verdict").asString()).isEqualTo("fail");
            assertThat(run.json().get("iterations").asLong()).isEqualTo(50);
        }
        try (Tool run = perf("write-bw", "--self", "-n", "50", "--json", "--min-bw", "0.000001")) {
            assertThat(run.awaitExit(60)).as(run::toString).isZero();
            assertThat(run.json().get("verdict").asString()).isEqualTo("pass");
        }
    }

    @Test
    void manyInitiatorsShareTheContextsOfOneServer() {
        try (Tool run =
                perf(
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
            JsonNode document = run.json();

            assertThat(document.get("iterations").asLong()).isEqualTo(24 * 20);
            assertThat(document.get("contexts_peak").asInt()).isBetween(1, 24);
            assertThat(document.get("context_table_bytes").asLong()).isPositive();
            assertThat(document.get("data_intact").asBoolean()).isTrue();
            assertAddsUp(document);
        }
    }

    @Test
    void aSmallPayloadIsNegotiatedAndShown() {
        try (Tool run =
                perf("write-bw", "--self", "--json", "--mtu", "1024", "-s", "10000", "-n", "50")) {
            assertThat(run.awaitExit(60)).as(run::toString).isZero();

            assertThat(run.json().get("configuration").get("payload_mtu").asInt()).isEqualTo(1024);
            assertThat(run.json().get("data_packets").asLong()).isEqualTo(50 * 10);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"write-bw", "send-lat"})
    void aServerWhoseClientIsKilledEndsWithAReason(String test) {
        try (Tool server = server(test);
                Tool client =
                        perf(
                                test,
                                "127.0.0.1",
                                "-p",
                                server.awaitPort() + "",
                                "-D",
                                "120",
                                "--warm-up",
                                "0")) {
            server.awaitOut("client 127.0.0.1", 30);
            client.process().destroyForcibly();

            assertThat(server.awaitExit(60)).as(server::toString).isEqualTo(1);
            assertThat(server.err().lines()).hasSize(1);
            assertThat(server.err()).contains("client 127.0.0.1:");
        }
    }

    @Test
    void aServerStartedBySelfDoesNotOutliveItsParent() throws Exception {
        try (Tool run = perf("write-bw", "--self", "-D", "120", "--warm-up", "0")) {
            run.awaitOut("#bytes", 30);
            ProcessHandle child = run.process().descendants().findFirst().orElseThrow();
            run.process().destroyForcibly();

            assertThat(child.onExit().get(30, TimeUnit.SECONDS)).isNotNull();
        }
    }

    private static int freePort() throws Exception {
        try (DatagramSocket socket = new DatagramSocket(0, InetAddress.ofLiteral("127.0.0.1"))) {
            return socket.getLocalPort();
        }
    }
}
