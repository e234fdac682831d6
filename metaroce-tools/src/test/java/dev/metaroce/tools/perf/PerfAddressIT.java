package dev.metaroce.tools.perf;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.metaroce.tools.InProcess;
import dev.metaroce.tools.Tool;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import tools.jackson.databind.JsonNode;

import java.net.DatagramSocket;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** Addresses and ports as users write them. */
@Timeout(value = 180, unit = TimeUnit.SECONDS)
class PerfAddressIT {
    private static final String NOBODY = "65534";

    private static JsonNode configuration(InProcess client) {
        assertThat(client.exitCode()).as(client.err()).isZero();
        return Runs.document(client.out()).get("configuration");
    }

    private static InProcess dial(String host, int port) {
        String line = "perf write-bw -n 50 --warm-up 0 --json -p " + port + " " + host;
        return InProcess.run(line.split(" "));
    }

    @Test
    @DisplayName("I02: a taken port is named with address and cause")
    void aTakenPortIsNamedWithAddressAndCause() throws Exception {
        try (DatagramSocket taken = new DatagramSocket(0, InetAddress.ofLiteral("127.0.0.1"))) {
            String port = taken.getLocalPort() + "";
            for (String server : List.of("write-bw", "server")) {
                InProcess run = InProcess.run("perf", server, "--bind", "127.0.0.1", "-p", port);

                assertThat(run.exitCode()).isEqualTo(3);
                assertThat(run.errLines()).hasSize(1);
                assertThat(run.err())
                        .contains("127.0.0.1")
                        .contains(port)
                        .containsIgnoringCase("in use");
            }
        }
    }

    @Test
    @DisplayName("I02: a port that only root may have is named with address and cause")
    void aPrivilegedPortIsNamedWithAddressAndCause(@TempDir Path directory) throws Exception {
        List<String> asNobody = new ArrayList<>();
        boolean namespaces = succeeds("unshare", "-n", "true");
        if (succeeds("sh", "-c", "test $(id -u) = 0")) {
            assumeTrue(succeeds("setpriv", "--version"), "setpriv is missing");
            // A network of its own, so that its first unprivileged port is the usual one.
            asNobody.addAll(namespaces ? List.of("unshare", "-n") : List.of());
            asNobody.addAll(List.of("setpriv", "--reuid", NOBODY, "--clear-groups"));
        }
        assumeTrue(
                asNobody.contains("unshare")
                        || succeeds(
                                "sh",
                                "-c",
                                "test $(cat /proc/sys/net/ipv4/ip_unprivileged_port_start) -gt"
                                        + " 999"),
                "every port is free for all here");
        // Somewhere that nobody can read.
        Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxr-xr-x"));
        Path jar = Files.copy(Path.of(Tool.jar()), directory.resolve("metaroce.jar"));

        try (Tool server =
                Tool.start(
                        asNobody,
                        jar.toString(),
                        List.of(),
                        List.of("perf", "server", "-p", "999", "--bind", "0.0.0.0"))) {
            assertThat(server.awaitExit(30)).as(server::toString).isEqualTo(3);
            assertThat(server.err().lines()).hasSize(1);
            assertThat(server.err())
                    .contains("0.0.0.0")
                    .contains("999")
                    .contains("Permission denied");
        }
    }

    private static boolean succeeds(String... command) throws InterruptedException {
        try {
            Process process = new ProcessBuilder(command).start();
            return process.waitFor(10, TimeUnit.SECONDS) && process.exitValue() == 0;
        } catch (java.io.IOException e) {
            return false;
        }
    }

    @ParameterizedTest
    @DisplayName("I04: IPv6 needs no option, in any form")
    @ValueSource(strings = {"::1", "[::1]:%d", "[::1]"})
    void ipv6NeedsNoExtraOption(String form) {
        try (Tool server = Runs.perf("write-bw", "-p", "0", "--bind", "::1")) {
            int port = server.awaitPort();

            JsonNode configuration = configuration(dial(form.formatted(port), port));

            assertThat(configuration.get("remote_address").asString()).isEqualTo("[::1]:" + port);
        }
    }

    @Test
    @DisplayName("I04: a link-local address works with its zone and is refused with a hint without")
    void aLinkLocalAddressNeedsItsZone() throws Exception {
        Optional<Inet6Address> own = linkLocal();
        assumeTrue(own.isPresent(), "no interface has a link-local address");
        String zoned = own.get().getHostAddress();
        String bare = zoned.substring(0, zoned.indexOf('%'));
        try (Tool server = Runs.perf("server", "-p", "0", "--bind", zoned)) {
            int port = server.awaitPort();

            JsonNode configuration = configuration(dial(zoned, port));
            assertThat(configuration.get("remote_address").asString())
                    .contains(zoned.substring(zoned.indexOf('%')) + "]:" + port);

            InProcess without = dial(bare, port);
            assertThat(without.exitCode()).isEqualTo(2);
            assertThat(without.errLines()).hasSize(1);
            assertThat(without.err()).contains(bare).contains("needs a zone");
        }
    }

    private static Optional<Inet6Address> linkLocal() throws Exception {
        return NetworkInterface.networkInterfaces()
                .filter(link -> !link.isVirtual())
                .flatMap(NetworkInterface::inetAddresses)
                .filter(address -> address.isLinkLocalAddress() && address instanceof Inet6Address)
                .map(Inet6Address.class::cast)
                .findFirst();
    }

    @ParameterizedTest
    @DisplayName("I04: of a name with two addresses the one that answers is found")
    @ValueSource(strings = {"127.0.0.1", "::1"})
    void aNameWithTwoAddressesFindsTheOneThatAnswers(String listens, @TempDir Path directory)
            throws Exception {
        Path hosts = directory.resolve("hosts");
        Files.writeString(hosts, "127.0.0.1 both.test\n::1 both.test\n");
        try (Tool server = Runs.perf("write-bw", "-p", "0", "--bind", listens);
                Tool client = dialByName(hosts, server.awaitPort())) {
            assertThat(client.awaitExit(60)).as(client::toString).isZero();

            JsonNode configuration = Runs.document(client.out()).get("configuration");
            assertThat(configuration.get("remote_address").asString()).contains(listens);
        }
    }

    private static Tool dialByName(Path hosts, int port) {
        return Tool.start(
                List.of("-Djdk.net.hosts.file=" + hosts),
                List.of("perf", "write-bw", "both.test", "-p", port + "", "-n", "9", "--json"));
    }

    @ParameterizedTest
    @DisplayName("I04: a server on a wildcard address answers on every address of its family")
    @CsvSource({
        "0.0.0.0, 127.0.0.1",
        "'::', ::1",
        "'::', 127.0.0.1",
        "'', ::1",
        "'', 127.0.0.1",
    })
    void aWildcardServerAnswers(String bind, String host) {
        List<String> arguments = new ArrayList<>(List.of("perf", "server", "-p", "0"));
        arguments.addAll(bind.isEmpty() ? List.of() : List.of("--bind", bind));
        try (Tool server = Tool.start(arguments.toArray(String[]::new))) {
            int port = server.awaitPort();

            JsonNode configuration = configuration(dial(host, port));

            assertThat(configuration.get("remote_address").asString()).contains(host);
        }
    }
}
