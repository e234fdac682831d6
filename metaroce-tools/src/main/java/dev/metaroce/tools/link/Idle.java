package dev.metaroce.tools.link;

import dev.metaroce.verbs.RdmaDevice;

import org.jspecify.annotations.Nullable;

import java.util.concurrent.locks.LockSupport;

/**
 * What a polling loop does when there was nothing to do. A loop that drives one device by itself
 * leaves that to the device; others spin, then let others run, then sleep ever longer up to a
 * millisecond. One thread.
 */
public final class Idle {
    private static final int SPINS = 64;
    private static final int YIELDS = 20_000;
    private static final long LONGEST_SLEEP_NS = 1_000_000;

    private final @Nullable RdmaDevice device;
    private int turns;
    private long sleepNs = 20_000;

    /** For a loop over several devices, or over one with a thread of its own. */
    public Idle() {
        device = null;
    }

    /** For a loop that drives one device in inline mode. */
    public Idle(RdmaDevice device) {
        this.device = device;
    }

    /** There was work: start anew with spinning. */
    public void reset() {
        turns = 0;
        sleepNs = 20_000;
    }

    /**
     * There was none.
     *
     * @param busy true while a measurement runs: a loop over several devices does not sleep then
     */
    @SuppressWarnings("ThreadPriorityCheck") // on few cores the peer needs what spinning would take
    public void pause(boolean busy) {
        if (device != null) {
            device.idle(LONGEST_SLEEP_NS);
            return;
        }
        turns++;
        if (turns < SPINS) {
            Thread.onSpinWait();
        } else if (busy || turns < YIELDS) {
            Thread.yield();
        } else {
            LockSupport.parkNanos(sleepNs);
            sleepNs = Math.min(LONGEST_SLEEP_NS, sleepNs * 2);
        }
    }
}
