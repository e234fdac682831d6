package dev.metaroce.tools.perf;

import dev.metaroce.tools.cli.ToolException;
import dev.metaroce.tools.link.Idle;

import org.jspecify.annotations.Nullable;

import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * The client's loop of a bandwidth test: lets the flows of all initiators send until they are done.
 * One thread; in inline mode that thread also moves the packets of all initiators.
 */
final class BandwidthRun {
    /** Longer silence than any give-up time of the transport: then something is badly wrong. */
    private static final long STALL_NS = TimeUnit.SECONDS.toNanos(60);

    private final PerfEnd[] peers;
    private final BandwidthFlow[] flows;
    private final BandwidthMeter meter;
    private final @Nullable Landing landing;
    private final @Nullable IntervalMeter intervals;
    private final Idle idle;

    /**
     * @param row what to send
     * @param landing takes what the server sends in a bidirectional test; null without
     * @param intervals is told how far the run is; null for none
     * @param idle for turns without work
     */
    BandwidthRun(
            List<? extends PerfEnd> peers,
            PerfMessage.Row row,
            @Nullable Landing landing,
            @Nullable IntervalMeter intervals,
            Idle idle) {
        this.idle = idle;
        this.peers = peers.toArray(PerfEnd[]::new);
        this.landing = landing;
        this.intervals = intervals;
        boolean timed = row.durationNs() > 0;
        long pairs = (long) peers.getFirst().parameters.qps() * peers.size();
        meter = new BandwidthMeter(timed ? 0 : row.iterations() * pairs);
        flows = new BandwidthFlow[this.peers.length];
        for (int i = 0; i < flows.length; i++) {
            flows[i] =
                    new BandwidthFlow(
                            this.peers[i],
                            row.messageBytes(),
                            row.iterations(),
                            row.durationNs(),
                            meter);
        }
    }

    BandwidthMeter run() {
        long nowNs = System.nanoTime();
        long progressNs = nowNs;
        if (intervals != null) {
            intervals.begin(nowNs);
        }
        while (!isDone()) {
            int moved = 0;
            boolean stepped = landing != null && landing.repost();
            for (int i = 0; i < flows.length; i++) {
                moved += peers[i].device.progress();
                nowNs = System.nanoTime();
                stepped |= flows[i].step(nowNs);
            }
            if (intervals != null) {
                intervals.onTurn(nowNs, meter.completions());
            }
            if (stepped) {
                progressNs = nowNs;
                idle.reset();
            } else if (moved == 0) {
                checkStall(nowNs - progressNs);
                idle.pause(true);
            }
        }
        if (intervals != null) {
            intervals.end(nowNs, meter.completions());
        }
        return meter;
    }

    private boolean isDone() {
        for (BandwidthFlow flow : flows) {
            if (!flow.isDone()) {
                return false;
            }
        }
        return true;
    }

    private void checkStall(long silentNs) {
        if (silentNs > STALL_NS) {
            throw ToolException.failed(
                    "no completion for %d s with %d of %d messages done: the peer hangs"
                            .formatted(
                                    TimeUnit.NANOSECONDS.toSeconds(silentNs),
                                    meter.completions(),
                                    meter.posts()));
        }
    }
}
