package dev.metaroce.tools.perf;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.tools.InProcess;
import dev.metaroce.tools.Tool;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import tools.jackson.databind.JsonNode;

import java.util.concurrent.TimeUnit;

/** {@code perf ping}. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class PingIT {
    @Test
    void eachRoundTripIsALineAndTheEndIsASummary() {
        try (Tool server = Runs.server("write-bw")) {
            InProcess ping =
                    Runs.client("ping -c 3 -i 0.01 -s 100 --percentiles 90", server.awaitPort());

            assertThat(ping.exitCode()).as(ping.err()).isZero();
            assertThat(ping.out().lines().filter(line -> line.contains("time="))).hasSize(3);
            assertThat(ping.out())
                    .containsPattern("(?m)^100 bytes from 127.0.0.1:\\d+: seq=3 time=[0-9.]+ usec$")
                    .contains("3 sent, 3 received, 0 lost (0.0 %)")
                    .containsPattern(
                            "round trip min/avg/max/stdev/90% = ([0-9.]+/){4}[0-9.]+ usec");
            assertThat(server.awaitSuccess(20)).contains(": ping");
        }
    }

    @Test
    void theSummaryIsADocument() {
        try (Tool server = Runs.server("server")) {
            InProcess ping = Runs.client("ping -c 5 -i 0.01 --json", server.awaitPort());

            assertThat(ping.exitCode()).as(ping.err()).isZero();
            JsonNode document = Runs.document(ping.out());
            assertThat(document.get("error").isNull()).isTrue();
            assertThat(document.get("sent").asInt()).isEqualTo(5);
            assertThat(document.get("received").asInt()).isEqualTo(5);
            double min = document.get("rtt_min_us").asDouble();
            assertThat(min).isPositive();
            assertThat(document.get("rtt_p50_us").asDouble())
                    .isBetween(min, document.get("rtt_max_us").asDouble());
        }
    }

    @Test
    void anInterruptEndsItWithTheSummary() throws Exception {
        try (Tool server = Runs.server("server");
                Tool ping =
                        Runs.perf("ping", "127.0.0.1", "-p", server.awaitPort() + "", "-i", "60")) {
            ping.awaitOut("seq=1 time=", 30);
            new ProcessBuilder("kill", "-INT", ping.process().pid() + "").start().waitFor();

            assertThat(ping.awaitSuccess(20)).contains("1 sent, 1 received, 0 lost");
        }
    }

    @Test
    void nobodyThereIsAFailureAndSaysWho() throws Exception {
        int port = Runs.freePort();
        InProcess ping = Runs.client("ping -c 2 -i 0.1 --timeout 0.2", port);

        assertThat(ping.exitCode()).isEqualTo(1);
        assertThat(ping.out()).contains("2 sent, 0 received, 2 lost (100.0 %)");
        assertThat(ping.errLines()).hasSize(1);
        assertThat(ping.err()).contains("no answer from 127.0.0.1:" + port);

        InProcess json = Runs.client("ping -c 1 --timeout 0.2 --json", port);
        JsonNode document = Runs.document(json.out());
        assertThat(document.get("error").asString()).contains("no answer from 127.0.0.1:");
        assertThat(document.get("exit_code").asInt()).isEqualTo(1);
        assertThat(document.get("rtt_avg_us").isNull()).isTrue();
    }

    @Test
    void itGoesOnWhenTheServerComesBack() {
        try (Tool first = Runs.server("server")) {
            String port = first.awaitPort() + "";
            try (Tool ping =
                    Runs.perf("ping", "127.0.0.1", "-p", port, "-i", "0.1", "--timeout", "0.5")) {
                ping.awaitOut("seq=1 time=", 30);
                first.process().destroyForcibly().onExit().join();
                ping.awaitOut("lost: no answer from 127.0.0.1:" + port, 30);

                try (Tool second = Runs.perf("server", "-p", port, "--bind", "127.0.0.1")) {
                    ping.awaitOut("time=", 30);
                    assertThat(second.process().isAlive()).isTrue();
                }
            }
        }
    }
}
