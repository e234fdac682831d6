package dev.metaroce.tools.perf;

import dev.metaroce.tools.cli.Json;
import dev.metaroce.tools.cli.Terminal;

import org.jspecify.annotations.Nullable;

import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

import java.util.function.Consumer;

/** The server's lines, or its document: one per run of a client. */
final class ServerReporter implements ServerOutput {
    private final String command;
    private final @Nullable PerfTest expected;
    private final @Nullable Terminal out;
    private final Consumer<ObjectNode> documents;
    private ObjectNode document;
    private ArrayNode rows;

    /**
     * @param expected the test that the server was started for, null for any
     * @param out where lines go, null for documents only
     * @param documents takes the document of each run that ended
     */
    ServerReporter(
            String command,
            @Nullable PerfTest expected,
            @Nullable Terminal out,
            Consumer<ObjectNode> documents) {
        this.command = command;
        this.expected = expected;
        this.out = out;
        this.documents = documents;
        document = empty();
        rows = document.arrayNode();
    }

    private ObjectNode empty() {
        ObjectNode next = Json.object();
        next.put("command", command);
        next.put("test", expected == null ? null : expected.command());
        next.put("role", "server");
        next.putNull("error");
        return next;
    }

    @Override
    public void onClient(String address, PerfParameters parameters) {
        String test = parameters.test().command();
        document.put("test", test);
        document.put("client_address", address);
        document.put("bidirectional", parameters.bidirectional());
        document.put("qps", parameters.qps());
        document.put("initiators", parameters.initiators());
        if (out != null) {
            String adopted =
                    expected == null || parameters.test() == expected
                            ? ""
                            : " (the client asks for it; this server was started for "
                                    + expected.command()
                                    + ")";
            out.line(
                    "client %s: %s%s, %d qps, %d initiators%s",
                    address,
                    test,
                    parameters.bidirectional() ? " in both directions" : "",
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

    @Override
    public void onFailure(String reason) {
        document.put("error", reason);
        if (out != null) {
            out.line("%s", reason);
        }
    }

    @Override
    public void onRunEnd() {
        documents.accept(document());
        document = empty();
        rows = document.arrayNode();
    }

    /** Of the present run. */
    ObjectNode document() {
        document.set("results", rows);
        return document;
    }
}
