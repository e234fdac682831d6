package dev.metaroce.bench;

import dev.metaroce.sim.event.EventQueue;
import dev.metaroce.util.Rng;

import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Setup;

/**
 * The event queue of a simulation: the next event taken, and one added in its place. One event in
 * eight is a timer; the others are what packets cause at 100 Gb/s and 1 us a link, at any time or
 * with all hosts in step.
 */
public class EventQueueBenchmark extends HotPathBenchmark {
    private static final int DRAWS = 1024;
    private static final int SERIALIZATION_PS = 327_680;
    private static final int PROPAGATION_PS = 1_000_000;

    /** Of packets that are in step: each event causes the next of these. */
    private static final long[] IN_STEP_PS = {
        SERIALIZATION_PS, PROPAGATION_PS, SERIALIZATION_PS, PROPAGATION_PS, 0, 20_000, 6_400
    };

    @Param({"2000", "50000", "1000000"})
    private int pending;

    @Param({"random", "inStep"})
    private String packets;

    private final EventQueue queue = new EventQueue();
    private final long[] aheadPs = new long[DRAWS];
    private final long[] timerPs = new long[DRAWS];
    private Rng rng = new Rng(0);
    private boolean inStep;

    @Setup
    public void fill() {
        rng = new Rng(1);
        inStep = packets.equals("inStep");
        for (int i = 0; i < DRAWS; i++) {
            boolean far = rng.chance(2.0 / 3);
            aheadPs[i] = far ? 80_000 + rng.nextInt(1_320_000) : rng.nextInt(20_000);
            // 10 us to 4 s, each power of ten as likely; one in 256 after 10^6 s.
            double timer = 1e7 * Math.pow(4e5, rng.nextDouble());
            timerPs[i] = i % 256 == 0 ? 1_000_000_000_000_000_000L : (long) timer;
        }
        for (int i = 0; i < pending; i++) {
            queue.add(inStep ? 0 : aheadPs(i), i);
        }
    }

    private long aheadPs(long event) {
        int draw = (int) (rng.nextLong() >>> 32) & (DRAWS - 1);
        int kind = (int) event & 7;
        if (kind == 7) {
            return timerPs[draw];
        }
        return inStep ? IN_STEP_PS[kind] : aheadPs[draw];
    }

    @Benchmark
    public long nextAndAdd() {
        queue.next();
        long event = queue.event();
        int kind = (int) event & 7;
        // A timer stays one, and the other kinds follow each other.
        long following = kind == 7 ? event : kind == 6 ? event - 6 : event + 1;
        queue.add(queue.timePs() + aheadPs(event), following);
        return event;
    }
}
