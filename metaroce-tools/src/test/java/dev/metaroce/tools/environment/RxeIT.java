package dev.metaroce.tools.environment;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.tools.Tool;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import tools.jackson.databind.JsonNode;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** RoCEv2 with another implementation: rdma_rxe of Linux, and programs of perftest on it. */
@Timeout(value = 600, unit = TimeUnit.SECONDS)
class RxeIT {
    private static final int PATIENCE_S = 90;

    /** Patient with an end that runs on a busy machine: 1 s to the first repetition. */
    private static final String PERFTEST = " -d rxe0 -x 1 -F -u 18 -n 20 -s 5000 ";

    /** Over IPv6; its ends meet over IPv4 all the same. */
    private static final String PERFTEST6 = " -d rxe0 -x 2 --ipv6 -F -u 18 -n 20 -s 5000 ";

    /**
     * Every 131st packet of either direction, ours and theirs, is dropped: at the bridge, for what
     * is dropped before is refused to the sender, who tries again at once. Neither end has more
     * than 128 packets on the way: were as many sent again each time as are between two drops, the
     * same one would be lost each time, until its sender gives up.
     */
    private static final String DROPS =
            """
            table bridge drops {
                counter sent {}
                counter received {}
                chain out {
                    type filter hook output priority 0;
                    ether type ip udp dport 4791 numgen inc mod 131 50 counter name sent drop
                }
                chain in {
                    type filter hook input priority 0;
                    ether type ip udp dport 4791 numgen inc mod 131 50 counter name received drop
                }
            }
            """;

    private static NetLab lab;
    private static Netns net;
    private static RxeGuest guest;

    @BeforeAll
    static void boot() {
        lab = NetLab.open();
        net = lab.add("rxe");
        guest = RxeGuest.boot(net);
    }

    @AfterAll
    static void end() {
        if (guest != null) {
            guest.close();
        }
        if (lab != null) {
            lab.close();
        }
    }

    private static Tool perf(String... arguments) {
        List<String> all = new ArrayList<>(List.of("perf"));
        all.addAll(List.of(arguments));
        all.addAll(List.of("--transport", "rocev2", "--exchange", "perftest"));
        return net.metaroce(all.toArray(String[]::new));
    }

    private static Tool server(String here, String test, String... more) {
        List<String> all = new ArrayList<>(List.of(test, "--bind", here));
        all.addAll(List.of(more));
        Tool server = perf(all.toArray(String[]::new));
        server.awaitOut("listening on TCP", PATIENCE_S);
        return server;
    }

    private static JsonNode client(String test, String... more) {
        List<String> all = new ArrayList<>(List.of(test, RxeGuest.ADDRESS, "--json"));
        all.addAll(List.of(more));
        try (Tool client = perf(all.toArray(String[]::new))) {
            assertThat(client.awaitExit(PATIENCE_S)).as(client::toString).isZero();
            return client.json();
        }
    }

    @Test
    void theGuestHasADeviceOfRxe() {
        assertThat(guest.run("ibv_devinfo")).contains("rxe0").contains("PORT_ACTIVE");
    }

    @ParameterizedTest
    @CsvSource({
        "write, " + RxeGuest.HERE + "," + PERFTEST,
        "read, " + RxeGuest.HERE + "," + PERFTEST,
        "send, " + RxeGuest.HERE6 + "," + PERFTEST6
    })
    void aClientOfPerftestIsServed(String test, String here, String options) {
        try (Tool server = server(here, test + "-bw", "-s", "5000")) {
            guest.run("ib_" + test + "_bw " + options + " " + RxeGuest.HERE);
            String said = server.awaitSuccess(PATIENCE_S);
            assertThat(said).contains("client " + RxeGuest.ADDRESS).contains("5000 bytes:");
        }
    }

    @ParameterizedTest
    @CsvSource({
        "write, " + RxeGuest.HERE6 + "," + PERFTEST6,
        "read, " + RxeGuest.HERE + "," + PERFTEST,
        "send, " + RxeGuest.HERE + "," + PERFTEST
    })
    void aServerOfPerftestServes(String test, String here, String options) {
        String job = guest.spawn("ib_" + test + "_bw " + options + " -q 2");
        JsonNode document =
                client(test + "-bw", "--bind", here, "-s", "5000", "-n", "20", "-q", "2");
        guest.join(job);

        assertThat(document.get("iterations").asInt()).isEqualTo(40);
        assertThat(document.get("configuration").get("payload_mtu").asInt()).isEqualTo(1024);
        assertThat(document.get("data_packets").asInt()).isEqualTo(test.equals("read") ? 40 : 200);
    }

    @Test
    void writesReadsAndAtomicsOfRxeAreRight() {
        try (Tool server = server(RxeGuest.HERE, "write-bw", "-s", "64k")) {
            assertThat(guest.run("peer 1 check " + RxeGuest.HERE)).contains("all as it has to be");
            assertThat(server.awaitExit(PATIENCE_S)).as(server::toString).isZero();
        }
    }

    @Test
    void ourWritesArriveWholeAtRxe() {
        String job = guest.spawn("peer 1 hold 60001");
        client("write-bw", "-s", "60001", "-n", "20");
        assertThat(guest.join(job)).contains("all as it has to be");
    }

    /** GID 1 of the guest is its IPv4 address, GID 2 its IPv6 address. */
    @ParameterizedTest
    @CsvSource({"1, " + RxeGuest.HERE, "2, " + RxeGuest.HERE6})
    void messagesBothWaysAreRightAndSoAreOurReadsAndAtomics(int gid, String here) {
        String job = guest.spawn("peer " + gid + " echo");
        try (Tool echo = Tool.start(net.launcher(), Echo.class, here, RxeGuest.ADDRESS)) {
            assertThat(echo.awaitSuccess(PATIENCE_S))
                    .containsPattern("all 22 .* missing here [1-9]\\d* there [1-9]");
        }
        assertThat(guest.join(job)).contains("all as it has to be");
    }

    @Test
    void aClientOfRdmaCmReachesUs() {
        try (Tool server = Tool.start(net.launcher(), Rping.class, "serve", RxeGuest.HERE)) {
            server.awaitOut("listening", PATIENCE_S);
            guest.run("rping -c -V -C 5 -S 2500 -a " + RxeGuest.HERE);
            assertThat(server.awaitSuccess(PATIENCE_S)).contains("served 5");
        }
    }

    @Test
    void aServerOfRdmaCmIsReached() {
        String job = guest.spawn("rping -s -S 4000 -a " + RxeGuest.ADDRESS);
        try (Tool client =
                Tool.start(
                        net.launcher(),
                        Rping.class,
                        "dial",
                        RxeGuest.HERE,
                        RxeGuest.ADDRESS,
                        "5")) {
            assertThat(client.awaitSuccess(PATIENCE_S)).contains("equal 5, CLOSED");
        }
        guest.join(job);
    }

    @Test
    void perftestRunsOverRdmaCmBothWays() {
        try (Tool server = Tool.start(net.launcher(), CmPerftest.class, "serve", RxeGuest.HERE)) {
            server.awaitOut("listening", PATIENCE_S);
            guest.run("ib_write_bw" + PERFTEST + "-R " + RxeGuest.HERE);
            assertThat(server.awaitSuccess(PATIENCE_S)).contains("16 answers, 100 data packets");
        }
        String job = guest.spawn("ib_send_bw" + PERFTEST + "-R");
        try (Tool client =
                Tool.start(
                        net.launcher(),
                        CmPerftest.class,
                        "dial",
                        RxeGuest.HERE,
                        RxeGuest.ADDRESS,
                        "send",
                        "20")) {
            assertThat(client.awaitSuccess(PATIENCE_S)).contains("20 messages, CLOSED CLOSED");
        }
        guest.join(job);
    }

    @Test
    void whatTheNetworkDropsIsSentAgain() {
        Shell.Result nft = Shell.run("nft", "--version");
        Assumptions.assumeTrue(nft.exitCode() == 0, () -> "needs nftables: " + nft);
        net.run("nft", DROPS);
        try {
            writesReadsAndAtomicsOfRxeAreRight();
            messagesBothWaysAreRightAndSoAreOurReadsAndAtomics(1, RxeGuest.HERE);
            String job = guest.spawn("peer 1 hold 60001");
            JsonNode document = client("write-bw", "-s", "60001", "-n", "20");
            assertThat(guest.join(job)).contains("all as it has to be");

            assertThat(document.get("retransmitted_packets").asInt()).isPositive();
            for (String direction : List.of("sent", "received")) {
                assertThat(net.run("nft", "list", "counter", "bridge", "drops", direction))
                        .containsPattern("packets [1-9]");
            }
        } finally {
            net.run("nft", "delete", "table", "bridge", "drops");
        }
    }
}
