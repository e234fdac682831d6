package dev.metaroce.tools.environment;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.tools.Tool;

import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import tools.jackson.databind.JsonNode;

import java.util.concurrent.TimeUnit;

/**
 * Socket buffers of 64 KiB under 64 MiB from 32 endpoints: a warning each, and a transfer that
 * ends. How fast it is compared with the usual buffers, {@code bench/buffers} shows.
 */
@Timeout(value = 180, unit = TimeUnit.SECONDS)
class SmallBuffersIT {
    private static void expectOneWarningEach(Tool tool) {
        for (String[] side :
                new String[][] {{"receive", "net.core.rmem_max"}, {"send", "net.core.wmem_max"}}) {
            assertThat(tool.err().lines())
                    .filteredOn(line -> line.contains("small socket " + side[0] + " buffer"))
                    .hasSize(1)
                    .first()
                    .asString()
                    .containsPattern("has (65536|131072) bytes, wants 4194304;")
                    .contains("sysctl -w " + side[1] + "=4194304");
        }
    }

    private static Tool perf(String sockets, String arguments) {
        String all = "perf write-bw %s --socket-buffer 64k --sockets %s";
        return Tool.start(all.formatted(arguments, sockets).split(" "));
    }

    @ParameterizedTest
    @ValueSource(strings = {"linux", "nio"})
    void areTooSmallAndSaidToBeAndLoseNothing_E01(String sockets) {
        String load = "127.0.0.1 -p %d --initiators 32 -s 64k -n 32 --warm-up 0 --json";
        try (Tool server = perf(sockets, "-p 0 --bind 127.0.0.1");
                Tool client = perf(sockets, load.formatted(server.awaitPort()))) {
            assertThat(client.awaitExit(120)).as(client::toString).isZero();
            JsonNode document = client.json();
            assertThat(document.get("iterations").asLong()).isEqualTo(32 * 32);
            assertThat(document.get("data_intact").asBoolean()).isTrue();
            expectOneWarningEach(client);
            server.awaitSuccess(20);
            expectOneWarningEach(server);
        }
    }
}
