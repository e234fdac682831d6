package dev.metaroce.tools.environment;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.tools.Tool;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import tools.jackson.databind.JsonNode;

import java.util.concurrent.TimeUnit;

/** Links that carry little: those that say so, and those that do not. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class NarrowLinkIT {
    @Test
    void nothingIsCutOnALinkOf1280Bytes_E03() {
        try (NetLab lab = NetLab.open()) {
            Netns near = lab.add("near");
            Netns far = lab.add("far");
            lab.join(near, "veth0", far, "veth0", 1280);
            near.address("veth0", "10.7.0.1/24");
            near.address("veth0", "fd07::1/64");
            far.address("veth0", "10.7.0.2/24");
            far.address("veth0", "fd07::2/64");
            try (Tool server = far.metaroce("perf", "write-bw", "-p", "0", "--keep")) {
                int port = server.awaitPort();
                transfer(near, "10.7.0.2", port);
                transfer(near, "fd07::2", port);
            }
            assertThat(near.fragments()).isZero();
            assertThat(far.fragments()).isZero();

            // The counters see what there is to see, in either family.
            sendTooLong(near, "10.7.0.2");
            long ofIpv4 = near.fragments();
            assertThat(ofIpv4).isPositive();
            sendTooLong(near, "fd07::2");
            assertThat(near.fragments()).isGreaterThan(ofIpv4);
        }
    }

    private static void transfer(Netns from, String to, int port) {
        try (Tool client =
                from.metaroce(
                        "perf",
                        "write-bw",
                        to,
                        "-p",
                        port + "",
                        "-n",
                        "200",
                        "--warm-up",
                        "0",
                        "--json")) {
            assertThat(client.awaitExit(60)).as(client::toString).isZero();
            JsonNode document = client.json();
            assertThat(document.get("data_intact").asBoolean()).isTrue();
            assertThat(document.get("configuration").get("payload_mtu").asInt()).isEqualTo(1152);
        }
    }

    private static void sendTooLong(Netns from, String to) {
        from.run("bash", "-c", "head -c 3000 /dev/zero >/dev/udp/" + to + "/9");
    }

    /**
     * The narrow link is behind a router, where neither end sees its MTU. In one case the router's
     * complaints are believed, so that the sender's own system refuses long packets; in the other
     * they are ignored, as where a firewall eats them.
     */
    @ParameterizedTest
    @ValueSource(strings = {"", "mtu lock 9000"})
    void aLinkOnTheWayThatIsTooNarrowIsNamed_E04(String routeOptions) {
        try (NetLab lab = NetLab.open()) {
            Netns near = lab.add("near");
            Netns router = lab.add("router");
            Netns far = lab.add("far");
            lab.join(near, "veth0", router, "wide", 9000);
            lab.join(router, "narrow", far, "veth0", 9000);
            router.ip("link", "set", "narrow", "mtu", "1400");
            near.address("veth0", "10.7.1.1/24");
            router.address("wide", "10.7.1.2/24");
            router.address("narrow", "10.7.2.2/24");
            far.address("veth0", "10.7.2.1/24");
            near.ip(("route add 10.7.2.0/24 via 10.7.1.2 " + routeOptions).strip().split(" "));
            far.ip("route", "add", "10.7.1.0/24", "via", "10.7.2.2");
            router.run("sysctl", "-w", "net.ipv4.ip_forward=1");
            try (Tool server = far.metaroce("perf", "write-bw", "-p", "0");
                    Tool client =
                            near.metaroce(
                                    "perf",
                                    "write-bw",
                                    "10.7.2.1",
                                    "-p",
                                    server.awaitPort() + "",
                                    "--mtu",
                                    "4096")) {
                assertThat(client.awaitExit(60)).as(client::toString).isEqualTo(1);
                assertThat(client.err().lines()).hasSize(1);
                assertThat(client.err())
                        .contains("packets of 4,148 bytes do not get through though those of up to")
                        .contains("choose a smaller payload MTU (perf: --mtu)");
            }
        }
    }
}
