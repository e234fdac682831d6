package dev.metaroce.tools.perf;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.metaroce.tools.InProcess;
import dev.metaroce.tools.Tool;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Cases from the field about documents, figures, counts and thresholds, against one server. */
@Timeout(value = 180, unit = TimeUnit.SECONDS)
class PerfCasesIT {
    private static Tool server;
    private static int port;

    @BeforeAll
    static void startServer() {
        server = Runs.server("server");
        port = server.awaitPort();
    }

    @AfterAll
    static void endServer() {
        assertThat(server.process().isAlive()).as(server::toString).isTrue();
        server.close();
    }

    private static InProcess run(String arguments) {
        return Runs.client(arguments + " --warm-up 0 --timeout 60", port);
    }

    private static JsonNode document(String arguments) {
        InProcess run = run(arguments + " --json");
        assertThat(run.exitCode()).as(run.err()).isZero();
        assertThat(run.err()).isEmpty();
        return Runs.document(run.out());
    }

    @ParameterizedTest
    @DisplayName("I05: one document that fits the schema, for every test and kind of run")
    @ValueSource(
            strings = {
                "write-bw -n 100",
                "write-bw -n 100 -b",
                "write-bw -n 3 -a",
                "write-bw -n 3 -a -b",
                "write-bw -n 50 -q 3 --initiators 4 -s 1k",
                "write-bw -D 0.3 -b -q 2 --interval 0.1",
                "send-bw -n 100",
                "send-bw -n 100 -b -q 2",
                "send-bw -n 3 -a",
                "send-bw -n 3 -a -b",
                "send-bw -n 50 --initiators 4 -s 1k",
                "write-lat -n 50",
                "write-lat -n 3 -a",
                "send-lat -n 50 --percentiles 50,90,99,99.9,99.99",
                "send-lat -n 3 -a",
                "send-lat -n 1",
                "read-bw -n 50 -q 2",
                "read-lat -n 50",
                "atomic-bw -n 200 -q 2 --initiators 2 -Q 16",
                "atomic-lat -n 50",
            })
    void everyRunIsOneDocument(String arguments) {
        JsonNode document = document(arguments);

        List<JsonNode> rows = new ArrayList<>(List.of(document));
        if (document.has("results")) {
            rows = new ArrayList<>(document.get("results").values());
        }
        for (JsonNode row : rows) {
            if (document.get("configuration").get("bidirectional").asBoolean()) {
                Runs.assertDirectionsAddUp(row);
            }
            if (row.has("bw_average_gbps")) {
                Runs.assertAddsUp(row);
            }
            if (row.has("bw_average_gbps") || isPull(arguments)) {
                assertThat(row.get("data_intact").asBoolean()).isTrue();
            }
        }
    }

    /** Latency tests that compare what they brought. */
    private static boolean isPull(String arguments) {
        return arguments.startsWith("read") || arguments.startsWith("atomic");
    }

    @Test
    @DisplayName("I05: the schema refuses documents that are not as they should be")
    void theSchemaIsStrict() {
        ObjectNode right = (ObjectNode) document("write-bw -n 20 -b");
        ObjectNode noRemote = right.deepCopy();
        noRemote.remove("remote");
        ObjectNode noUnit = right.deepCopy();
        noUnit.put("elapsed", 1);
        ObjectNode noNumber = right.deepCopy();
        noNumber.putNull("bw_average_gbps");
        ObjectNode text = right.deepCopy();
        text.put("iterations", "20");
        ObjectNode negative = right.deepCopy();
        ((ObjectNode) negative.get("local")).put("elapsed_s", -1.0);

        assertThat(Runs.violations(right)).isEmpty();
        for (ObjectNode wrong : List.of(noRemote, noUnit, noNumber, text, negative)) {
            assertThat(Runs.violations(wrong)).as(wrong::toString).isNotEmpty();
        }
    }

    @ParameterizedTest
    @DisplayName("I06: in the table, rate times size is the bandwidth in the unit that it names")
    @CsvSource({
        "-s 8, MiB",
        "-s 8 --report_gbits, Gb",
        "-s 8 -b, MiB",
        "-s 8 -b --report_gbits, Gb",
        "-s 65536, MiB",
        "-s 65536 --report_gbits, Gb",
        "-s 65536 -b, MiB",
        "-s 65536 -b --report_gbits, Gb"
    })
    void theTableAddsUpInEveryUnit(String arguments, String unit) {
        InProcess run = run("write-bw -n 300 " + arguments);

        assertThat(run.exitCode()).as(run.err()).isZero();
        assertThat(run.out()).contains("BW average[" + unit + "/sec]");
        assertThat(run.out()).contains("MiB = 2^20 bytes, Gb = 10^9 bits, M = 10^6");
        Matcher row =
                Pattern.compile("(?m)^ (\\d+|  sent|  received) +(\\d+) +\\S+ +(\\S+) +(\\S+) ")
                        .matcher(run.out());
        double bytes = arguments.startsWith("-s 8") ? 8 : 65_536;
        int rows = 0;
        double sum = 0;
        double total = 0;
        while (row.find()) {
            double average = Double.parseDouble(row.group(3));
            double bytesPerSecond = Double.parseDouble(row.group(4)) * 1e6 * bytes;
            double expected = bytesPerSecond / (unit.equals("Gb") ? 1e9 / 8 : 1 << 20);
            assertThat(average).as(run.out()).isCloseTo(expected, within(expected * 0.01));
            sum += rows > 0 ? average : 0;
            total = rows == 0 ? average : total;
            rows++;
        }
        assertThat(rows).as(run.out()).isEqualTo(arguments.contains(" -b") ? 3 : 1);
        assertThat(sum).isCloseTo(rows == 1 ? 0 : total, within(total * 0.01));
    }

    @ParameterizedTest
    @DisplayName("I07: a sweep has 23 rows, each with the same number of messages or time")
    @ValueSource(strings = {"write-bw -a -n 20", "send-lat -a -n 5", "write-bw -a -D 0.1"})
    void aSweepHas23RowsOfTheSameKind(String arguments) {
        JsonNode rows = document(arguments).get("results");

        assertThat(rows).hasSize(23);
        long bytes = 2;
        for (JsonNode row : rows) {
            assertThat(row.get("message_bytes").asLong()).isEqualTo(bytes);
            if (arguments.contains("-n")) {
                assertThat(row.get("iterations")).isEqualTo(rows.get(0).get("iterations"));
            } else {
                assertThat(row.get("elapsed_s").asDouble()).isBetween(0.099, 5.0);
            }
            bytes *= 2;
        }
    }

    @ParameterizedTest
    @DisplayName("I10: exactly as many messages as asked for, whatever the batches are")
    @ValueSource(
            strings = {
                "write-bw -n 1003",
                "write-bw -n 1003 -Q 100 -l 128",
                "write-bw -n 1",
                "write-bw -n 1 -Q 100 -l 128",
                "write-bw -n 1003 -Q 100 -b",
                "send-bw -n 1003 -Q 100 -l 128",
                "send-bw -n 1 -Q 100 -l 128 -b"
            })
    void exactlyAsManyMessagesAsAskedFor(String arguments) {
        JsonNode document = document(arguments + " -s 64");

        int each = arguments.contains("1003") ? 1003 : 1;
        int all = arguments.contains(" -b") ? 2 * each : each;
        assertThat(document.get("iterations").asInt()).isEqualTo(all);
        // A message is one packet: the transport saw as many as the command counted.
        assertThat(document.get("data_packets").asInt()).isEqualTo(all);
        for (String direction : List.of("local", "remote")) {
            if (all != each) {
                assertThat(document.get(direction).get("iterations").asInt()).isEqualTo(each);
                assertThat(document.get(direction).get("data_packets").asInt()).isEqualTo(each);
            }
        }
    }

    @ParameterizedTest
    @DisplayName("I11: beyond a threshold there is a line, an exit code and a verdict of its own")
    @ValueSource(
            strings = {
                "write-bw -n 50 --min-bw 100000",
                "send-bw -n 50 -b --min-bw 100000",
                "write-bw -n 3 -a --min-bw 100000",
                "write-lat -n 50 --max-p99 0.001",
                "send-lat -n 3 -a --max-p99 0.001"
            })
    void beyondAThresholdTheVerdictIsFail(String arguments) {
        InProcess run = run(arguments + " --json");

        boolean bandwidth = arguments.contains("--min-bw");
        assertThat(run.exitCode()).as(run.err()).isEqualTo(4);
        assertThat(run.errLines()).hasSize(1);
        assertThat(run.err())
                .contains(bandwidth ? "below threshold --min-bw" : "above threshold --max-p99");
        JsonNode document = Runs.document(run.out());
        assertThat(document.get("verdict").asString()).isEqualTo("fail");
        assertThat(document.get("verdict_reason")).isEqualTo(document.get("error"));
        assertThat(document.has(arguments.contains(" -a") ? "results" : "iterations")).isTrue();
    }

    @ParameterizedTest
    @DisplayName("I11: on the right side of a threshold the verdict is pass")
    @ValueSource(
            strings = {
                "write-bw -n 50 --min-bw 0.000001",
                "write-bw -n 50 -b --min-bw 0.000001",
                "send-bw -n 3 -a --min-bw 0.000000001",
                "send-lat -n 50 --max-p99 1000000",
            })
    void withinAThresholdTheVerdictIsPass(String arguments) {
        JsonNode document = document(arguments);

        assertThat(document.get("verdict").asString()).isEqualTo("pass");
        assertThat(document.get("verdict_reason").asString()).contains(" is not ");
    }

    @Test
    void intervalsFollowEachOtherAndAddUpToTheRow() {
        JsonNode document = document("write-bw -D 0.5 --interval 0.1");

        JsonNode intervals = document.get("intervals");
        assertThat(intervals.size()).isGreaterThanOrEqualTo(4);
        long messages = 0;
        double end = 0;
        for (JsonNode interval : intervals) {
            assertThat(interval.get("from_s").asDouble()).isCloseTo(end, within(1e-6));
            end = interval.get("to_s").asDouble();
            messages += interval.get("iterations").asLong();
            long bytes = interval.get("iterations").asLong() * 65_536;
            assertThat(interval.get("bytes").asLong()).isEqualTo(bytes);
        }
        assertThat(messages).isEqualTo(document.get("iterations").asLong());
    }

    @Test
    void intervalsAreLinesOfTheTable() {
        InProcess run = run("send-bw -D 0.3 --interval 0.1 --report_gbits");

        assertThat(run.exitCode()).as(run.err()).isZero();
        assertThat(run.out())
                .containsPattern(
                        "(?m)^ +0\\.00 - +0\\.\\d\\d s +\\S+ \\S+ +\\S+ Gb/sec +\\S+ Mpps +\\d+"
                                + " resent$");
    }

    @Test
    void percentilesAreColumnsAndTheHistogramIsAFile(@TempDir Path directory) throws Exception {
        Path csv = directory.resolve("times.csv");
        InProcess run = run("send-lat -n 200 --percentiles 90,99.99 --histogram " + csv);

        assertThat(run.exitCode()).as(run.err()).isZero();
        assertThat(run.out()).contains("t_stdev[usec]  90%[usec]  99.99%[usec]");
        List<String> lines = Files.readAllLines(csv);
        assertThat(lines.getFirst()).isEqualTo("message_bytes,t_us,count,cumulative_percent");
        long count = 0;
        for (String line : lines.subList(1, lines.size())) {
            count += Long.parseLong(line.split(",")[2]);
        }
        assertThat(count).isEqualTo(200);
        assertThat(lines.getLast()).endsWith(",100.000000");
    }

    @Test
    void aHistogramThatCannotBeWrittenIsRefusedBeforeTheTest(@TempDir Path directory) {
        InProcess run = run("send-lat --histogram " + directory.resolve("no/such/file"));

        assertThat(run.exitCode()).isEqualTo(2);
        assertThat(run.errLines()).hasSize(1);
        assertThat(run.err()).contains("--histogram").contains("no/such/file");
    }
}
