package dev.metaroce.tools.perf;

import dev.metaroce.tools.cli.ChildJvm;
import dev.metaroce.tools.cli.ExitCode;
import dev.metaroce.tools.cli.ToolException;
import dev.metaroce.tools.link.Endpoint;
import dev.metaroce.tools.link.EventTally;

import org.jspecify.annotations.Nullable;

import tools.jackson.databind.node.ObjectNode;

/** A perf server as a command: opens its port, says so, and serves. */
final class ServerRun {
    private static final String LISTENING = "listening on UDP ";

    private final EndpointOptions options;
    private final boolean keep;
    private final Printer printer;
    private final ServerReporter output;

    /**
     * @param test the one it was started for, null for any; it serves any
     * @param keep serve one client after the other; with JSON, a line for each
     */
    ServerRun(EndpointOptions options, @Nullable PerfTest test, boolean keep, Printer printer) {
        this.options = options;
        this.keep = keep;
        this.printer = printer;
        output =
                new ServerReporter(
                        printer.command(),
                        test,
                        options.json ? null : printer.out(),
                        this::onDocument);
    }

    private void onDocument(ObjectNode document) {
        if (options.json && keep) {
            printer.documentLine(document);
        } else if (options.json) {
            printer.document(document);
        }
    }

    /** What is known of the present run. */
    ObjectNode document() {
        return output.document();
    }

    int serve() {
        if (options.endWithParent) {
            ChildJvm.endWithParent();
        }
        EventTally events = new EventTally();
        try (Endpoint endpoint =
                Endpoint.open(options.device(options.port(), null).events(events).build())) {
            (options.json ? printer.err() : printer.out())
                    .line(
                            "%s: %s%s, waiting for a client",
                            printer.command(), LISTENING, Endpoint.text(endpoint.localAddress()));
            endpoint.warnings().forEach(printer::note);
            new PerfServer(endpoint, events, output, keep).run();
        }
        return ExitCode.OK;
    }

    /** The port in the line that a server prints first. */
    static int portOf(String line) {
        int start = line.indexOf(LISTENING);
        int comma = line.indexOf(',', start + 1);
        int colon = comma < 0 ? -1 : line.lastIndexOf(':', comma);
        if (start < 0 || colon < start) {
            throw ToolException.failed("the server said something unexpected: " + line);
        }
        return Integer.parseInt(line.substring(colon + 1, comma));
    }
}
