package dev.metaroce.tools.sim;

import dev.metaroce.sim.run.Distribution;
import dev.metaroce.sim.run.Summary;
import dev.metaroce.tools.cli.Json;
import dev.metaroce.tools.cli.Terminal;

import tools.jackson.databind.node.ObjectNode;

import java.util.Locale;

/** Shows one simulation that ended: a table for people, or a document. */
final class SimReport {
    private static final int WIDTH = 100;

    private final Terminal out;

    SimReport(Terminal out) {
        this.out = out;
    }

    void header(SimConfiguration c) {
        out.line("-".repeat(WIDTH));
        out.line(
                " %s: %s, %s, %s, %s; hosts at %s",
                out.bold(c.topology()),
                count(c.hosts(), "host"),
                count(c.switches(), "switch"),
                count(c.links(), "link"),
                count(c.planes(), "plane"),
                rate(c.hostRateBitsPerSecond()));
        out.line(
                " %s: %s, %s; %s; %s start; seed %d",
                out.bold(c.workload()),
                count(c.flows(), "flow"),
                Terminal.bytes(c.bytes()),
                endpoints(c),
                c.connections(),
                c.seed());
        if (!c.mechanisms().isEmpty()) {
            out.line(" not as specified: %s", String.join(", ", c.mechanisms()));
        }
        out.line("-".repeat(WIDTH));
    }

    private static String endpoints(SimConfiguration c) {
        return c.dcqcn() == null
                ? "profile %s, %d paths, MTU %d B, %d contexts, hints %s"
                        .formatted(
                                c.profile(),
                                c.paths(),
                                c.payloadMtu(),
                                c.contexts(),
                                c.hints() ? "on" : "off")
                : "RoCEv2, MTU %d B, Go-Back-N %s, DCQCN %s"
                        .formatted(c.payloadMtu(), c.goBackN(), c.dcqcn() ? "on" : "off");
    }

    void result(SimResult r, MemoryUse memory) {
        Summary s = r.summary();
        out.line(
                " %-18s %s ended, %s failed, %s open; the last at %s us",
                "flows",
                Terminal.count(s.ended()),
                Terminal.count(s.failed()),
                Terminal.count(s.flows() - s.ended()),
                number(s.lastEndUs()));
        out.line(" %-18s %10s %10s %10s %10s %10s", "", "min", "mean", "p50", "p99", "max");
        distribution("completion [us]", s.completionUs());
        distribution("slowdown", s.slowdown());
        out.line(
                " %-18s %s Gb/s in all; Jain's index %s",
                "goodput", number(s.goodputGbps()), number(s.jainIndex()));
        Summary.PacketCounts p = s.packets();
        out.line(
                " %-18s %s sent, %s resent (%.3f %%), %s marked%s",
                "packets",
                Terminal.count(p.sent()),
                Terminal.count(p.resent()),
                100.0 * p.resent() / Math.max(1, p.data()),
                Terminal.count(p.marked()),
                p.pauses() == 0 ? "" : ", " + Terminal.count(p.pauses()) + " pauses");
        out.line(
                " %-18s %s dropped by switches%s, %s lost on wires, %s corrupted, %s cut off",
                "",
                Terminal.count(p.dropped()),
                p.trimmed() == 0 ? "" : ", " + Terminal.count(p.trimmed()) + " trimmed",
                Terminal.count(p.lost()),
                Terminal.count(p.corrupted()),
                Terminal.count(p.cutOff()));
        out.line(
                " %-18s at most %d in use at one host, with tables of up to %s; %s granted",
                "contexts",
                s.contexts().peak(),
                Terminal.bytes(s.contexts().tableBytes()),
                Terminal.count(s.contexts().granted()));
        out.line(
                " %-18s %s per idle endpoint; %s at the peak",
                "memory",
                Terminal.bytes(memory.endpointBytes()),
                Terminal.bytes(memory.peakBytes()));
        out.line(
                " %-18s %s us simulated in %.2f s after %.2f s of set-up; %s events, %.2f M/s",
                "time",
                number(s.simulatedUs()),
                r.runS(),
                r.setUpS(),
                Terminal.count(s.events()),
                r.eventsPerSecond() / 1e6);
        out.line(" %-18s %s", "trace", s.traceHash());
        out.line("-".repeat(WIDTH));
        r.unfinished().forEach(flow -> out.line(" " + out.red(flow.toString())));
    }

    private static String count(int number, String what) {
        String plural = what.endsWith("ch") ? "es" : "s";
        return Terminal.count(number) + " " + what + (number == 1 ? "" : plural);
    }

    private void distribution(String name, Distribution d) {
        out.line(
                " %-18s %10s %10s %10s %10s %10s",
                name,
                number(d.min()),
                number(d.mean()),
                number(d.p50()),
                number(d.p99()),
                number(d.max()));
    }

    /** Four digits or more; nothing was measured: a dash. */
    static String number(double value) {
        if (Double.isNaN(value)) {
            return "-";
        }
        String format = value >= 1000 ? "%,.0f" : value >= 100 ? "%.1f" : "%.3f";
        return String.format(Locale.ROOT, format, value);
    }

    static String rate(long bitsPerSecond) {
        return number(bitsPerSecond / 1e9).replaceAll("\\.?0+$", "") + " Gb/s";
    }

    /** The part of a document that is about one simulation. */
    static ObjectNode resultDocument(SimResult r) {
        ObjectNode document = Json.object();
        document.set("configuration", Json.tree(r.configuration()));
        document.put("outcome", r.outcome().name().toLowerCase(Locale.ROOT));
        document.setAll(Json.tree(r.summary()));
        document.put("set_up_s", Json.rounded(r.setUpS()));
        document.put("run_s", Json.rounded(r.runS()));
        document.put("events_per_second", Json.rounded(r.eventsPerSecond()));
        document.set("warnings", Json.COMPACT.valueToTree(r.warnings()));
        document.set("unfinished", Json.COMPACT.valueToTree(r.unfinished()));
        return document;
    }
}
