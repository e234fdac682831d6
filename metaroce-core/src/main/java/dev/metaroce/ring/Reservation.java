package dev.metaroce.ring;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The room that a work queue has in a completion ring, from the time the queue is made until it has
 * ended and its last completion was polled. Who hands out the room keeps count of it.
 */
public final class Reservation {
    private static final VarHandle STATE;

    static {
        try {
            STATE = MethodHandles.lookup().findVarHandle(Reservation.class, "state", long.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private static final long LIVE = -1;
    private static final long RETURNED = -2;

    private final CompletionRing ring;
    private final int entries;

    /** LIVE, RETURNED, or, when the queue ended, where the ring was after its last completion. */
    private long state = LIVE;

    /**
     * @param entries completions that there may be at once
     */
    public Reservation(CompletionRing ring, int entries) {
        this.ring = ring;
        this.entries = entries;
    }

    public CompletionRing ring() {
        return ring;
    }

    public int entries() {
        return entries;
    }

    /** Engine thread: the queue ended; no completions follow those that are there. */
    public void end() {
        long now = (long) STATE.getVolatile(this);
        if (now != RETURNED) {
            STATE.compareAndSet(this, now, ring.tail());
        }
    }

    /**
     * Engine thread: completions are to follow after all, for work that was posted after the end.
     *
     * @return false when the room is gone: there is no place to report that work
     */
    public boolean resume() {
        long now = (long) STATE.getVolatile(this);
        return now == LIVE || (now != RETURNED && STATE.compareAndSet(this, now, LIVE));
    }

    /** Any thread: takes the room back when the queue ended and all of it was polled. */
    public boolean tryReturn() {
        long now = (long) STATE.getVolatile(this);
        return now >= 0 && ring.isPolled(now) && STATE.compareAndSet(this, now, RETURNED);
    }

    /** Any thread: true when the room was taken back; nothing can be reported any more. */
    public boolean isReturned() {
        return (long) STATE.getVolatile(this) == RETURNED;
    }
}
