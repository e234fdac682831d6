package dev.metaroce.tools.perf;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.net.Addresses;
import dev.metaroce.net.DeviceOptions;
import dev.metaroce.net.DriveMode;
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

import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Who comes first, who is adopted, who is told to wait, and what a server outlives. */
@Timeout(value = 180, unit = TimeUnit.SECONDS)
class PerfServerIT {
    private static final String OTHERS =
            "write-bw -n 50|write-lat -n 50|send-bw -n 50 -b|send-lat -n 50|ping -c 2 -i 0.1";

    private static String brief(String test) {
        return test.startsWith("ping") ? test : test + " --warm-up 0";
    }

    private static void assertServesOneAfterTheOther(int port) {
        for (String test : OTHERS.split("\\|")) {
            InProcess client = Runs.client(brief(test) + " --timeout 20", port);
            assertThat(client.exitCode()).as(test + ": " + client.err()).isZero();
        }
    }

    @ParameterizedTest
    @DisplayName("I08: a timed test of both directions ends, at both ends, every time")
    @CsvSource({"write-bw, 1", "write-bw, 2", "send-bw, 1", "send-bw, 2"})
    void aTimedTestOfBothDirectionsEndsAtBothEnds(String test, int qps) {
        try (Tool server = Runs.server(test, "--json")) {
            int port = Runs.portOfJson(server);
            InProcess client = Runs.client(test + " -b -D 1 --json --warm-up 0.2 -q " + qps, port);

            assertThat(client.exitCode()).as(client.err()).isZero();
            JsonNode document = Runs.document(client.out());
            Runs.assertDirectionsAddUp(document);
            for (String direction : List.of("local", "remote", "total")) {
                JsonNode one = document.get(direction);
                assertThat(one.get("active_s").asDouble()).as(direction).isBetween(1.0, 3.0);
                assertThat(one.get("iterations").asLong()).as(direction).isPositive();
            }
            assertThat(server.awaitExit(20)).as(server::toString).isZero();
            JsonNode there = Runs.document(server.out());
            assertThat(there.get("bidirectional").asBoolean()).isTrue();
            assertThat(there.get("results").get(0).get("data_intact").asBoolean()).isTrue();
        }
    }

    @ParameterizedTest
    @DisplayName("I09: the server adopts what the client asks for, whatever it was started for")
    @CsvSource({
        "write-bw -s 1024 -b -n 50, write-bw",
        "write-bw -a -n 3, write-bw -s 64",
        "write-bw -n 50, send-lat",
        "send-lat -s 1024 -n 50, write-bw -s 64 -b",
    })
    void theServerAdoptsWhatTheClientAsksFor(String client, String started) {
        List<String> words = List.of(started.split(" "));
        String[] options = words.subList(1, words.size()).toArray(String[]::new);
        try (Tool server = Runs.server(words.getFirst(), options)) {
            InProcess run = Runs.client(client + " --warm-up 0 --json", server.awaitPort());

            assertThat(run.exitCode()).as(run.err()).isZero();
            JsonNode document = Runs.document(run.out());
            String test = client.substring(0, client.indexOf(' '));
            assertThat(document.get("test").asString()).isEqualTo(test);
            assertThat(document.has("total")).isEqualTo(client.contains(" -b"));
            assertThat(document.has("results")).isEqualTo(client.contains(" -a"));
            if (client.contains("-s 1024")) {
                assertThat(document.get("message_bytes").asLong()).isEqualTo(1024);
            }
            String said = server.awaitSuccess(20);
            assertThat(said).contains(": " + test);
            if (!test.equals(words.getFirst())) {
                assertThat(said).contains("this server was started for " + words.getFirst());
            }
        }
    }

    @Test
    void aServerForAnyTestServesOneClientAfterTheOther() {
        try (Tool server = Runs.server("server", "--json")) {
            int port = Runs.portOfJson(server);
            assertServesOneAfterTheOther(port);

            for (String test : OTHERS.split("\\|")) {
                String line = server.awaitOut("\"test\":\"", 20).group();
                assertThat(line).isNotEmpty();
                assertThat(server.out()).contains(test.substring(0, test.indexOf(' ')));
            }
            server.out().lines().forEach(Runs::document);
            assertThat(server.process().isAlive()).as(server::toString).isTrue();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"send-lat", "send-bw -b"})
    void aKeptServerOutlivesAClientThatIsKilledAndServesWhoWaits(String test) {
        try (Tool server = Runs.server("write-bw", "--keep")) {
            int port = server.awaitPort();
            try (Tool client = runFor120Seconds(test, port)) {
                client.awaitOut("#bytes", 30);
                client.process().destroyForcibly();

                // It asks all the time; that is no sign of life of the one before.
                InProcess next = Runs.client("write-bw -n 50 --timeout 60 --warm-up 0", port);
                assertThat(next.exitCode()).as(next.err()).isZero();
            }
            server.awaitOut("client 127.0.0.1:\\d+ (went silent|ended)", 20);
            assertServesOneAfterTheOther(port);
            assertThat(server.process().isAlive()).as(server::toString).isTrue();
        }
    }

    private static Tool runFor120Seconds(String test, int port) {
        String line = test + " 127.0.0.1 -D 120 --warm-up 0 -p " + port;
        return Runs.perf(line.split(" "));
    }

    @Test
    void aKeptServerOutlivesClientsThatTalkNonsense() {
        PerfMessage.Row large = new PerfMessage.Row(1 << 30, 1024, 1, 0, 0);
        PerfMessage.Row never = new PerfMessage.Row(1, 1024, 0, 0, 0);
        List<Object> nonsense =
                List.of(
                        PerfMessage.refusal("no"),
                        PerfMessage.row(large, null),
                        PerfMessage.row(never, null),
                        PerfMessage.rowEnd(true),
                        List.of("no", "perf", "message"));
        try (Tool server = Runs.server("server")) {
            int port = server.awaitPort();
            for (Object words : nonsense) {
                say(words, port);
                InProcess next = Runs.client("send-bw -n 50 --timeout 30 --warm-up 0", port);
                assertThat(next.exitCode()).as(words + ": " + next.err()).isZero();
            }
            assertThat(server.process().isAlive()).as(server::toString).isTrue();
            assertThat(server.out()).contains("which is a server's word").contains("does not fit");
            assertThat(server.err()).isEmpty();
        }
    }

    /** A client that says one thing and goes away when the server has heard it. */
    private static void say(Object words, int port) {
        PerfParameters parameters =
                new PerfParameters(
                        PerfTest.WRITE_BW, false, false, 1024, 1, Posting.ofDepth(1), 1, 99, 1);
        DeviceOptions.Builder device = DeviceOptions.builder().driveMode(DriveMode.INLINE);
        try (Endpoint endpoint = Endpoint.open(device.bind("127.0.0.1").port(0).build());
                Peer peer = dial(endpoint, parameters, port)) {
            assertThat(endpoint.rdma().awaitOpen(peer.connection, 10_000_000_000L)).isTrue();
            peer.channel.send(words);
            while (!peer.hasEnded() && !peer.channel.isFlushed()) {
                endpoint.rdma().progress();
            }
            peer.connection.close();
            assertThat(endpoint.rdma().awaitClosed(peer.connection, 10_000_000_000L)).isTrue();
        }
    }

    private static Peer dial(Endpoint endpoint, PerfParameters parameters, int port) {
        InetSocketAddress target = new InetSocketAddress("127.0.0.1", port);
        return Peer.dial(endpoint, Addresses.toNetAddress(target), parameters);
    }

    @ParameterizedTest
    @ValueSource(strings = {"write-bw", "send-lat"})
    void aServerWhoseOnlyClientIsKilledEndsWithAReason(String test) {
        try (Tool server = Runs.server(test);
                Tool client = runFor120Seconds(test, server.awaitPort())) {
            server.awaitOut("client 127.0.0.1", 30);
            client.process().destroyForcibly();

            assertThat(server.awaitExit(60)).as(server::toString).isEqualTo(1);
            assertThat(server.err().lines()).hasSize(1);
            assertThat(server.err()).contains("client 127.0.0.1:");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"send-bw -b", "write-lat"})
    void aClientWhoseServerIsKilledEndsWithAReason(String test) {
        try (Tool server = Runs.server("server");
                Tool client = runFor120Seconds(test, server.awaitPort())) {
            client.awaitOut("#bytes", 30);
            server.process().destroyForcibly();

            assertThat(client.awaitExit(60)).as(client::toString).isEqualTo(1);
            assertThat(client.err().lines()).hasSize(1);
            assertThat(client.err()).contains("127.0.0.1:");
        }
    }

    @Test
    void aSecondClientIsToldThatTheServerIsBusy() {
        try (Tool server = Runs.server("write-bw")) {
            int port = server.awaitPort();
            try (Tool first = runFor120Seconds("write-bw", port)) {
                first.awaitOut("#bytes", 30);
                InProcess second = Runs.client("write-bw --timeout 1", port);

                assertThat(second.exitCode()).as(second.err()).isEqualTo(1);
                assertThat(second.errLines()).hasSize(1);
                assertThat(second.err())
                        .contains("127.0.0.1:" + port)
                        .contains("it is serving another client");
            }
        }
    }

    @Test
    @DisplayName("I03: a client that is started first finds its server by itself")
    void aClientStartedFirstWaitsForItsServer() throws Exception {
        int port = Runs.freePort();
        try (Tool client =
                Runs.perf("write-bw", "127.0.0.1", "-p", port + "", "-n", "9", "--timeout", "60")) {
            // A packet at the port proves that the client is asking before any server exists.
            try (DatagramSocket early =
                    new DatagramSocket(new InetSocketAddress("127.0.0.1", port))) {
                early.setSoTimeout(30_000);
                early.receive(new DatagramPacket(new byte[2000], 2000));
            }
            try (Tool server = Runs.perf("write-bw", "-p", port + "", "--bind", "127.0.0.1")) {
                client.awaitSuccess(60);
                server.awaitSuccess(20);
            }
        }
    }

    @Test
    @DisplayName("I03: a client without server ends at its budget and says who did not answer")
    void aClientWithoutServerEndsAtItsBudgetAndSaysWho() throws Exception {
        int port = Runs.freePort();
        InProcess client = Runs.client("write-bw --timeout 1 --json", port);

        assertThat(client.exitCode()).isEqualTo(1);
        assertThat(client.errLines()).hasSize(1);
        assertThat(client.err()).contains("no answer from 127.0.0.1:" + port);
        JsonNode document = Runs.document(client.out());
        assertThat(document.get("error").asString()).contains("no answer from 127.0.0.1:");
        assertThat(document.get("exit_code").asInt()).isEqualTo(1);
        assertThat(document.get("configuration").get("payload_mtu").isNull()).isTrue();
    }
}
