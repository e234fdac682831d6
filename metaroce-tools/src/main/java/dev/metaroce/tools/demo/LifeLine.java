package dev.metaroce.tools.demo;

import dev.metaroce.event.EventId;
import dev.metaroce.event.EventSink;
import dev.metaroce.tools.cli.Terminal;

import org.jspecify.annotations.Nullable;

import java.util.Comparator;
import java.util.PriorityQueue;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * Shows the life of the context id as it happens at both ends. Events of two processes arrive here
 * in any order; both read the same monotonic clock, so each is held back for a moment and then
 * shown in the order of time, counted from the first. Losses are many and are not shown.
 */
final class LifeLine {
    /** Longer than a line takes from the other process. */
    private static final long HOLD_NS = 250_000_000;

    /** A lease that comes and goes all the time would push everything else off the screen. */
    private static final int LINES_MAX = 24;

    private static final String PREFIX = "EVENT ";

    private record Moment(long atNs, boolean sender, String words) {}

    /** A moment with its place among those of the same time. */
    private record Held(long order, Moment moment) {}

    private final Queue<Moment> arrived = new ConcurrentLinkedQueue<>();
    private final PriorityQueue<Held> held =
            new PriorityQueue<>(
                    Comparator.<Held>comparingLong(entry -> entry.moment().atNs())
                            .thenComparingLong(Held::order));
    private final @Nullable Terminal out;
    private final String eraseLine;
    private long gathered;
    private long startNs;
    private int shown;
    private int hidden;

    /**
     * @param out where lines go, null for nowhere
     * @param sharesScreen true when a progress bar is on the same terminal and must be wiped first
     */
    LifeLine(@Nullable Terminal out, boolean sharesScreen) {
        this.out = out;
        eraseLine = sharesScreen ? "\r\u001b[2K" : "";
    }

    /** The sink for this process's own engine. */
    EventSink senderSink() {
        return (nowNs, id, a, b, c) -> {
            String words = wordsOf(id, a, b, c);
            if (!words.isEmpty()) {
                arrived.add(new Moment(nowNs, true, words));
            }
        };
    }

    /** A moment of the sender's program rather than of its engine. */
    void note(long nowNs, String name, String rest) {
        arrived.add(new Moment(nowNs, true, name + " " + rest));
    }

    /** The form in which the receiver process reports an event; empty for those not shown. */
    static String encode(long nowNs, EventId id, long a, long b, long c) {
        return wordsOf(id, a, b, c).isEmpty()
                ? ""
                : PREFIX + nowNs + " " + id + " " + a + " " + b + " " + c;
    }

    /** Takes a line of the receiver process; false when it is no event. */
    boolean accept(String line) {
        if (!line.startsWith(PREFIX)) {
            return false;
        }
        String[] part = line.substring(PREFIX.length()).split(" ");
        EventId id = EventId.valueOf(part[1]);
        String words =
                wordsOf(
                        id,
                        Long.parseLong(part[2]),
                        Long.parseLong(part[3]),
                        Long.parseLong(part[4]));
        // The receiver has one thing to send, and needs a lease of its own for it.
        String why = id == EventId.LEASE_REQUESTED ? ", to answer with its hash" : "";
        arrived.add(new Moment(Long.parseLong(part[0]), false, words + why));
        return true;
    }

    /** Shows what is old enough; the main thread calls it now and then. */
    void showUntil(long nowNs) {
        gather();
        while (!held.isEmpty() && nowNs - held.peek().moment().atNs() > HOLD_NS) {
            show(held.poll().moment());
        }
    }

    private void gather() {
        for (Moment next = arrived.poll(); next != null; next = arrived.poll()) {
            held.add(new Held(gathered++, next));
        }
    }

    /** Shows the rest. */
    void showAll() {
        gather();
        while (!held.isEmpty()) {
            show(held.poll().moment());
        }
        if (hidden > 0 && out != null) {
            out.line(eraseLine + out.dim("   ... and " + hidden + " more events"));
        }
    }

    private void show(Moment moment) {
        if (out == null) {
            return;
        }
        if (shown == LINES_MAX) {
            hidden++;
            return;
        }
        if (shown == 0) {
            startNs = moment.atNs();
        }
        shown++;
        String who = moment.sender() ? out.cyan("sender  ") : out.yellow("receiver");
        String words = moment.words();
        int space = words.indexOf(' ');
        String name = words.substring(0, space);
        double ms = (moment.atNs() - startNs) / 1e6;
        out.line(
                "%s %s  %s  %s %s",
                eraseLine,
                out.dim(String.format(java.util.Locale.ROOT, "%9.2f ms", ms)),
                who,
                out.bold(String.format("%-8s", name)),
                words.substring(space + 1));
    }

    /** First word: the message or state; the rest explains it. Empty: not a matter of the lease. */
    private static String wordsOf(EventId id, long a, long b, long c) {
        return switch (id) {
            case LEASE_REQUESTED ->
                    "REQUEST asks for a context id" + (c > 1 ? ", attempt " + c : "");
            case LEASE_QUEUED -> "QUEUED place " + b + " in the line, about " + c + " us";
            case LEASE_OPENED -> "OPEN may send as cid " + b + ", epoch " + c;
            case LEASE_DENIED -> "DENIED reason " + b + ", again in " + c + " us";
            case LEASE_DRAINING -> "DRAIN idle long enough: gives cid " + b + " back";
            case LEASE_RELEASED -> "IDLE holds no context id any more";
            case LEASE_LOST -> "LOST cid " + b + ", reason " + c;
            case CID_GRANTED -> "GRANT cid " + b + ", epoch " + c + " to port " + a;
            case CID_QUEUED -> "QUEUED port " + a + " at place " + b;
            case CID_DENIED -> "DENY to port " + a + ", reason " + b;
            case CID_ACTIVE -> "ACTIVE first data for cid " + b;
            case CID_RECLAIMING -> "RECLAIM asks for cid " + b + " back";
            case CID_RELEASED -> "RELEASE cid " + b + " came back and is free";
            case CID_EXPIRED -> "EXPIRED cid " + b + " taken from a silent holder";
            case PATH_REROUTED -> "REROUTE path " + a + " moved to another source port";
            case PATH_BAD -> "BAD the path on route " + a + " is silent while others are heard";
            case PATH_GOOD -> "GOOD the path on route " + a + " answers again";
            case CONNECTION_FAILED -> "FAILED connection ended with an error";
            case ECN_MISSING -> "NO ECN packets from port " + a + " come without it";
            case PAUSED -> "PAUSED process did not run for " + a + " ms";
            case PACKET_LOST, WORK_COMPLETED -> "";
        };
    }
}
