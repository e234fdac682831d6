package dev.metaroce.bench;

import dev.metaroce.util.TimerTable;

import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Setup;

/** The timer table of an engine, with as many timers armed as paths have something in flight. */
public class TimerBenchmark extends HotPathBenchmark {
    private static final long TIMEOUT_NS = 1_000_000;

    private final TimerTable timers = new TimerTable(1024);

    @Param({"16", "1024"})
    private int armed;

    private long nowNs;
    private int next;

    @Setup
    public void arm() {
        for (int id = 0; id < armed; id++) {
            timers.set(id, nowNs + TIMEOUT_NS + id);
        }
    }

    /** An acknowledgement arrived: the time-out of its path moves back. */
    @Benchmark
    public long move() {
        nowNs += 100;
        timers.set(next, nowNs + TIMEOUT_NS);
        next = next + 1 < armed ? next + 1 : 0;
        return timers.nextDeadlineNs();
    }

    /** The earliest timer expires and is armed again. */
    @Benchmark
    public int expire() {
        nowNs = timers.nextDeadlineNs();
        int id = timers.pollExpired(nowNs);
        timers.set(id, nowNs + TIMEOUT_NS);
        return id;
    }
}
