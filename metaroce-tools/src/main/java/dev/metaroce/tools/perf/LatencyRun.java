package dev.metaroce.tools.perf;

import dev.metaroce.tools.cli.ToolException;
import dev.metaroce.tools.link.Idle;

import java.util.concurrent.TimeUnit;

/** The client's loop of a latency test: one message out, one back, and again. One thread. */
final class LatencyRun {
    private static final long STALL_NS = TimeUnit.SECONDS.toNanos(15);

    private final Peer peer;
    private final PingPong game;
    private final long iterations;
    private final long durationNs;
    private final LatencyMeter meter = new LatencyMeter();
    private final Idle idle = new Idle();
    private long elapsedNs;

    /**
     * @param iterations round trips, ignored with a duration
     * @param durationNs how long to play, 0 for a number of round trips
     */
    LatencyRun(Peer peer, PingPong game, long iterations, long durationNs) {
        this.peer = peer;
        this.game = game;
        this.iterations = durationNs > 0 ? Long.MAX_VALUE : iterations;
        this.durationNs = durationNs;
    }

    LatencyMeter run() {
        long startNs = System.nanoTime();
        long roundNs = startNs;
        for (long round = 0; round < iterations; round++) {
            await(game::canSend);
            game.send();
            await(game::hasArrived);
            long nowNs = System.nanoTime();
            meter.onRoundTrip(nowNs - roundNs);
            roundNs = nowNs;
            if (durationNs > 0 && nowNs - startNs >= durationNs) {
                break;
            }
        }
        elapsedNs = roundNs - startNs;
        await(game::isDrained);
        return meter;
    }

    /** All round trips together. */
    long elapsedNs() {
        return elapsedNs;
    }

    private void await(java.util.function.BooleanSupplier condition) {
        if (condition.getAsBoolean()) {
            return;
        }
        long sinceNs = System.nanoTime();
        idle.reset();
        do {
            if (peer.device.progress() == 0) {
                idle.pause(true);
                checkStall(System.nanoTime() - sinceNs);
            }
        } while (!condition.getAsBoolean());
    }

    private void checkStall(long silentNs) {
        if (peer.hasEnded()) {
            String why = peer.connection.failure();
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
