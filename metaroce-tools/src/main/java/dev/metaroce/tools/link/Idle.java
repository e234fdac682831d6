package dev.metaroce.tools.link;

import java.util.concurrent.locks.LockSupport;

/**
 * What a polling loop does when there was nothing to do: spin, then let others run, then sleep ever
 * longer up to a millisecond. One thread.
 */
public final class Idle {
    private static final int SPINS = 64;
    private static final int YIELDS = 20_000;
    private static final long LONGEST_SLEEP_NS = 1_000_000;

    private final boolean spins;
    private int turns;
    private long sleepNs = 20_000;

    /** Goes over to yields and sleeps in time. */
    public Idle() {
        this(false);
    }

    /**
     * @param spins never give up the core while a measurement runs
     */
    Idle(boolean spins) {
        this.spins = spins;
    }

    /** There was work: start anew with spinning. */
    public void reset() {
        turns = 0;
        sleepNs = 20_000;
    }

    /**
     * There was none.
     *
     * @param busy true while a measurement runs, so that this thread must not sleep
     */
    @SuppressWarnings("ThreadPriorityCheck") // on few cores the peer needs what spinning would take
    public void pause(boolean busy) {
        turns++;
        if (turns < SPINS || (spins && busy)) {
            Thread.onSpinWait();
        } else if (busy || turns < YIELDS) {
            Thread.yield();
        } else {
            LockSupport.parkNanos(sleepNs);
            sleepNs = Math.min(LONGEST_SLEEP_NS, sleepNs * 2);
        }
    }
}
