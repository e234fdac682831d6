package dev.metaroce.ring;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * Receives that the streams of several connections take from, oldest first. A receive belongs to
 * the stream that took it until it completes; its place is free again when that completion was
 * polled. One thread posts; the engine thread takes.
 */
public final class SharedReceives {
    private final WorkQueue queue;
    private final SharedReceivesListener listener;
    private final AtomicInteger limit = new AtomicInteger();
    private final AtomicInteger users = new AtomicInteger();

    /** Sequence number of the oldest receive that nobody took. */
    private long next;

    /**
     * @param domain id of the protection domain of the memory and of the streams
     * @param depth receives posted and not yet polled, taken or not, 1..{@value
     *     WorkQueue#MAX_DEPTH}
     * @param maxSge pieces of a receive, 1..{@value WorkRequest#MAX_SGE}
     */
    public SharedReceives(int domain, int depth, int maxSge, SharedReceivesListener listener) {
        queue = WorkQueue.receives(this, domain, depth, maxSge);
        this.listener = listener;
    }

    /** Where they are posted. */
    public WorkQueue queue() {
        return queue;
    }

    /** Any thread: from now on the listener is told, once, of fewer receives than this; 0: not. */
    public void arm(int newLimit) {
        limit.set(newLimit);
    }

    /** Any thread: the limit that is armed; 0 when none is, or its time came. */
    public int armed() {
        return limit.get();
    }

    /** Any thread: one more stream takes from here. */
    public void join() {
        users.incrementAndGet();
    }

    /** Engine thread: a stream ended, and gave what it had taken to its completion ring. */
    public void leave() {
        users.decrementAndGet();
    }

    /** Streams that take from here. */
    public int users() {
        return users.get();
    }

    /** A receive queue for one stream, filled by {@link #take} alone. */
    public WorkQueue taker(Object owner) {
        return WorkQueue.takingFrom(queue, owner);
    }

    /**
     * Engine thread: moves the oldest receive to the end of the queue of a stream.
     *
     * @param into one of {@link #taker}
     * @param oldest the oldest receive there that has not completed
     * @return false when there is none
     */
    public boolean take(WorkQueue into, long oldest) {
        boolean found = next < queue.tail();
        if (found) {
            into.copy(next, oldest);
            next++;
            listener.onTaken();
        }
        int armed = limit.get();
        //= MR-4.9-13
        if (queue.tail() - next < armed && limit.compareAndSet(armed, 0)) {
            listener.onLimitReached();
        }
        return found;
    }
}
