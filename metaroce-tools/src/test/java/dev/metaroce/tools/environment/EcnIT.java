package dev.metaroce.tools.environment;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.tools.Tool;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import tools.jackson.databind.JsonNode;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** A network that sets congestion marks, and what the receiver makes of them. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class EcnIT {
    private static final int PAYLOAD_BYTES = 1024;

    /** A WRITE of one packet: UDP payload with our headers and checksum. */
    private static final int DATAGRAM_BYTES = 48 + PAYLOAD_BYTES + 4;

    /**
     * Before routing at the receiver: counts what comes marked and unmarked, and marks a tenth of
     * the full data packets. The first byte of UDP payload is version and type: 0x11 is DATA, 0x12
     * is ACK. The kernel may carry many datagrams as one packet here; a mark is for all of them.
     * One that ends with a short datagram, such as a probe, is counted apart and never marked.
     */
    private static final String RULES =
            """
            table inet lab {
                counter data {}
                counter mixed {}
                counter ect0 {}
                counter ce {}
                chain marks {
                    type filter hook prerouting priority 0;
                    meta l4proto udp @th,64,8 0x11 udp length { FULL } jump full
                    meta l4proto udp @th,64,8 0x11 udp length > 1084 counter name mixed
                }
                chain full {
                    counter name data
                    ip ecn ect0 counter name ect0
                    ip6 ecn ect0 counter name ect0
                    ip ecn ect0 numgen random mod 100 < 10 counter name ce ip ecn set ce
                    ip6 ecn ect0 numgen random mod 100 < 10 counter name ce ip6 ecn set ce
                    accept
                }
            }
            """
                    .replace("FULL", fullLengths());

    /** At the sender: answers must not be marked as ECN-capable. */
    private static final String ANSWERS =
            """
            table inet lab {
                counter answers {}
                counter capable {}
                chain marks {
                    type filter hook prerouting priority 0;
                    meta l4proto udp @th,64,8 0x12 counter name answers
                    meta l4proto udp @th,64,8 0x12 ip ecn != not-ect counter name capable
                    meta l4proto udp @th,64,8 0x12 ip6 ecn != not-ect counter name capable
                }
            }
            """;

    /** UDP lengths of what the kernel may carry as one packet: up to 64 KiB of full datagrams. */
    private static String fullLengths() {
        return IntStream.rangeClosed(1, 65_535 / DATAGRAM_BYTES)
                .mapToObj(datagrams -> String.valueOf(8 + datagrams * DATAGRAM_BYTES))
                .collect(Collectors.joining(", "));
    }

    private record Count(long packets, long bytes) {
        /** Datagrams of full size in them; each packet has one header of IP and UDP. */
        long datagrams(boolean ipv6) {
            assertThat(payload(ipv6) % DATAGRAM_BYTES).isZero();
            return payload(ipv6) / DATAGRAM_BYTES;
        }

        long payload(boolean ipv6) {
            return bytes - packets * (ipv6 ? 48 : 28);
        }
    }

    private static void load(Netns space, String rules) throws IOException {
        Path file = Files.createTempFile("rules", ".nft");
        try {
            Files.writeString(file, rules);
            space.run("nft", "-f", file.toString());
        } finally {
            Files.delete(file);
        }
    }

    private static Count count(Netns space, String counter) {
        String text = space.run("nft", "list", "counter", "inet", "lab", counter);
        Matcher numbers = Pattern.compile("packets (\\d+) bytes (\\d+)").matcher(text);
        assertThat(numbers.find()).as(text).isTrue();
        return new Count(Long.parseLong(numbers.group(1)), Long.parseLong(numbers.group(2)));
    }

    private NetLab lab;
    private Netns near;
    private Netns far;

    @BeforeEach
    void build() throws IOException {
        Shell.Result nft = Shell.run("nft", "--version");
        Assumptions.assumeTrue(nft.exitCode() == 0, () -> "needs package nftables: " + nft);
        lab = NetLab.open();
        near = lab.add("near");
        far = lab.add("far");
        lab.join(near, "veth0", far, "veth0", 1500);
        near.address("veth0", "10.7.0.1/24");
        near.address("veth0", "fd07::1/64");
        far.address("veth0", "10.7.0.2/24");
        far.address("veth0", "fd07::2/64");
        load(near, ANSWERS);
        load(far, RULES);
    }

    @AfterEach
    void remove() {
        lab.close();
    }

    /** Runs a transfer whose data packets are all of the same size; returns the report. */
    private JsonNode transfer(String target, String receiver, String sender) {
        String serve = "perf write-bw -p 0 --bind %s %s";
        String write = "perf write-bw %s -p %d -s 1024 --mtu 1024 -n 20000 --warm-up 0 --json %s";
        try (Tool server = far.metaroce(words(serve.formatted(target, receiver)));
                Tool client =
                        near.metaroce(words(write.formatted(target, server.awaitPort(), sender)))) {
            assertThat(client.awaitExit(60)).as(client::toString).isZero();
            JsonNode report = client.json();
            assertThat(report.get("data_intact").asBoolean()).isTrue();
            return report;
        }
    }

    private static String[] words(String line) {
        return line.strip().split(" +");
    }

    @ParameterizedTest
    @CsvSource({
        "10.7.0.2, --no-gro, --no-gso",
        "10.7.0.2, '', ''",
        "fd07::2, --no-gro, ''",
        "fd07::2, '', ''"
    })
    void everyMarkIsCountedOnce(String target, String receiver, String sender) {
        JsonNode report = transfer(target, receiver, sender);
        boolean ipv6 = target.contains(":");

        Count data = count(far, "data");
        assertThat(count(far, "ect0")).isEqualTo(data);
        long sent = report.get("data_packets").asLong();
        long resent = report.get("retransmitted_packets").asLong();
        assertThat(data.datagrams(ipv6)).isLessThanOrEqualTo(sent + resent);
        assertThat(data.payload(ipv6) + count(far, "mixed").payload(ipv6))
                .isGreaterThanOrEqualTo(20_000L * DATAGRAM_BYTES);
        // The kernel carried several datagrams as one, unless that was switched off.
        assertThat(data.packets() == data.datagrams(ipv6)).isEqualTo(sender.equals("--no-gso"));

        long marked = count(far, "ce").datagrams(ipv6);
        assertThat(marked).isPositive();
        // A marked packet that is a copy, or finds the socket full, is not accepted.
        assertThat(report.get("receiver").get("counters").get("ce_packets").asLong())
                .isBetween(marked - resent, marked);

        assertThat(count(near, "answers").packets()).isPositive();
        assertThat(count(near, "capable").packets()).isZero();
    }

    @Test
    void withoutEcnNothingIsCapableAndNothingMarked() {
        JsonNode report = transfer("10.7.0.2", "", "--no-ecn");

        assertThat(count(far, "data").payload(false) + count(far, "mixed").payload(false))
                .isGreaterThanOrEqualTo(20_000L * DATAGRAM_BYTES);
        assertThat(count(far, "ect0").packets()).isZero();
        assertThat(report.get("receiver").get("counters").has("ce_packets")).isFalse();
    }
}
