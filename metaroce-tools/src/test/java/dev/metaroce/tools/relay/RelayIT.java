package dev.metaroce.tools.relay;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.tools.Tool;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import tools.jackson.databind.JsonNode;

import java.util.concurrent.TimeUnit;

@Timeout(value = 120, unit = TimeUnit.SECONDS)
class RelayIT {
    @Test
    void perfThroughALossyRelayIsIntactAndTheCountersTellTheLoss() {
        try (Tool server = Tool.start("perf", "write-bw", "-p", "0", "--bind", "127.0.0.1");
                Tool relay =
                        Tool.start(
                                "relay",
                                "--listen",
                                "0",
                                "--to",
                                "127.0.0.1:" + server.awaitPort(),
                                "--drop",
                                "2%",
                                "--dup",
                                "1%",
                                "--reorder",
                                "1%",
                                "--seed",
                                "7")) {
            int port = relay.awaitPort();
            try (Tool client =
                    Tool.start(
                            "perf",
                            "write-bw",
                            "127.0.0.1",
                            "-p",
                            port + "",
                            "-n",
                            "500",
                            "--json",
                            "--warm-up",
                            "0")) {
                assertThat(client.awaitExit(90)).as(client::toString).isZero();
                JsonNode row = client.json();
                assertThat(row.get("data_intact").asBoolean()).isTrue();
                assertThat(row.get("retransmitted_packets").asLong()).isPositive();
            }
            // A request to end, as Ctrl-C is one; Process.destroy would close the streams too.
            relay.process().toHandle().destroy();
            relay.awaitExit(10);
            assertThat(relay.out())
                    .containsPattern("dropped +[1-9]")
                    .containsPattern("duplicated +[1-9]")
                    .containsPattern("reordered +[1-9]");
        }
    }

    @Test
    void aRelayWithADurationEndsByItselfWithADocument() {
        try (Tool relay =
                Tool.start(
                        "relay", "--listen", "0", "--to", "127.0.0.1:9", "-D", "0.2", "--json")) {
            assertThat(relay.awaitExit(30)).as(relay::toString).isZero();

            assertThat(relay.json().get("to_target").get("received").asLong()).isZero();
            assertThat(relay.json().get("error").isNull()).isTrue();
        }
    }
}
