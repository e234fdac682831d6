package dev.metaroce.tools.environment;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.tools.Tool;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * A machine with loopback, an interface that is down, a bridge as container software leaves it, and
 * two networks; the peer is in the second.
 */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class ManyInterfacesIT {
    private static final String PEER = "10.7.10.2";

    private final NetLab lab = NetLab.open();
    private final Netns here = lab.add("here");
    private final Netns peer = lab.add("peer");

    ManyInterfacesIT() {
        here.ip("link", "add", "eth2", "type", "veth", "peer", "name", "loose");
        here.address("eth2", "10.7.2.1/24");
        here.ip("link", "add", "docker0", "type", "bridge");
        here.address("docker0", "172.17.0.1/16");
        here.ip("link", "set", "docker0", "up");
        lab.join(here, "eth1", peer, "eth1", 1500);
        lab.join(here, "eth10", peer, "eth10", 1500);
        here.address("eth1", "10.7.1.1/24");
        here.address("eth10", "10.7.10.1/24");
        here.address("eth10", "fd07::1/64");
        peer.address("eth1", "10.7.1.2/24");
        peer.address("eth10", PEER + "/24");
        peer.address("eth10", "fd07::2/64");
    }

    @AfterEach
    void remove() {
        lab.close();
    }

    private Tool client(String address, int port, String... more) {
        List<String> arguments =
                new ArrayList<>(List.of("perf", "write-bw", address, "-p", port + "", "-n", "50"));
        arguments.addAll(List.of("--warm-up", "0", "--json"));
        arguments.addAll(List.of(more));
        return here.metaroce(arguments.toArray(String[]::new));
    }

    private static void expectIntactFrom(String local, Tool client) {
        assertThat(client.awaitExit(60)).as(client::toString).isZero();
        assertThat(client.json().get("data_intact").asBoolean()).isTrue();
        assertThat(client.json().get("configuration").get("local_address").asString())
                .startsWith(local + ":");
    }

    @ParameterizedTest
    @CsvSource({PEER + ", 10.7.10.1, 10.7.10.1", "fd07::2, [fd07::1], [fd07:0:0:0:0:0:0:1]"})
    void theRouteChoosesTheSourceAndItIsPrinted_E08(String target, String local, String seen) {
        try (Tool server = peer.metaroce("perf", "write-bw", "-p", "0");
                Tool client = client(target, server.awaitPort())) {
            expectIntactFrom(local, client);
            assertThat(server.awaitSuccess(20)).contains("client " + seen + ":");
        }
    }

    @Test
    void anExactAddressCanBeBoundAtBothEnds_E08() {
        try (Tool server = peer.metaroce("perf", "write-bw", "-p", "0", "--bind", PEER);
                Tool client = client(PEER, server.awaitPort(), "--bind", "10.7.10.1")) {
            expectIntactFrom("10.7.10.1", client);
        }
    }

    /** The address of another interface than the one that leads there is used when asked for. */
    @Test
    void theAddressOfAnotherInterfaceIsKept_E08() {
        peer.ip("route", "add", "10.7.1.1/32", "via", "10.7.10.1");
        try (Tool server = peer.metaroce("perf", "write-bw", "-p", "0");
                Tool client = client(PEER, server.awaitPort(), "--bind", "10.7.1.1")) {
            expectIntactFrom("10.7.1.1", client);
        }
    }

    /** Interfaces are chosen by address alone: no name, and no part of one, stands for another. */
    @ParameterizedTest
    @CsvSource({"eth1, unknown host \"eth1\"", "docker, unknown host", "10.7.10.9, no such"})
    void namesAndPrefixesMatchNothing_E08(String bind, String why) {
        try (Tool client = client(PEER, 9, "--bind", bind)) {
            assertThat(client.awaitExit(60)).as(client::toString).isIn(2, 3);
            assertThat(client.err().lines()).hasSize(1);
            assertThat(client.err()).contains(bind).contains(why);
        }
    }
}
