package dev.metaroce.tools.environment;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.tools.Tool;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import tools.jackson.databind.JsonNode;

import java.util.List;
import java.util.concurrent.TimeUnit;

/** RoCEv2 over IPv6, between two addresses of one host. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class RoceAddressIT {
    /** There is one device per address, and loopback has one of IPv6: so two are added. */
    @Test
    @DisplayName("I03, I04: over IPv6 a client that is started first finds its server")
    void overIpv6AClientStartedFirstFindsItsServer() {
        try (NetLab lab = NetLab.open()) {
            Netns host = lab.add("host");
            for (String address : List.of("fd00:7::1/128", "fd00:7::2/128")) {
                host.ip("addr", "add", address, "dev", "lo", "nodad");
            }
            String[] server = {"perf", "write-bw", "--transport", "rocev2", "--bind", "fd00:7::2"};
            try (Tool client =
                    host.metaroce(
                            "perf",
                            "write-bw",
                            "--transport",
                            "rocev2",
                            "--bind",
                            "fd00:7::1",
                            "[fd00:7::2]",
                            "--timeout",
                            "60",
                            "-n",
                            "50",
                            "--json")) {
                try (Tool late = host.metaroce(server)) {
                    JsonNode document = Tool.json(client.awaitSuccess(60));
                    assertThat(document.at("/configuration/remote_address").asString())
                            .isEqualTo("[fd00:7::2]:4791");
                    late.awaitSuccess(20);
                }
            }
        }
    }
}
