package dev.metaroce.tools.perf;

import dev.metaroce.tools.cli.ToolException;
import dev.metaroce.tools.link.Idle;
import dev.metaroce.tools.link.LinkFailure;

import java.util.concurrent.TimeUnit;

/**
 * The client's loop of a latency test: one round, and again. One thread, which polls without a
 * break, allocates nothing per round, and looks at the clock once per round.
 */
final class LatencyRun {
    private static final long STALL_NS = TimeUnit.SECONDS.toNanos(15);

    /** Idle turns between two looks at whether the peer is still there. */
    private static final int TURNS_PER_LOOK = 1024;

    private final Peer peer;
    private final Rounds game;
    private final long iterations;
    private final long durationNs;
    private final LatencyMeter meter;
    private final Idle idle;
    private long elapsedNs;
    private long roundNs;
    private int idleTurns;

    /**
     * @param row how many round trips, or how long to play
     * @param idle for turns without work
     */
    LatencyRun(Peer peer, Rounds game, PerfMessage.Row row, Idle idle) {
        this.idle = idle;
        this.peer = peer;
        this.game = game;
        meter = new LatencyMeter(game.share());
        durationNs = row.durationNs();
        iterations = durationNs > 0 ? Long.MAX_VALUE : row.iterations();
    }

    LatencyMeter run() {
        long startNs = System.nanoTime();
        roundNs = startNs;
        for (long round = 0; round < iterations; round++) {
            while (!game.canSend()) {
                turn();
            }
            game.send();
            idle.reset();
            while (!game.hasArrived()) {
                turn();
            }
            long nowNs = System.nanoTime();
            meter.onRoundTrip(nowNs - roundNs);
            roundNs = nowNs;
            if (durationNs > 0 && nowNs - startNs >= durationNs) {
                break;
            }
        }
        elapsedNs = roundNs - startNs;
        while (!game.isDrained()) {
            turn();
        }
        return meter;
    }

    /** All round trips together. */
    long elapsedNs() {
        return elapsedNs;
    }

    private void turn() {
        if (peer.device.progress() == 0) {
            idle.pause(true);
            if (++idleTurns % TURNS_PER_LOOK == 0) {
                checkStall(System.nanoTime() - roundNs);
            }
        }
    }

    private void checkStall(long silentNs) {
        if (peer.hasEnded()) {
            String why = LinkFailure.reasonOf(peer.connection);
            throw ToolException.failed(
                    "the connection to %s ended after %d round trips%s"
                            .formatted(
                                    peer.connection.peer(),
                                    meter.count(),
                                    why.isEmpty() ? "" : ": " + why));
        }
        if (silentNs > STALL_NS) {
            throw ToolException.failed(
                    "no answer for %d s after %d round trips: the peer hangs"
                            .formatted(TimeUnit.NANOSECONDS.toSeconds(silentNs), meter.count()));
        }
    }
}
