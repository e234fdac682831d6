package dev.metaroce.tools.perf;

import dev.metaroce.tools.cli.Json;
import dev.metaroce.tools.cli.Terminal;

import org.jspecify.annotations.Nullable;

import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** The server's lines, or its document. */
final class ServerReporter implements ServerOutput {
    private final PerfTest expected;
    private final @Nullable Terminal out;
    private final ObjectNode document = Json.object();
    private final ArrayNode rows = document.arrayNode();

    ServerReporter(PerfTest expected, @Nullable Terminal out) {
        this.expected = expected;
        this.out = out;
        document.put("command", "metaroce perf " + expected.command());
        document.put("test", expected.command());
        document.put("role", "server");
        document.putNull("error");
    }

    @Override
    public void onClient(String address, PerfParameters parameters) {
        document.put("test", parameters.test().command());
        document.put("client_address", address);
        document.put("qps", parameters.qps());
        document.put("initiators", parameters.initiators());
        if (out != null) {
            String adopted =
                    parameters.test() == expected
                            ? ""
                            : " (the client asks for it; this server was started for "
                                    + expected.command()
                                    + ")";
            out.line(
                    "client %s: %s, %d qps, %d initiators%s",
                    address,
                    parameters.test().command(),
                    parameters.qps(),
                    parameters.initiators(),
                    adopted);
        }
    }

    @Override
    public void onRow(long messageBytes, long packets, @Nullable Boolean intact, int contextsPeak) {
        rows.add(
                Json.object()
                        .put("message_bytes", messageBytes)
                        .put("data_packets_accepted", packets)
                        .put("data_intact", intact)
                        .put("contexts_peak", contextsPeak));
        if (out != null) {
            String data = intact == null ? "" : intact ? ", data intact" : ", DATA WRONG";
            out.line(
                    "%10d bytes: %,d data packets accepted, at most %d contexts in use%s",
                    messageBytes, packets, contextsPeak, data);
        }
    }

    ObjectNode document() {
        document.set("results", rows);
        return document;
    }
}
