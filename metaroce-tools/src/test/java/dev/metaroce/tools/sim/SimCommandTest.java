package dev.metaroce.tools.sim;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.metaroce.tools.InProcess;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import tools.jackson.databind.JsonNode;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** {@code metaroce sim} as a user sees it. */
class SimCommandTest {
    @TempDir private Path directory;

    @Test
    void theSummarySaysHowItWent() {
        InProcess run = Sims.run("--hosts 16 --size 64k");

        assertThat(run.exitCode()).as(run.err()).isZero();
        assertThat(run.err()).isEmpty();
        assertThat(run.out())
                .contains("fat-tree: 16 hosts, 20 switches, 48 links, 1 plane; hosts at 100 Gb/s")
                .contains("permutation: 16 flows, 1 MiB; profile M, 64 paths, MTU 4096 B")
                .contains("16 ended, 0 failed, 0 open")
                .contains("completion [us]", "slowdown", "Jain's index", "at most 1 in use")
                .contains("per idle endpoint", "us simulated in")
                .containsPattern("trace +[0-9a-f]{16}");
    }

    @Test
    void theDocumentSaysTheSame() {
        JsonNode document = Sims.document(0, "--topology star --hosts 3 --size 1M");

        assertThat(document.get("outcome").asString()).isEqualTo("completed");
        assertThat(document.at("/configuration/flows").asInt()).isEqualTo(3);
        assertThat(document.at("/configuration/bytes").asLong()).isEqualTo(3 << 20);
        assertThat(document.get("ended").asInt()).isEqualTo(3);
        double lastUs = document.get("last_end_us").asDouble();
        assertThat(document.at("/completion_us/max").asDouble()).isEqualTo(lastUs);
        assertThat(document.get("goodput_gbps").asDouble())
                .isCloseTo((3 << 20) * 8e-3 / lastUs, within(0.1));
        assertThat(document.at("/slowdown/min").asDouble()).isGreaterThan(1);
        // Each connection was opened by an empty WRITE.
        assertThat(document.at("/packets/data").asInt()).isEqualTo(3 * (256 + 1));
    }

    @Test
    void filesHaveALinePerFlowPortAndSample() throws IOException {
        Path flows = directory.resolve("flows.csv");
        Path ports = directory.resolve("ports.csv");
        Path series = directory.resolve("series.csv");
        Path json = directory.resolve("summary.json");

        InProcess run =
                Sims.run(
                        "--topology star --hosts 4 --workload incast --size 256k --ecn 1k,1k,100"
                                + " --flows "
                                + flows
                                + (" --ports " + ports)
                                + (" --json " + json)
                                + (" --interval 5us --series " + series));

        assertThat(run.exitCode()).as(run.err()).isZero();
        assertThat(run.out()).contains("incast: 3 flows");
        JsonNode document = Sims.valid(Files.readString(json));
        List<String> flowLines = Files.readAllLines(flows);
        assertThat(flowLines).hasSize(1 + 3);
        assertThat(flowLines.get(1)).startsWith("0,h1,h0,262144,0,").endsWith(",ended,0,");
        List<String> portLines = Files.readAllLines(ports);
        assertThat(portLines).hasSize(1 + 2 * 4);
        long marked = portLines.stream().skip(1).mapToLong(line -> column(line, 8)).sum();
        assertThat(marked).isEqualTo(document.at("/packets/marked").asLong()).isPositive();
        List<String> samples = Files.readAllLines(series);
        int times = (int) (document.get("simulated_us").asDouble() / 5);
        assertThat(samples.stream().filter(line -> line.contains(",open_flows,all,")))
                .hasSize(times);
        assertThat(String.join("\n", samples))
                .contains("queue_bytes,switch0->h0,")
                .contains("contexts_in_use_of_one_host,all,3")
                .contains("rate_gbps,flow 0,", "window_bytes,flow 2,", "hint_gbps,flow 1,");
    }

    @Test
    void rocev2SaysWhatItIsAndHowItWent() {
        String arguments = "--transport rocev2 --topology star --hosts 5 --size 1M";

        InProcess run = Sims.run(arguments + " --workload incast --lossless pfc");
        assertThat(run.exitCode()).as(run.err()).isZero();
        assertThat(run.out())
                .contains("incast: 4 flows, 4 MiB; RoCEv2, MTU 4096 B, Go-Back-N repaired, DCQCN")
                .contains("4 ended, 0 failed, 0 open", "0 dropped by switches", "pauses");

        JsonNode document = Sims.document(0, arguments + " --go-back-n naive --dcqcn off");
        assertThat(document.at("/configuration/transport").asString()).isEqualTo("rocev2");
        assertThat(document.at("/configuration/go_back_n").asString()).isEqualTo("naive");
        assertThat(document.at("/configuration/dcqcn").asBoolean()).isFalse();
        assertThat(document.at("/configuration/profile").isNull()).isTrue();
        // No connection took a message, and nothing was lost.
        assertThat(document.at("/packets/data").asInt()).isEqualTo(5 * 256);
        assertThat(document.at("/slowdown/max").asDouble()).isBetween(1.0, 1.05);
    }

    @Test
    void rocev2ConnectsByMessagesWhenCold() {
        JsonNode document =
                Sims.document(
                        0,
                        "--transport rocev2 --topology star --hosts 4 --workload all-to-all"
                                + " --size 200k --connections close --corruption 1 --seed 3");

        assertThat(document.get("ended").asInt()).isEqualTo(12);
        assertThat(document.get("failed").asInt()).isZero();
        assertThat(document.at("/packets/corrupted").asInt()).as("by the ICRC").isPositive();
        assertThat(document.at("/packets/resent").asInt()).isPositive();
    }

    private static long column(String line, int index) {
        return Long.parseLong(line.split(",", -1)[index]);
    }

    @Test
    void samplesChangeNothingOfWhatIsSimulated() {
        String arguments = "--topology star --hosts 4 --workload incast --size 64k";
        String file = " --interval 100ns --series " + directory.resolve("series.csv");

        JsonNode without = Sims.document(0, arguments);
        JsonNode with = Sims.document(0, arguments + file);

        assertThat(with.get("trace_hash")).isEqualTo(without.get("trace_hash"));
        assertThat(with.get("events")).isEqualTo(without.get("events"));
    }

    @Test
    @DisplayName("M01: the same seed gives the same results and hash, on any number of threads")
    void theSameSeedGivesTheSame_M01() {
        String arguments = "--hosts 64 --topology leaf-spine --workload all-to-all --size 1k";

        List<String> again = results(arguments + " --seed 7 --seeds 2 --threads 2");
        List<String> once = results(arguments + " --seed 7 --seeds 2 --threads 1");
        List<String> alone = new ArrayList<>();
        alone.add(result(Sims.document(0, arguments + " --seed 7")));

        assertThat(again).isEqualTo(once);
        assertThat(once.getFirst()).isEqualTo(alone.getFirst());
        assertThat(once.get(0)).isNotEqualTo(once.get(1));
        assertThat(hash(once.get(0))).isNotEqualTo(hash(once.get(1)));
    }

    private static List<String> results(String arguments) {
        List<String> found = new ArrayList<>();
        Sims.document(0, arguments).get("results").forEach(row -> found.add(result(row)));
        return found;
    }

    /** All that is simulated, and nothing of the wall clock. */
    private static String result(JsonNode row) {
        StringBuilder text = new StringBuilder();
        for (String key :
                List.of(
                        "flows",
                        "ended",
                        "last_end_us",
                        "completion_us",
                        "slowdown",
                        "goodput_gbps",
                        "jain_index",
                        "packets",
                        "contexts",
                        "simulated_us",
                        "events",
                        "trace_hash")) {
            text.append(key).append('=').append(row.get(key)).append('\n');
        }
        return text.toString();
    }

    private static String hash(String result) {
        return result.substring(result.indexOf("trace_hash"));
    }

    @Test
    @DisplayName("M02: a flow to a host whose only link is down fails and is told with its bytes")
    void aFlowToAHostWithoutALinkFails_M02() {
        InProcess run =
                Sims.run(
                        "--topology star --hosts 3 --workload outcast --size 4096"
                                + " --connections cold --link-down 0ns:h2/switch0");

        assertThat(run.exitCode()).isEqualTo(1);
        assertThat(run.errLines()).hasSize(1);
        assertThat(run.err())
                .contains("1 of 2 flows failed, the first: flow 1, h0 to h2:")
                .contains("4,096 of 4,096 bytes missing", "no answer");
        assertThat(run.out()).contains("2 ended, 1 failed, 0 open").contains("flow 1, h0 to h2");
    }

    @Test
    @DisplayName("M02: an open flow is told when the time is up")
    void anOpenFlowIsTold_M02() {
        JsonNode document =
                Sims.document(1, "--topology pair --workload outcast --size 1M --max-time 20us");

        assertThat(document.get("outcome").asString()).isEqualTo("time_up");
        assertThat(document.get("simulated_us").asDouble()).isEqualTo(20);
        assertThat(document.get("error").asString())
                .startsWith("1 flow is open at 20.000 us, when --max-time was up, the first: flow");
        JsonNode open = document.get("unfinished").get(0);
        assertThat(open.get("missing_bytes").asLong()).isBetween(1L << 19, (1L << 20) - 1);
        assertThat(open.get("state").asString()).contains("OPEN", "bytes in flight");
    }

    @Test
    @DisplayName("M02: a run in which nothing gets ahead ends")
    void aRunWithoutProgressEnds_M02() {
        JsonNode document =
                Sims.document(
                        1,
                        "--topology pair --workload outcast --size 4k --patience 1ms"
                                + " --link-down 0ns:h0/h1");

        assertThat(document.get("outcome").asString()).isEqualTo("no_progress");
        assertThat(document.get("simulated_us").asDouble()).isBetween(1000.0, 1200.0);
        assertThat(document.at("/unfinished/0/missing_bytes").asLong()).isEqualTo(4096);
    }

    @Test
    @DisplayName("M02: flows that wait for a flow that failed are open, and the run ends")
    void flowsThatWaitForAFailedFlowAreOpen_M02() throws IOException {
        Path matrix = directory.resolve("waits.cm");
        Files.writeString(
                matrix,
                """
                Nodes 3
                Connections 2
                Triggers 1
                0->1 id 1 start 0 size 1000 send_done_trigger 1
                1->2 id 2 trigger 1 size 1000
                trigger id 1 oneshot
                """);

        JsonNode document =
                Sims.document(
                        1,
                        "--topology star --hosts 3 --connections cold"
                                + " --link-down 0ns:h1/switch0 --traffic-matrix "
                                + matrix);

        assertThat(document.get("outcome").asString()).isEqualTo("nothing_left");
        assertThat(document.get("flows").asInt()).isEqualTo(2);
        assertThat(document.get("ended").asInt()).isEqualTo(1);
        assertThat(document.get("error").asString()).startsWith("1 flow is open");
        assertThat(document.at("/unfinished/0/state").asString()).contains("no answer");
    }

    @Test
    @DisplayName("M07: what does not fit into memory is refused with the estimate")
    void whatDoesNotFitIsRefused_M07() {
        InProcess run = Sims.run("--hosts 100000 --seeds 1000 --threads 1000 --size 1k");

        assertThat(run.exitCode()).isEqualTo(3);
        assertThat(run.errLines()).hasSize(1);
        assertThat(run.err())
                .contains("100,000 hosts and", "1000 times at once", "iB before", "per endpoint")
                .contains("METAROCE_JAVA_OPTS=-Xmx");
    }

    @Test
    @DisplayName("M07: a large and idle network costs little")
    void aLargeIdleNetworkCostsLittle_M07() {
        JsonNode document =
                Sims.document(
                        0,
                        "--topology leaf-spine --hosts 2000 --workload incast --senders 1"
                                + " --size 1M");

        assertThat(document.get("events").asLong()).isLessThan(5_000);
        assertThat(document.at("/memory/endpoint_bytes").asLong()).isLessThan(150_000);
    }

    @ParameterizedTest
    @DisplayName("M08: what is wrong with a topology file is told with file and line, exit 2")
    @CsvSource(
            delimiter = '|',
            value = {
                "node_count = 18~HOSTS~LINK                 | :1: | 18",
                "HOSTS~[[links]]~a = 'a'~b = 'nobody'       | :5: | nobody",
                "HOSTS~LINK~LINK                            | :6: | a",
                "HOSTS~LINK~rate = '0G'                     | :6: | 0G",
                "HOSTS~LINK~delay = '-1us'                  | :6: | -1us",
                "~                                          | :1: | empty",
            })
    void aWrongTopologyFileIsTold_M08(String text, String line, String what) throws IOException {
        Path file = directory.resolve("wrong.toml");
        String toml =
                text.replace("HOSTS", "hosts = ['a', 'b']~defaults = {rate = '1G', delay = '1us'}")
                        .replace("LINK", "[[links]]~a = 'a'~b = 'b'")
                        .replace('~', '\n');
        Files.writeString(file, toml);

        InProcess run = Sims.run("--topology-file " + file);

        assertThat(run.exitCode()).as(run.err()).isEqualTo(2);
        assertThat(run.errLines()).hasSize(1);
        assertThat(run.err()).contains("wrong.toml" + line).contains(what);
        assertThat(run.out()).isEmpty();
    }

    @Test
    @DisplayName("M08: hosts linked directly, without a switch, run")
    void hostsLinkedDirectlyRun_M08() throws IOException {
        Path file = directory.resolve("direct.toml");
        Files.writeString(
                file,
                """
                name = "direct"
                hosts = ["left", "right"]

                [[links]]
                a = "left"
                b = "right"
                rate = "100G"
                delay = "1us"
                """);

        InProcess run = Sims.run("--size 4k --topology-file " + file);

        assertThat(run.exitCode()).as(run.err()).isZero();
        assertThat(run.out()).contains("direct: 2 hosts, 0 switches, 1 link", "2 ended");
    }

    @Test
    void aSweepNeverUsesMoreContextsThanThereAre() {
        JsonNode rows =
                Sims.document(0, "--sweep 1,10,40 --contexts 16 --size 4k --threads 2")
                        .get("results");

        assertThat(rows).hasSize(3);
        assertThat(rows.get(0).at("/contexts/peak").asInt()).isEqualTo(1);
        assertThat(rows.get(1).at("/contexts/peak").asInt()).isEqualTo(10);
        assertThat(rows.get(2).at("/contexts/peak").asInt()).isEqualTo(16);
        assertThat(rows.get(2).get("ended").asInt()).isEqualTo(40);
        assertThat(rows.get(2).at("/contexts/queued").asInt()).isPositive();
        assertThat(rows.get(2).at("/contexts/table_bytes"))
                .isEqualTo(rows.get(0).at("/contexts/table_bytes"));
    }

    @Test
    void seedsGetALineEach() {
        InProcess run = Sims.run("--topology star --hosts 4 --size 4k --seed 5 --seeds 3");

        assertThat(run.exitCode()).as(run.err()).isZero();
        assertThat(run.out().lines().map(line -> line.strip().split(" ")[0]))
                .containsExactly("seed", "5", "6", "7");
    }

    @Test
    @DisplayName("M05: switches that hash alike are found and warned of")
    void hashingAlikeIsWarnedOf_M05() {
        String arguments = "--hosts 64 --workload all-to-all --size 1 --profile S";

        InProcess alike = Sims.run(arguments + " --hash-seed=same");
        InProcess apart = Sims.run(arguments + " --hash-seed=own");

        assertThat(alike.exitCode()).as(alike.err()).isZero();
        assertThat(alike.err()).contains("hash polarisation at tier 2");
        assertThat(apart.err()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "--congestion nscc --no-ecn | congestion nscc, no ECN",
                "--path-choice recycled --sack 64 | path choice recycled, SACK 64",
                "--sequence lease --resend other | sequence per lease, resend on another path",
            })
    void theHeaderSaysWhatIsNotAsSpecified(String options, String words) {
        String arguments = "--hosts 4 --size 64k ";

        assertThat(Sims.run(arguments).out()).doesNotContain("as specified");
        assertThat(Sims.run(arguments + options).out())
                .contains(" not as specified: " + words + System.lineSeparator());
        assertThat(Sims.document(0, arguments + options).at("/configuration/mechanisms").size())
                .isEqualTo(2);
    }

    @ParameterizedTest
    @CsvSource({"pfc", "credit"})
    void aLosslessNetworkDropsNothing(String control) {
        String arguments =
                "--topology star --hosts 9 --workload incast --size 256k --ecn 1G,1G,0 --no-hints"
                        + " --buffer 48k";

        JsonNode lossy = Sims.document(0, arguments);
        JsonNode lossless = Sims.document(0, arguments + " --lossless " + control);

        assertThat(lossy.at("/packets/dropped").asLong()).isPositive();
        assertThat(lossless.at("/packets/dropped").asLong()).isZero();
        assertThat(lossless.at("/packets/pauses").asLong()).isPositive();
    }

    @Test
    void contextsThatANicDoesNotKeepCostTime() {
        String arguments = "--topology star --hosts 9 --workload incast --size 256k --nic-miss 1us";

        JsonNode all = Sims.document(0, arguments + " --nic-contexts 8");
        JsonNode few = Sims.document(0, arguments + " --nic-contexts 1");

        double ratio = few.get("last_end_us").asDouble() / all.get("last_end_us").asDouble();
        assertThat(ratio).isGreaterThan(1.5);
    }
}
