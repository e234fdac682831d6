package dev.metaroce.tools.environment;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.tools.Tool;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** Who does not answer, and why: closed ports, missing routes, cut ways and dead processes. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class UnreachableIT {
    private static final String FAR = "10.7.5.1";

    private static final String[] METAROCE = {"-p", "5000"};
    private static final String[] ROCE = {"--transport", "rocev2", "--bind", "10.7.4.1"};

    private Netns near;
    private Netns router;
    private Netns far;

    private void build(NetLab lab) {
        near = lab.add("near");
        router = lab.add("router");
        far = lab.add("far");
        lab.join(near, "veth0", router, "left", 1500);
        lab.join(router, "right", far, "veth0", 1500);
        near.address("veth0", "10.7.4.1/24");
        router.address("left", "10.7.4.2/24");
        router.address("right", "10.7.5.2/24");
        far.address("veth0", FAR + "/24");
        near.ip("route", "add", "10.7.5.0/24", "via", "10.7.4.2");
        far.ip("route", "add", "10.7.4.0/24", "via", "10.7.5.2");
        router.run("sysctl", "-w", "net.ipv4.ip_forward=1");
    }

    /** A command line of perf. */
    private static String[] line(String[] how, String... arguments) {
        return Stream.of(Stream.of("perf"), Stream.of(arguments), Stream.of(how))
                .flatMap(words -> words)
                .toArray(String[]::new);
    }

    /** From now on the router drops what is for the far host, and tells nobody. */
    private void cut() {
        router.ip("route", "add", "blackhole", FAR + "/32");
    }

    @ParameterizedTest
    @CsvSource({
        "metaroce, 10.7.5.1, false, nothing listens on its UDP port 5000",
        "metaroce, 10.7.5.1, true, nothing comes back from there",
        "metaroce, 10.99.0.1, false, unreachable",
        "rocev2, 10.7.5.1, false, nothing listens on its UDP port 4791",
        "rocev2, 10.99.0.1, false, unreachable"
    })
    @DisplayName("C12: a connect ends at its time-out, and says what the system says of the way")
    void c12NobodyAnswers(String transport, String target, boolean isCut, String reason) {
        try (NetLab lab = NetLab.open()) {
            build(lab);
            if (isCut) {
                cut();
            }
            long startNs = System.nanoTime();
            boolean roce = transport.equals("rocev2");
            String[] how = roce ? ROCE : METAROCE;
            try (Tool client = near.metaroce(line(how, "write-bw", target, "--timeout", "2"))) {
                assertThat(client.awaitExit(60)).as(client::toString).isEqualTo(1);
                String at = target + (roce ? ":4791" : ":5000");
                assertThat(client.err().lines().toList().getLast())
                        .contains("no answer from " + at + " within 2.0 s")
                        .containsIgnoringCase(reason);
                assertThat(System.nanoTime() - startNs).isGreaterThan(2_000_000_000L);
            }
        }
    }

    /** With C12 these are the four reasons of case O05, but for the wrong key, which has a name. */
    @Test
    @DisplayName("O05: a process that died and a way that was cut are told from each other")
    void o05DeadProcessAndCutWay() {
        try (NetLab lab = NetLab.open()) {
            build(lab);
            try (Tool server = far.metaroce("perf", "server", "-p", "5000")) {
                server.awaitPort();
                try (Tool client = endless(near)) {
                    server.process().destroyForcibly();
                    expectSilence(client, "nothing listens on its UDP port 5000");
                }
            }
            try (Tool server = far.metaroce("perf", "server", "-p", "5000")) {
                server.awaitPort();
                try (Tool client = endless(near)) {
                    cut();
                    expectSilence(client, "nothing comes back from there");
                }
            }
        }
    }

    private static Tool endless(Netns from) {
        Tool client =
                from.metaroce(
                        "perf",
                        "write-bw",
                        FAR,
                        "-p",
                        "5000",
                        "-D",
                        "60",
                        "--interval",
                        "0.2",
                        "--warm-up",
                        "0");
        client.awaitOut("resent$", 60);
        return client;
    }

    private static void expectSilence(Tool client, String seenNow) {
        assertThat(client.awaitExit(60)).as(client::toString).isEqualTo(1);
        assertThat(client.err())
                .contains(FAR + ":5000: the peer was alive and went silent")
                .contains("cid ")
                .contains("last answer")
                .contains(seenNow);
    }
}
