package dev.metaroce.tools.perf;

import dev.metaroce.net.DeviceOptions;
import dev.metaroce.tools.cli.ExitCode;
import dev.metaroce.tools.cli.Json;
import dev.metaroce.tools.cli.Terminal;
import dev.metaroce.tools.cli.ToolException;
import dev.metaroce.tools.link.Endpoint;
import dev.metaroce.tools.link.Idle;
import dev.metaroce.tools.link.LinkFailure;

import org.jspecify.annotations.Nullable;

import tools.jackson.databind.node.ObjectNode;

import java.net.InetSocketAddress;
import java.security.SecureRandom;
import java.util.List;
import java.util.Locale;

/**
 * Pings a perf server: one message out and one back per interval over one connection, which is made
 * anew after a failure. One thread, except for {@link #stop}.
 */
final class PingRun {
    private final PingOptions options;
    private final List<InetSocketAddress> targets;
    private final Printer printer;
    private final @Nullable Terminal out;
    private final long intervalNs;
    private final long timeoutNs;
    private final LatencyMeter meter = new LatencyMeter(LatencyMeter.WHOLE);
    private final long startNs = System.nanoTime();
    private String lastFailure = "";
    private long sent;
    private volatile boolean stopped;

    private @Nullable PerfClient client;
    private @Nullable Rounds game;

    PingRun(PingOptions options, List<InetSocketAddress> targets, Printer printer) {
        this.options = options;
        this.targets = targets;
        this.printer = printer;
        out = options.json ? null : printer.out();
        intervalNs = (long) (options.intervalSeconds * 1e9);
        timeoutNs = (long) (options.timeoutSeconds * 1e9);
    }

    /** Ends the run soon; any thread. */
    void stop() {
        stopped = true;
    }

    /** Pings until the count is reached or {@link #stop} is called; returns the exit code. */
    int run() {
        if (out != null) {
            out.line(
                    "%s: %s, %d bytes there and back",
                    printer.command(), addresses(), options.messageBytes);
        }
        long dueNs = startNs;
        while (!stopped && (options.count == null || sent < options.count)) {
            rest(dueNs - System.nanoTime());
            if (!stopped) {
                ping();
            }
            dueNs = Math.max(dueNs + intervalNs, System.nanoTime());
        }
        if (client != null) {
            hangUp(client, lastFailure.isEmpty() || game != null);
        }
        return tell();
    }

    private void ping() {
        sent++;
        try {
            long ns = roundTripNs();
            meter.onRoundTrip(ns);
            if (out != null) {
                String from = Endpoint.text(connected().serverAddress());
                out.line(
                        "%d bytes from %s: seq=%d time=%.1f usec",
                        options.messageBytes, from, sent, ns / 1e3);
            }
        } catch (ToolException e) {
            if (e.exitCode() != ExitCode.FAILED) {
                throw e; // not the network's fault: it would be the same with every ping
            }
            if (stopped) {
                sent--; // interrupted while it waited: neither answered nor lost
                return;
            }
            lastFailure = String.valueOf(e.getMessage());
            if (out != null) {
                out.line("seq=%d lost: %s", sent, lastFailure);
            }
            if (client != null) {
                hangUp(client, false);
            }
        }
    }

    private long roundTripNs() {
        PerfClient to = connected();
        Rounds current = game;
        if (current == null) {
            throw new IllegalStateException("connected without a game");
        }
        long sentNs = System.nanoTime();
        to.drive(current::canSend, timeoutNs);
        current.send();
        boolean answered =
                to.drive(() -> current.hasArrived() || to.peer().hasEnded() || stopped, timeoutNs);
        long ns = System.nanoTime() - sentNs;
        if (!current.isOver()) {
            String why = LinkFailure.reasonOf(to.peer().connection);
            throw ToolException.failed(
                    answered && !why.isEmpty()
                            ? why
                            : "no answer from %s within %.1f s"
                                    .formatted(addresses(), options.timeoutSeconds));
        }
        return ns;
    }

    /** The client with its connection open and ready for pings. */
    private PerfClient connected() {
        if (client != null) {
            return client;
        }
        PerfParameters parameters =
                new PerfParameters(
                        PerfTest.PING,
                        false,
                        false,
                        options.messageBytes,
                        1,
                        Posting.ofDepth(1),
                        1,
                        new SecureRandom().nextLong() | 1,
                        0);
        PerfClient next = new PerfClient(parameters, targets, timeoutNs);
        try {
            String hint = targets.getFirst().getAddress().getHostAddress();
            DeviceOptions.Builder device = options.device(0, targets.getFirst());
            next.open(device.targetHint(options.bind == null ? hint : ""));
            next.connect();
            game = next.begin(next.row(options.messageBytes, 1, 0, intervalNs + timeoutNs));
        } catch (ToolException e) {
            next.close();
            throw e;
        }
        client = next;
        return next;
    }

    private void hangUp(PerfClient from, boolean politely) {
        client = null;
        game = null;
        try (from) {
            if (politely) {
                from.goodbye();
            }
        } catch (ToolException e) {
            // It is over either way.
        }
    }

    private void rest(long ns) {
        if (client != null && ns > 0) {
            client.drive(() -> stopped, ns);
        } else {
            pause(ns);
        }
    }

    /** Without a connection there is nothing to move meanwhile. */
    private void pause(long ns) {
        long endNs = System.nanoTime() + ns;
        Idle idle = new Idle();
        while (!stopped && endNs - System.nanoTime() > 0) {
            idle.pause(false);
        }
    }

    private String addresses() {
        return String.join(" or ", targets.stream().map(Endpoint::text).toList());
    }

    private int tell() {
        LatencyRow row =
                meter.row(
                        options.messageBytes,
                        (System.nanoTime() - startNs) / 1e9,
                        options.percentiles());
        boolean any = meter.count() > 0;
        if (out != null) {
            out.line("--- %s, metaroce perf ping ---", addresses());
            out.line(
                    "%d sent, %d received, %d lost (%.1f %%), %.1f s",
                    sent, row.iterations(), sent - row.iterations(), lostPercent(), row.elapsedS());
            if (any) {
                out.line("%s", times(row));
            }
        }
        String error = any ? null : "no ping was answered: " + reason();
        if (options.json) {
            printer.document(document(row, error));
        }
        if (error != null) {
            printer.err().line("%s: %s", printer.command(), error);
        }
        return any ? ExitCode.OK : ExitCode.FAILED;
    }

    private String reason() {
        return lastFailure.isEmpty() ? "interrupted at once" : lastFailure;
    }

    private double lostPercent() {
        return sent == 0 ? 0 : 100.0 * (sent - meter.count()) / sent;
    }

    private static String times(LatencyRow row) {
        StringBuilder names = new StringBuilder("round trip min/avg/max/stdev");
        StringBuilder values = new StringBuilder();
        values.append(
                String.format(
                        Locale.ROOT,
                        "%.1f/%.1f/%.1f/%s",
                        row.tMinUs(),
                        row.tAvgUs(),
                        row.tMaxUs(),
                        Double.isNaN(row.tStdevUs())
                                ? "-"
                                : String.format(Locale.ROOT, "%.1f", row.tStdevUs())));
        for (LatencyRow.Point point : row.percentiles()) {
            names.append('/').append(point.percentile().label());
            values.append(String.format(Locale.ROOT, "/%.1f", point.us()));
        }
        return names + " = " + values + " usec";
    }

    private ObjectNode document(LatencyRow row, @Nullable String error) {
        ObjectNode document = Json.object();
        document.put("command", printer.command());
        document.put("test", PerfTest.PING.command());
        document.put("role", "client");
        document.put("error", error);
        if (error != null) {
            document.put("exit_code", ExitCode.FAILED);
        }
        document.put("remote_address", addresses());
        document.setAll(
                Json.tree(
                        new PingDocument(
                                options.messageBytes,
                                options.intervalSeconds,
                                row.elapsedS(),
                                sent,
                                row.iterations(),
                                sent - row.iterations(),
                                lostPercent(),
                                row.tMinUs(),
                                row.tAvgUs(),
                                row.tMaxUs(),
                                row.tStdevUs())));
        LatencyRow.putAll(document, "rtt_", row.percentiles());
        return document;
    }

    /** The figures of the document; times are null when nothing was answered. */
    private record PingDocument(
            long messageBytes,
            double intervalS,
            double elapsedS,
            long sent,
            long received,
            long lost,
            double lostPercent,
            double rttMinUs,
            double rttAvgUs,
            double rttMaxUs,
            double rttStdevUs) {}
}
