package dev.metaroce.memory;

import org.jspecify.annotations.Nullable;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * Lets an application thread wait until the engine's current turn is over, so that what the
 * application took away before the wait cannot be in use after it.
 *
 * <p>The engine thread calls {@link #enter} when a turn starts and {@link #exit} when it ends, and
 * keeps nothing it looked up in a table from one turn to the next. One turn at a time; the thread
 * may change between turns. A turn has bounded work, so the wait is short; an engine thread must
 * never wait inside a turn for a thread that deregisters.
 *
 * <p>How it works. The counter is odd inside a turn. Two threads each store one thing and then load
 * the other's:
 *
 * <pre>
 *   engine:       store counter odd;   full fence;   load table
 *   application:  store table entry;   full fence;   load counter
 * </pre>
 *
 * <p>Each fence keeps its store before the load that follows, which release and acquire do not do.
 * So at least one of the two loads sees the other's store: either the engine finds the entry gone,
 * or the application sees an odd counter and waits for it to change. The store that ends a turn is
 * a release and the application's loads are acquires, so when the wait is over every byte the turn
 * wrote is visible and none will follow.
 */
public final class EngineGate {
    private static final VarHandle TURN;

    static {
        try {
            TURN = MethodHandles.lookup().findVarHandle(EngineGate.class, "turn", long.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /** Odd inside a turn. Written by the engine thread only. */
    private long turn;

    /** Thread of the latest turn; written before {@code turn} becomes odd. */
    private @Nullable Thread owner;

    /** Starts a turn of the calling thread. */
    public void enter() {
        owner = Thread.currentThread();
        TURN.setRelease(this, turn + 1);
        VarHandle.fullFence();
    }

    /** Ends the turn. */
    public void exit() {
        TURN.setRelease(this, turn + 1);
    }

    /** True when the calling thread is inside a turn, that is, when a wait would never end. */
    public boolean isInTurnOfCaller() {
        // The counter is read first: if it is odd by another thread's turn, the acquire makes that
        // thread's owner visible, so a stale owner cannot name the caller.
        return (current() & 1) != 0 && owner == Thread.currentThread();
    }

    /**
     * Returns when the turn that was running at the time of the call is over; at once when none
     * was. Call it after the removal.
     *
     * @param onEngineThread true when the caller is the engine thread itself, inside its turn or
     *     not; then there is nothing to wait for
     */
    public void awaitQuiescent(boolean onEngineThread) {
        VarHandle.fullFence();
        if (onEngineThread) {
            return;
        }
        long seen = current();
        if ((seen & 1) == 0) {
            return;
        }
        while (current() == seen) {
            Thread.onSpinWait();
        }
    }

    private long current() {
        return (long) TURN.getAcquire(this);
    }
}
