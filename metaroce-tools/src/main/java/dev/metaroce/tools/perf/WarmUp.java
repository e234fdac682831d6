package dev.metaroce.tools.perf;

import java.lang.management.CompilationMXBean;
import java.lang.management.ManagementFactory;

/**
 * Unmeasured traffic before a measurement, until this Java no longer compiles much and the rate no
 * longer rises: how long that takes depends on the machine and on what else runs there. One thread.
 */
final class WarmUp {
    /** Largest message used: larger ones take the same way. */
    private static final long MESSAGE_BYTES_MAX = 1 << 20;

    /** Slices of half the time asked for: at least that time, at most five times as much. */
    private static final int SLICES_MIN = 2;

    private static final int SLICES_MAX = 10;
    private static final double STILL_RISING = 1.05;
    private static final double COMPILING_SHARE_MAX = 0.1;

    private final PerfClient client;

    WarmUp(PerfClient client) {
        this.client = client;
    }

    /**
     * @param wantedNs the least time, 0 for no warm-up
     */
    void run(long messageBytes, long wantedNs) {
        if (wantedNs == 0) {
            return;
        }
        long sliceNs = wantedNs / SLICES_MIN;
        double best = 0;
        for (int slice = 1; slice <= SLICES_MAX; slice++) {
            long compiledMs = compiledMs();
            double rate = rate(messageBytes, sliceNs);
            double compiling = (compiledMs() - compiledMs) * 1e6 / sliceNs;
            boolean steady = rate < best * STILL_RISING && compiling < COMPILING_SHARE_MAX;
            if (slice >= SLICES_MIN && steady) {
                return;
            }
            best = Math.max(best, rate);
        }
    }

    /** Messages per second. */
    private double rate(long messageBytes, long sliceNs) {
        long bytes = Math.min(messageBytes, MESSAGE_BYTES_MAX);
        PerfClient.Measured measured =
                client.measure(client.row(bytes, 1, sliceNs, 0), false, 0, interval -> {});
        LatencyMeter latency = measured.latency();
        if (latency != null) {
            return latency.count() / measured.elapsedS();
        }
        Sent sent = java.util.Objects.requireNonNull(measured.sent());
        return sent.messages() * 1e9 / sent.elapsedNs();
    }

    /** Time that compiler threads have spent so far; 0 where the VM does not tell. */
    private static long compiledMs() {
        CompilationMXBean compiler = ManagementFactory.getCompilationMXBean();
        return compiler != null && compiler.isCompilationTimeMonitoringSupported()
                ? compiler.getTotalCompilationTime()
                : 0;
    }
}
