package dev.metaroce.ring;

import org.jspecify.annotations.Nullable;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * How application threads tell the engine which queues have new work: a lock-free list of bells,
 * many ringing threads and one engine thread. A bell is in the list at most once, so the list needs
 * no memory of its own and cannot overflow.
 */
public final class DoorbellList {
    private static final VarHandle TOP;
    private static final VarHandle RUNG;

    static {
        try {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            TOP = lookup.findVarHandle(DoorbellList.class, "top", Bell.class);
            RUNG = lookup.findVarHandle(Bell.class, "rung", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /** One bell, embedded in whatever has work. */
    public static final class Bell {
        private final Object owner;
        private @Nullable Bell next;
        private int rung;

        public Bell(Object owner) {
            this.owner = owner;
        }

        public Object owner() {
            return owner;
        }
    }

    private @Nullable Bell top;

    /**
     * Any thread, after the work was published: true when this call put the bell into the list (the
     * engine may have to be woken), false when it was there already.
     */
    public boolean ring(Bell bell) {
        // A full exchange, not a plain look: the engine's own exchange in next() either comes later
        // and then sees the work published before this one, or came earlier and then we get 0.
        if ((int) RUNG.getAndSet(bell, 1) != 0) {
            return false;
        }
        while (true) {
            Bell head = (Bell) TOP.getAcquire(this);
            bell.next = head;
            if (TOP.compareAndSet(this, head, bell)) {
                return true;
            }
        }
    }

    /** True when no bell was rung; a cheap look for the engine thread. */
    public boolean isQuiet() {
        return TOP.getAcquire(this) == null;
    }

    /**
     * Engine thread: takes all bells, oldest first, as a chain to be walked with {@link #next};
     * each may be rung again from the moment {@code next} passed it, so read its work after that.
     */
    public @Nullable Bell takeAll() {
        Bell bell = (Bell) TOP.getAndSet(this, (Bell) null);
        Bell oldestFirst = null;
        while (bell != null) {
            Bell following = bell.next;
            bell.next = oldestFirst;
            oldestFirst = bell;
            bell = following;
        }
        return oldestFirst;
    }

    /** Engine thread: unlinks {@code bell}, lets it be rung again and returns the one after it. */
    public @Nullable Bell next(Bell bell) {
        Bell following = bell.next;
        bell.next = null;
        RUNG.getAndSet(bell, 0);
        return following;
    }
}
