package dev.metaroce.tools.perf;

import dev.metaroce.event.CounterId;
import dev.metaroce.tools.cli.Json;
import dev.metaroce.tools.cli.Terminal;

import org.jspecify.annotations.Nullable;

import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Collects a client's results, and shows them as a table in perftest's manner or as one document.
 */
final class PerfReport {
    private static final int WIDTH = 110;

    private final PerfTest test;
    private final boolean all;
    private final boolean gbits;
    private final List<Percentile> percentiles;
    private final @Nullable Terminal out;
    private final ObjectNode document = Json.object();
    private final ArrayNode rows = document.arrayNode();
    private boolean roce;

    /**
     * @param all several rows are to come
     * @param gbits the table is in Gb/sec
     * @param percentiles the columns of a latency test after those of perftest
     * @param out where the table goes, null for the document only
     */
    PerfReport(
            PerfTest test,
            boolean all,
            boolean gbits,
            List<Percentile> percentiles,
            @Nullable Terminal out) {
        this.test = test;
        this.all = all;
        this.gbits = gbits;
        this.percentiles = percentiles;
        this.out = out;
        document.put("command", "metaroce perf " + test.command());
        document.put("test", test.command());
        document.put("role", "client");
        document.putNull("error");
    }

    /** May be called again when more is known. */
    void configuration(Configuration configuration) {
        roce = configuration.isRoce();
        document.set("configuration", Json.tree(configuration));
    }

    void header(Configuration c) {
        if (out == null) {
            return;
        }
        String rule = "-".repeat(WIDTH);
        out.line(rule);
        String kind = c.bidirectional() ? "bidirectional bandwidth" : "bandwidth";
        String title =
                test.title().replace("bandwidth", kind)
                        + (roce ? " over RoCEv2" : " over MetaRoCE");
        out.line(" ".repeat((WIDTH - title.length()) / 2) + out.bold(title));
        if (roce) {
            pair("Number of qps", c.qps(), "Exchange", c.exchange());
        } else {
            pair("Number of qps", c.qps(), "Profile", c.profile() + ", " + paths(c));
        }
        pair("TX depth", c.txDepth(), "Payload MTU", c.payloadMtu() + " B");
        pair("Initiators", c.initiators(), "Drive", c.drive());
        pair("Messages", amount(c), "Warm-up", c.warmUpS() + " s");
        if (c.postList() > 1 || c.cqMod() > 1) {
            pair("Post list", c.postList(), "CQ moderation", c.cqMod());
        }
        if (c.relayLossPercent() != null) {
            pair("Relay drops", c.relayLossPercent() + " % each way", "Relay seed", c.seed());
        }
        String offloads = "GSO %s, GRO %s, ECN %s".formatted(on(c.gso()), on(c.gro()), on(c.ecn()));
        pair("Sockets", c.sockets() + ", " + offloads, "Checksum", on(c.checksum()));
        pair("Local address", c.localAddress(), "Remote address", c.remoteAddress());
        out.line(rule);
        out.line(columns());
    }

    private static String on(boolean on) {
        return on ? "on" : "OFF";
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
            StringBuilder line =
                    new StringBuilder(
                            " #bytes    #iterations   t_min[usec]   t_max[usec]  t_typical[usec]"
                                    + "   t_avg[usec]  t_stdev[usec]");
            percentiles.forEach(p -> line.append("  ").append(heading(p)));
            return line.toString();
        }
        String unit = gbits ? "[Gb/sec] " : "[MiB/sec]";
        return " #bytes    #iterations    BW peak"
                + unit
                + "   BW average"
                + unit
                + "   MsgRate[Mpps]   resent[pkts]  resent[%]";
    }

    private static String heading(Percentile percentile) {
        return percentile.label() + "[usec]";
    }

    /** A line of a test that is under way; its document is part of the row's. */
    void interval(Interval i) {
        if (out != null) {
            out.line(
                    "   %8.2f - %8.2f s %12s %12s %s %12s Mpps %8d resent",
                    i.fromS(),
                    i.toS(),
                    Terminal.bytes(i.bytes()),
                    bandwidth(gbits ? i.bwGbps() : i.bwMibS()),
                    gbits ? "Gb/sec" : "MiB/sec",
                    rate(i.msgRateMpps()),
                    i.retransmittedPackets());
        }
    }

    void row(PerfClient.Measured measured, BandwidthResult result) {
        ObjectNode row = result.total().document();
        print(Long.toString(measured.row().messageBytes()), result.total());
        if (result.local() != null && result.remote() != null) {
            row.set("local", result.local().document());
            row.set("remote", result.remote().document());
            row.set("total", result.total().document());
            print("  sent", result.local());
            print("  received", result.remote());
        }
        if (!measured.intervals().isEmpty()) {
            row.set("intervals", Json.COMPACT.valueToTree(measured.intervals()));
        }
        add(row, measured);
    }

    void row(PerfClient.Measured measured, LatencyRow latency) {
        ObjectNode row = latency.document();
        row.setAll(Json.tree(Traffic.of(measured.counters(), measured.dataIntact())));
        print(latency);
        add(row, measured);
    }

    private void add(ObjectNode row, PerfClient.Measured measured) {
        PerfMessage.ServerReport server = measured.server();
        row.setAll(
                Json.tree(
                        new RowDocument(
                                server.contexts(),
                                server.contextsPeak(),
                                server.contextTableBytes(),
                                new RowDocument.View(measured.counters(), measured.events()),
                                new RowDocument.View(server.counters(), server.events()))));
        rows.add(row);
    }

    private void print(String label, Direction direction) {
        BandwidthRow r = direction.figures();
        if (out != null) {
            out.line(
                    " %-10s %-14d %-18s  %-20s  %-15s %-14d %.3f",
                    label,
                    r.iterations(),
                    bandwidth(gbits ? r.bwPeakGbps() : r.bwPeakMibS()),
                    bandwidth(gbits ? r.bwAverageGbps() : r.bwAverageMibS()),
                    rate(r.msgRateMpps()),
                    direction.traffic().retransmittedPackets(),
                    direction.traffic().retransmittedPercent());
        }
    }

    /** Two decimals of a small figure would be off by more than a percent. */
    private static String bandwidth(double value) {
        String format = value >= 10 ? "%.2f" : value >= 0.01 ? "%.4f" : "%.4e";
        return String.format(Locale.ROOT, format, value);
    }

    /** Few large messages per second must not become 0.000000, or nothing adds up. */
    private static String rate(double millionPerSecond) {
        String format = millionPerSecond < 0.001 ? "%.4e" : "%.6f";
        return String.format(Locale.ROOT, format, millionPerSecond);
    }

    private void print(LatencyRow r) {
        if (out == null) {
            return;
        }
        StringBuilder line =
                new StringBuilder(
                        String.format(
                                Locale.ROOT,
                                " %-9d %-13d %-13.2f %-12.2f %-16.2f %-13.2f %-13s",
                                r.messageBytes(),
                                r.iterations(),
                                r.tMinUs(),
                                r.tMaxUs(),
                                r.tTypicalUs(),
                                r.tAvgUs(),
                                Double.isNaN(r.tStdevUs())
                                        ? "-"
                                        : String.format(Locale.ROOT, "%.2f", r.tStdevUs())));
        for (LatencyRow.Point point : r.percentiles()) {
            int width = heading(point.percentile()).length();
            String us = String.format(Locale.ROOT, "%.2f", point.us());
            line.append("  ").append(us).repeat(" ", Math.max(0, width - us.length()));
        }
        out.line(line.toString().stripTrailing());
    }

    /** Last lines of the table: what the figures mean and what the server saw. */
    void footer(PerfClient.Measured last, @Nullable Boolean intact) {
        if (out == null) {
            return;
        }
        out.line("-".repeat(WIDTH));
        PerfMessage.ServerReport server = last.server();
        String where = server.sent() == null ? "data at the server: " : "data at both ends: ";
        if (test.isPull()) {
            where = "data at this client: ";
        }
        String data =
                intact == null
                        ? ""
                        : where + (intact ? out.green("intact") : out.red("WRONG")) + "; ";
        if (roce) {
            roceFooter(out, data, last);
        } else {
            out.line(
                    " %sreceive contexts in use: at most %d of %d, %s in all",
                    data,
                    server.contextsPeak(),
                    server.contexts(),
                    Terminal.bytes(server.contextTableBytes()));
        }
        if (server.sent() != null) {
            out.line(
                    out.dim(
                            " sent + received = total, over the time from the first post to the"
                                    + " last completion of either end"));
        }
        out.line(
                out.dim(
                        test.isLatency()
                                ? (test.isPingPong()
                                                ? " times are half of a round trip"
                                                : " times are from post to completion")
                                        + "; typical = median"
                                : " MiB = 2^20 bytes, Gb = 10^9 bits, M = 10^6; average = bytes"
                                        + " / (first post .. last completion)"));
    }

    /** What RoCEv2 counts, of the last row; a server that is perftest's tells nothing. */
    private static void roceFooter(Terminal out, String data, PerfClient.Measured last) {
        PerfMessage.ServerReport server = last.server();
        out.line(" %sclient: %s", data, roceCounts(last.counters()));
        if (!server.counters().isEmpty()) {
            out.line(
                    " server: at most %d queue pairs in use, %s in all; %s",
                    server.contextsPeak(),
                    Terminal.bytes(server.contextTableBytes()),
                    roceCounts(server.counters()));
        }
    }

    private static String roceCounts(Map<String, Long> counters) {
        return ("NAKs %d in, %d out; RNRs %d in, %d out; time-outs %d; duplicates %d; ICRC errors"
                        + " %d; SRQ receives %d")
                .formatted(
                        Traffic.count(counters, CounterId.NAKS_RECEIVED),
                        Traffic.count(counters, CounterId.NAKS_SENT),
                        Traffic.count(counters, CounterId.RNR_NAKS_RECEIVED),
                        Traffic.count(counters, CounterId.RNR_NAKS_SENT),
                        Traffic.count(counters, CounterId.RTO_FIRED),
                        Traffic.count(counters, CounterId.DUPLICATES),
                        Traffic.count(counters, CounterId.ICRC_ERRORS),
                        Traffic.count(counters, CounterId.SHARED_RECEIVES));
    }

    /** The verdict on a threshold; absent when none was given. */
    void verdict(boolean pass, String text) {
        document.put("verdict", pass ? "pass" : "fail");
        document.put("verdict_reason", text);
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
