package dev.metaroce.tools.perf;

import dev.metaroce.event.CounterId;
import dev.metaroce.tools.cli.ToolException;
import dev.metaroce.tools.link.CounterSnapshot;
import dev.metaroce.transport.ConnectionState;

import org.jspecify.annotations.Nullable;

import java.util.List;
import java.util.Objects;

/**
 * The server's end of one connection: does what the client says, row after row. Driven by {@link
 * #turn} on the server's thread; never blocks. What a client says wrong ends its run with a {@link
 * ToolException} that says so.
 */
final class PerfSession {
    private final Peer peer;
    private final PerfServer server;
    private final PerfParameters parameters;
    private @Nullable PingPong game;
    private @Nullable Landing landing;
    private @Nullable BandwidthFlow flow;
    private @Nullable BandwidthMeter meter;
    private PerfMessage.@Nullable Row row;
    private CounterSnapshot rowStart;
    private boolean rowRuns;
    private boolean clientIsDone;
    private boolean spoke;
    private boolean bye;
    private boolean verifies;

    PerfSession(Peer peer, PerfServer server) {
        this.peer = peer;
        this.server = server;
        parameters = peer.parameters;
        rowStart = snapshot();
    }

    Peer peer() {
        return peer;
    }

    /** A client that only knocked and went away again is none. */
    boolean spoke() {
        return spoke;
    }

    /** True while packets of a row flow, when the server's thread must not sleep. */
    boolean inRow() {
        return row != null;
    }

    boolean hasEnded() {
        return peer.hasEnded();
    }

    /** True when the client said goodbye, so that the end of its connection is no failure. */
    boolean saidBye() {
        return bye;
    }

    /** How long the client said it may be quiet. */
    long quietNs() {
        return row == null ? 0 : row.quietNs();
    }

    /** One look at everything that may have happened; true when something had. */
    boolean turn() {
        if (peer.connection.state() == ConnectionState.FAILED) {
            return false;
        }
        boolean worked = row != null && !hasEnded() && workOnRow(row);
        PerfMessage message = peer.channel.poll(PerfMessage.class);
        if (message != null) {
            spoke = true;
            server.onSpeak(peer);
            onMessage(message);
            worked = true;
        }
        return worked;
    }

    private boolean workOnRow(PerfMessage.Row current) {
        if (!rowRuns) {
            // The client begins when it hears READY; so does this end, and its counts of the row.
            rowRuns = peer.channel.isFlushed();
            rowStart = rowRuns ? snapshot() : rowStart;
        }
        boolean worked = landing != null && landing.repost();
        if (rowRuns && flow != null) {
            worked |= flow.step(System.nanoTime());
        }
        if (game != null) {
            worked |= answer(game);
        }
        if (clientIsDone && rowRuns && isDrained()) {
            report(current);
            worked = true;
        }
        return worked;
    }

    private static boolean answer(PingPong pong) {
        if (!pong.canSend() || !pong.hasArrived()) {
            return false;
        }
        pong.send();
        return true;
    }

    private boolean isDrained() {
        return (game == null || game.isDrained()) && (flow == null || flow.isDone());
    }

    private void onMessage(PerfMessage message) {
        switch (message.kind()) {
            case ROW -> beginRow(message);
            case ROW_END -> {
                // Not yet out of the row: the last messages of this end may still be under way.
                clientIsDone = true;
                verifies = message.verify();
            }
            case BYE -> bye = true;
            case READY, REPORT, REFUSAL ->
                    throw ToolException.failed(
                            "client %s said %s, which is a server's word"
                                    .formatted(peer.connection.peer(), message.kind()));
        }
    }

    private void beginRow(PerfMessage message) {
        PerfMessage.Row next = checked(message);
        peer.remote = message.region();
        if (parameters.test().isPingPong()) {
            game = new PingPong(peer, next.messageBytes(), next.pieceBytes());
        } else {
            if (landing == null) {
                landing = new Landing(peer);
            }
            landing.prepare(next.messageBytes());
        }
        if (parameters.bidirectional()) {
            prepareFlow(next);
        }
        row = next;
        rowRuns = false;
        clientIsDone = false;
        peer.channel.send(PerfMessage.ready(peer.landing().descriptor()));
    }

    private void prepareFlow(PerfMessage.Row next) {
        peer.fillSource();
        boolean timed = next.durationNs() > 0;
        meter = new BandwidthMeter(timed ? 0 : next.iterations() * parameters.qps());
        flow =
                new BandwidthFlow(
                        peer, next.messageBytes(), next.iterations(), next.durationNs(), meter);
    }

    /** The client decides, but not about memory that it has not asked for. */
    private PerfMessage.Row checked(PerfMessage message) {
        PerfMessage.Row next = message.row();
        boolean right =
                next != null
                        && next.messageBytes() >= 1
                        && next.messageBytes() <= parameters.maxMessageBytes()
                        && next.pieceBytes() >= 1
                        && next.iterations() >= 1
                        && next.durationNs() >= 0
                        && next.quietNs() >= 0
                        && (message.region() != null || !needsRegion());
        if (!right) {
            throw ToolException.failed(
                    "client %s asks for a row that does not fit its run: %s"
                            .formatted(peer.connection.peer(), next));
        }
        return Objects.requireNonNull(next);
    }

    /** True when this end writes into the client's memory. */
    private boolean needsRegion() {
        PerfTest test = parameters.test();
        return !test.isSend() && (test.isPingPong() || parameters.bidirectional());
    }

    private void report(PerfMessage.Row done) {
        if (landing != null) {
            landing.repost();
        }
        Boolean intact = null;
        if (verifies && landing != null && !parameters.test().isPull()) {
            intact = landing.isIntact(done.messageBytes());
        }
        CounterSnapshot counted = snapshot().since(rowStart);
        if (verifies) {
            long packets = counted.get(CounterId.DATA_ACCEPTED);
            server.onRowEnd(peer, done.messageBytes(), packets, intact);
        }
        peer.channel.send(
                PerfMessage.report(
                        new PerfMessage.ServerReport(
                                intact,
                                peer.device.limits().contexts(),
                                server.contextsPeak(),
                                peer.device.contextTableBytes(),
                                counted.nonZero(),
                                server.events(),
                                meter == null ? null : Sent.of(meter))));
        row = null;
    }

    private CounterSnapshot snapshot() {
        return CounterSnapshot.of(List.of(peer.device.counters()));
    }
}
