package dev.metaroce.tools.perf;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import com.networknt.schema.Schema;
import com.networknt.schema.SchemaRegistry;
import com.networknt.schema.SpecificationVersion;

import dev.metaroce.tools.InProcess;
import dev.metaroce.tools.Tool;

import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

import java.io.IOException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Runs of the perf command, and what holds for every one of their documents. */
final class Runs {
    private static final Schema SCHEMA = schema();

    private Runs() {}

    private static Schema schema() {
        try {
            String text = Files.readString(Path.of("..", "docs", "perf.schema.json"));
            return SchemaRegistry.withDefaultDialect(SpecificationVersion.DRAFT_2020_12)
                    .getSchema(new JsonMapper().readTree(text));
        } catch (IOException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /** {@code metaroce perf} in a process of its own. */
    static Tool perf(String... arguments) {
        return Tool.start(with(List.of("perf"), arguments));
    }

    /** A server of a test, or {@code server} for any, on a free port of the loopback address. */
    static Tool server(String test, String... arguments) {
        return Tool.start(with(List.of("perf", test, "-p", "0", "--bind", "127.0.0.1"), arguments));
    }

    /** A client in this JVM, against a server that runs already; blank-separated arguments. */
    static InProcess client(String arguments, int port) {
        List<String> all = new ArrayList<>(List.of("perf"));
        all.addAll(List.of(arguments.strip().split(" +")));
        all.addAll(List.of("127.0.0.1", "-p", Integer.toString(port)));
        return InProcess.run(all);
    }

    private static String[] with(List<String> first, String... more) {
        List<String> all = new ArrayList<>(first);
        all.addAll(List.of(more));
        return all.toArray(String[]::new);
    }

    /** With --json a server says on standard error that it listens. */
    static int portOfJson(Tool server) {
        return Integer.parseInt(server.awaitErr("listening on UDP \\S+:(\\d+),", 30).group(1));
    }

    static int freePort() throws IOException {
        try (DatagramSocket socket = new DatagramSocket(0, InetAddress.ofLiteral("127.0.0.1"))) {
            return socket.getLocalPort();
        }
    }

    /** The one document on standard output; it fits the schema, and all of its numbers are some. */
    static JsonNode document(String out) {
        JsonNode document = Tool.json(out);
        assertThat(violations(document)).as(out).isEmpty();
        return document;
    }

    static List<String> violations(JsonNode document) {
        return SCHEMA.validate(document).stream().map(Object::toString).toList();
    }

    /** Rate times size is bandwidth, and iterations by time are the rate, to a percent. */
    static void assertAddsUp(JsonNode row) {
        double bytes = row.get("message_bytes").asDouble();
        double gbps = row.get("bw_average_gbps").asDouble();
        double rate = row.get("msg_rate_mpps").asDouble() * 1e6;
        double perSecond = row.get("iterations").asDouble() / row.get("elapsed_s").asDouble();
        assertThat(rate * bytes * 8 / 1e9).isCloseTo(gbps, within(gbps * 0.01));
        assertThat(perSecond).isCloseTo(rate, within(rate * 0.01));
        assertSameUnits(row, "bw_average_mib_s", "bw_average_gbps");
        assertSameUnits(row, "bw_peak_mib_s", "bw_peak_gbps");
        assertThat(row.get("bw_peak_gbps").asDouble()).isGreaterThanOrEqualTo(gbps * 0.999);
    }

    private static void assertSameUnits(JsonNode row, String mib, String gbit) {
        double gbps = row.get(gbit).asDouble();
        double mibAsGbps = row.get(mib).asDouble() * (1 << 20) * 8 / 1e9;
        assertThat(mibAsGbps).isCloseTo(gbps, within(gbps * 0.01));
    }

    /** The two directions of a -b row add up to their total, which is what the row itself says. */
    static void assertDirectionsAddUp(JsonNode row) {
        JsonNode total = row.get("total");
        JsonNode local = row.get("local");
        JsonNode remote = row.get("remote");
        assertThat(local.propertyNames()).isEqualTo(total.propertyNames());
        assertThat(remote.propertyNames()).isEqualTo(total.propertyNames());
        List.of(total, local, remote).forEach(Runs::assertAddsUp);
        for (String key : total.propertyNames()) {
            assertThat(row.get(key)).as(key).isEqualTo(total.get(key));
        }
        for (String key :
                List.of("iterations", "bw_average_gbps", "msg_rate_mpps", "data_packets")) {
            double sum = local.get(key).asDouble() + remote.get(key).asDouble();
            assertThat(total.get(key).asDouble()).as(key).isCloseTo(sum, within(sum * 1e-5));
        }
        assertThat(total.get("data_intact").asBoolean()).isTrue();
    }
}
