package dev.metaroce.tools.perf;

import dev.metaroce.event.CounterId;
import dev.metaroce.tools.cli.Json;
import dev.metaroce.tools.cli.Terminal;
import dev.metaroce.tools.link.CounterSnapshot;

import org.jspecify.annotations.Nullable;

import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

import java.util.Locale;

/**
 * Collects a client's results, and shows them as a table in perftest's manner or as one document.
 */
final class PerfReport {
    private static final int WIDTH = 110;

    private final PerfTest test;
    private final boolean all;
    private final boolean gbits;
    private final @Nullable Terminal out;
    private final ObjectNode document = Json.object();
    private final ArrayNode rows = document.arrayNode();

    /**
     * @param out where the table goes, null for the document only
     */
    PerfReport(PerfTest test, boolean all, boolean gbits, @Nullable Terminal out) {
        this.test = test;
        this.all = all;
        this.gbits = gbits;
        this.out = out;
        document.put("command", "metaroce perf " + test.command());
        document.put("test", test.command());
        document.put("role", "client");
        document.putNull("error");
    }

    /** May be called again when more is known. */
    void configuration(Configuration configuration) {
        document.set("configuration", Json.tree(configuration));
    }

    void header(Configuration c) {
        if (out == null) {
            return;
        }
        String rule = "-".repeat(WIDTH);
        out.line(rule);
        String title = test.title() + " over MetaRoCE";
        out.line(" ".repeat((WIDTH - title.length()) / 2) + out.bold(title));
        pair("Number of qps", c.qps(), "Profile", c.profile() + ", " + paths(c));
        pair("TX depth", c.txDepth(), "Payload MTU", c.payloadMtu() + " B");
        pair("Initiators", c.initiators(), "Drive", c.drive());
        pair("Messages", amount(c), "Warm-up", c.warmUpS() + " s");
        if (c.relayLossPercent() != null) {
            pair("Relay drops", c.relayLossPercent() + " % each way", "Relay seed", c.seed());
        }
        pair("Local address", c.localAddress(), "Remote address", c.remoteAddress());
        out.line(rule);
        out.line(columns());
    }

    private static String paths(Configuration c) {
        return Integer.valueOf(1).equals(c.paths()) ? "1 path" : c.paths() + " paths";
    }

    private static String amount(Configuration c) {
        return c.iterations() == null
                ? "as many as in " + c.durationS() + " s"
                : Terminal.count(c.iterations()) + " per qp";
    }

    private void pair(String a, @Nullable Object x, String b, @Nullable Object y) {
        if (out != null) {
            out.line(" %-16s : %-34s %-14s : %s", a, String.valueOf(x), b, String.valueOf(y));
        }
    }

    private String columns() {
        if (test.isLatency()) {
            return " #bytes    #iterations   t_min[usec]   t_max[usec]  t_typical[usec]"
                    + "   t_avg[usec]  t_stdev[usec]  99%[usec]  99.9%[usec]";
        }
        String unit = gbits ? "[Gb/sec] " : "[MiB/sec]";
        return " #bytes    #iterations    BW peak"
                + unit
                + "   BW average"
                + unit
                + "   MsgRate[Mpps]   resent[pkts]  resent[%]";
    }

    void row(PerfClient.Measured measured) {
        ObjectNode row = Json.object();
        CounterSnapshot counted = measured.counters();
        long first = counted.get(CounterId.DATA_SENT);
        long again = counted.get(CounterId.DATA_RESENT);
        double share = first + again == 0 ? 0 : 100.0 * again / (first + again);
        if (measured.bandwidth() != null) {
            row.setAll(Json.tree(measured.bandwidth()));
            print(measured.bandwidth(), again, share);
        }
        if (measured.latency() != null) {
            row.setAll(Json.tree(measured.latency()));
            print(measured.latency());
        }
        PerfMessage.ServerReport server = measured.server();
        row.setAll(
                Json.tree(
                        new RowDocument(
                                first,
                                again,
                                counted.get(CounterId.RESENT_BYTES),
                                share,
                                server.dataIntact(),
                                server.contexts(),
                                server.contextsPeak(),
                                server.contextTableBytes(),
                                new RowDocument.View(counted.nonZero(), measured.events()),
                                new RowDocument.View(server.counters(), server.events()))));
        rows.add(row);
    }

    private void print(BandwidthRow r, long again, double share) {
        if (out != null) {
            out.line(
                    " %-10d %-14d %-18.2f  %-20.2f  %-15s %-14d %.3f",
                    r.messageBytes(),
                    r.iterations(),
                    gbits ? r.bwPeakGbps() : r.bwPeakMibS(),
                    gbits ? r.bwAverageGbps() : r.bwAverageMibS(),
                    rate(r.msgRateMpps()),
                    again,
                    share);
        }
    }

    /** Few large messages per second must not become 0.000000, or nothing adds up. */
    private static String rate(double millionPerSecond) {
        String format = millionPerSecond < 0.001 ? "%.4e" : "%.6f";
        return String.format(Locale.ROOT, format, millionPerSecond);
    }

    private void print(LatencyRow r) {
        if (out != null) {
            out.line(
                    " %-9d %-13d %-13.2f %-12.2f %-16.2f %-13.2f %-14s %-10.2f %.2f",
                    r.messageBytes(),
                    r.iterations(),
                    r.tMinUs(),
                    r.tMaxUs(),
                    r.tTypicalUs(),
                    r.tAvgUs(),
                    Double.isNaN(r.tStdevUs())
                            ? "-"
                            : String.format(Locale.ROOT, "%.2f", r.tStdevUs()),
                    r.tP99Us(),
                    r.tP999Us());
        }
    }

    /** Last lines of the table: what the figures mean and what the server saw. */
    void footer(PerfClient.Measured last) {
        if (out == null) {
            return;
        }
        out.line("-".repeat(WIDTH));
        PerfMessage.ServerReport server = last.server();
        String data =
                server.dataIntact() == null
                        ? ""
                        : server.dataIntact()
                                ? "data at the server: " + out.green("intact") + "; "
                                : "data at the server: " + out.red("WRONG") + "; ";
        out.line(
                " %sreceive contexts in use: at most %d of %d, %s in all",
                data,
                server.contextsPeak(),
                server.contexts(),
                Terminal.bytes(server.contextTableBytes()));
        out.line(
                out.dim(
                        test.isLatency()
                                ? " times are half of a round trip; typical = median"
                                : " MiB = 2^20 bytes, Gb = 10^9 bits, M = 10^6; average = bytes"
                                        + " / (first post .. last completion)"));
    }

    /** The verdict on a threshold; absent when none was given. */
    void verdict(boolean pass, String text) {
        document.put("verdict", pass ? "pass" : "fail");
        if (out != null) {
            out.line(" " + (pass ? out.green(text) : out.red(text)));
        }
    }

    /** Everything known so far as one document. */
    ObjectNode document() {
        if (all) {
            document.set("results", rows);
        } else if (!rows.isEmpty()) {
            document.setAll((ObjectNode) rows.get(0));
        }
        return document;
    }
}
