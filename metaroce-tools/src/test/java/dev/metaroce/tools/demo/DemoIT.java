package dev.metaroce.tools.demo;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.tools.Tool;
import dev.metaroce.util.Rng;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import tools.jackson.databind.JsonNode;

import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.concurrent.TimeUnit;

@Timeout(value = 180, unit = TimeUnit.SECONDS)
class DemoIT {
    /** No multiple of anything: pieces, packets and words all have a rest. */
    private static final int BYTES = 3_000_017;

    @TempDir private Path directory;
    private Path file;
    private String sha256;

    @BeforeEach
    void writeFile() throws Exception {
        byte[] content = new byte[BYTES];
        Rng rng = new Rng(0xC0FFEE);
        for (int i = 0; i < content.length; i++) {
            content[i] = (byte) rng.nextInt();
        }
        file = Files.write(directory.resolve("file"), content);
        byte[] hash = MessageDigest.getInstance("SHA-256").digest(content);
        sha256 = HexFormat.of().formatHex(hash);
    }

    @Test
    void aFileSurvivesLossInBothProfiles() {
        try (Tool demo = Tool.start("demo", file.toString(), "--loss", "1%", "--json")) {
            assertThat(demo.awaitExit(150)).as(demo::toString).isZero();
            JsonNode document = demo.json();

            assertThat(document.get("file_bytes").asLong()).isEqualTo(BYTES);
            assertThat(document.get("sha256").asString()).isEqualTo(sha256);
            assertThat(document.get("runs")).hasSize(2);
            for (JsonNode run : document.get("runs")) {
                assertThat(run.get("sha256").asString()).isEqualTo(sha256);
                assertThat(run.get("sha256_equal").asBoolean()).isTrue();
                assertThat(run.get("relay_dropped_to_receiver").asLong()).isPositive();
                assertThat(run.get("retransmitted_packets").asLong()).isPositive();
                assertThat(run.get("contexts_peak").asInt()).isEqualTo(1);
                assertThat(run.get("goodput_gbps").asDouble()).isPositive();
            }
        }
    }

    @Test
    void theLifeOfTheContextIdIsShown() {
        try (Tool demo = Tool.start("demo", file.toString(), "--loss", "0", "--size", "1M")) {
            String text = demo.awaitSuccess(150);

            assertThat(text)
                    .contains("profile S: one path, Go-Back-N")
                    .contains("profile M: many paths")
                    .containsPattern("sender +REQUEST")
                    .containsPattern("receiver +GRANT +cid \\d+, epoch \\d+")
                    .containsPattern("receiver +ACTIVE")
                    .containsPattern("receiver +RELEASE")
                    .containsPattern("SHA-256 +equal +equal")
                    .doesNotContain("\u001b[");
        }
    }
}
