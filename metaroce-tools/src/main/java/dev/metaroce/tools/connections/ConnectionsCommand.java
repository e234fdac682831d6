package dev.metaroce.tools.connections;

import dev.metaroce.net.Transport;
import dev.metaroce.tools.cli.ExitCode;
import dev.metaroce.tools.cli.Interruption;
import dev.metaroce.tools.cli.Json;
import dev.metaroce.tools.cli.JsonReporter;
import dev.metaroce.tools.cli.Numbers.Whole;
import dev.metaroce.tools.cli.Output;
import dev.metaroce.tools.cli.Terminal;
import dev.metaroce.tools.cli.TransportName;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

import tools.jackson.databind.node.ObjectNode;

import java.nio.file.Path;
import java.util.concurrent.Callable;

/** {@code metaroce connections}: what very many idle connections take. */
@Command(
        name = "connections",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        header = "What very many idle connections of one process take.",
        description =
                "Opens that many connections from one device to a few others, all inside this"
                    + " process and in virtual time, lets them rest, measures the heap, and then"
                    + " writes over some of them. An idle connection has a queue pair of depth 16"
                    + " at each end, and no context anywhere; with RoCEv2 its queue pairs are the"
                    + " contexts.")
public final class ConnectionsCommand implements Callable<Integer>, JsonReporter {
    private static final int REPORT_SECONDS = 60;

    @Spec private CommandSpec spec;

    @Option(
            names = "--transport",
            paramLabel = "metaroce|rocev2",
            converter = TransportName.class,
            description =
                    "What devices speak. rocev2: each connection has a queue pair of its own at"
                            + " both ends for as long as it lasts (metaroce).")
    private Transport transport = Transport.METAROCE;

    @Option(
            names = "--peers",
            paramLabel = "N",
            converter = Peers.class,
            description = "Connections, 1000..500000 (100000).")
    private int peers = 100_000;

    @Option(
            names = "--targets",
            paramLabel = "N",
            converter = Targets.class,
            description = "Devices that they lead to, 1..64 (4).")
    private int targets = 4;

    @Option(
            names = "--writes",
            paramLabel = "N",
            converter = Writes.class,
            description = "Idle connections to write over at the end, 1..100000 (1000).")
    private int writes = 1_000;

    @Option(
            names = "--max-bytes",
            paramLabel = "BYTES",
            converter = MaxBytes.class,
            description = "Exit code 4 when a connection takes more, both ends (no limit).")
    private int maxBytes = Integer.MAX_VALUE;

    @Option(names = "--seed", paramLabel = "N", description = "Seed of everything random (1).")
    private long seed = 1;

    @Option(
            names = "--json",
            paramLabel = "FILE",
            description = "All figures as one JSON document; - for standard output.")
    private @Nullable Path json;

    @Override
    public boolean json() {
        return Output.isStandardOutput(json);
    }

    @Override
    public ObjectNode document() {
        ObjectNode document = Json.object();
        document.put("command", spec.qualifiedName());
        document.put("transport", TransportName.label(transport));
        document.put("connections", peers);
        document.put("targets", targets);
        document.put("queue_depth", Host.DEPTH);
        return document;
    }

    @Override
    public Integer call() {
        Output to = new Output(spec, json);
        ObjectNode document = document();
        IdleConnections.Setup setup =
                new IdleConnections.Setup(transport, peers, targets, writes, seed);
        try (Interruption interruption =
                        Interruption.bySignal(() -> to.warn("interrupted"), REPORT_SECONDS);
                IdleConnections all = new IdleConnections(setup, () -> !interruption.isAsked())) {
            return report(to, document, all.run());
        } catch (IllegalStateException e) {
            return to.end(document, String.valueOf(e.getMessage()));
        }
    }

    private int report(Output to, ObjectNode document, IdleConnections.Outcome found) {
        document.put("bytes_per_idle_connection", found.bytesPerConnection());
        document.put("contexts_at_most", found.contextsAtMost());
        document.put("contexts_when_idle", found.contextsIdle());
        document.put("source_contexts_when_idle", found.sourceContextsIdle());
        document.put("set_up_us", Json.rounded(found.setUpUs()));
        document.put("first_use_us", Json.rounded(found.firstUseUs()));
        document.put("writes", writes);
        document.put("writes_arrived", found.works());
        Terminal out = to.out;
        if (out != null) {
            out.line(
                    "%s connections to %d devices in this process", Terminal.count(peers), targets);
            row(
                    out,
                    "idle connection",
                    "%d bytes of heap, both ends".formatted(found.bytesPerConnection()));
            row(
                    out,
                    "contexts when idle",
                    "%d, %d at most".formatted(found.contextsIdle(), found.contextsAtMost()));
            row(out, "source contexts", "%d".formatted(found.sourceContextsIdle()));
            row(out, "set up", "%.1f us each".formatted(found.setUpUs()));
            row(out, "first use", "%.1f us, median of %d".formatted(found.firstUseUs(), writes));
            row(out, "arrived", "%d of %d".formatted(found.works(), writes));
        }
        if (found.works() != writes) {
            return to.end(document, "%d writes did not arrive".formatted(writes - found.works()));
        }
        int exitCode = to.end(document, "");
        if (found.bytesPerConnection() > maxBytes) {
            to.warn(
                    "an idle connection takes %d bytes, more than --max-bytes %d"
                            .formatted(found.bytesPerConnection(), maxBytes));
            return ExitCode.THRESHOLD;
        }
        return exitCode;
    }

    private static void row(Terminal out, String what, String value) {
        out.line("  %-20s  %s".formatted(what, value));
    }

    static final class Peers extends Whole {
        Peers() {
            super(1_000, 500_000);
        }
    }

    static final class Targets extends Whole {
        Targets() {
            super(1, 64);
        }
    }

    static final class Writes extends Whole {
        Writes() {
            super(1, 100_000);
        }
    }

    static final class MaxBytes extends Whole {
        MaxBytes() {
            super(1, Integer.MAX_VALUE);
        }
    }
}
