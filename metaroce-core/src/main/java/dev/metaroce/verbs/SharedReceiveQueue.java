package dev.metaroce.verbs;

import dev.metaroce.event.AsyncEventType;
import dev.metaroce.event.CounterId;
import dev.metaroce.ring.PostResult;
import dev.metaroce.ring.Reservation;
import dev.metaroce.ring.SharedReceives;
import dev.metaroce.ring.SharedReceivesListener;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Receives for several queue pairs, of any connections (as {@code ibv_srq}): a message takes the
 * oldest one, whichever queue pair it is for, and completes it on the receive completion queue of
 * that queue pair. Peers notice nothing of it. One thread at a time may post.
 *
 * <p>A receive that a message has begun to fill stays with its queue pair: it completes there, with
 * WR_FLUSH_ERROR when the queue pair or its connection ends first. All others stay in the queue. A
 * place is free again when its completion was polled.
 */
public final class SharedReceiveQueue implements AutoCloseable {
    private final ProtectionDomain domain;
    private final SharedReceives receives;
    private final int depth;
    private final RdmaDevice device;
    private final Map<CompletionQueue, Reservation> rooms = new LinkedHashMap<>();
    private boolean closed;

    SharedReceiveQueue(RdmaDevice device, ProtectionDomain domain, int depth, int maxSge) {
        this.device = device;
        this.domain = domain;
        this.depth = depth;
        receives = new SharedReceives(domain.id(), depth, maxSge, listener(device));
    }

    SharedReceives receives() {
        return receives;
    }

    public ProtectionDomain domain() {
        return domain;
    }

    /**
     * Posts a receive (as {@code ibv_post_srq_recv}).
     *
     * @return QUEUE_FULL when nothing was posted: as many are posted, or completed and not polled,
     *     as the queue is deep
     * @throws IllegalArgumentException when the request can not be right, as for {@link
     *     QueuePair#post(ReceiveRequest)}
     * @throws IllegalStateException when the queue is closed
     */
    public PostResult post(ReceiveRequest request) {
        if (closed) {
            throw new IllegalStateException("the shared receive queue is closed");
        }
        return receives.queue().offer(request);
    }

    /**
     * Asks for one event {@link AsyncEventType#SRQ_LIMIT_REACHED} of {@link RdmaDevice#events} when
     * fewer receives are left than this (as {@code ibv_modify_srq} with {@code IBV_SRQ_LIMIT}); it
     * is looked at whenever a message takes or wants a receive. Arm it anew after it came.
     *
     * @param limit 1..depth, or 0 for no event
     */
    public void arm(int limit) {
        if (limit < 0 || limit > depth) {
            throw new IllegalArgumentException("limit " + limit + " is not in 0.." + depth);
        }
        receives.arm(limit);
    }

    /** The limit that is armed; 0 when none is, or its time came. */
    public int armed() {
        return receives.armed();
    }

    private SharedReceivesListener listener(RdmaDevice of) {
        return new SharedReceivesListener() {
            @Override
            public void onTaken() {
                of.counters().increment(CounterId.SHARED_RECEIVES);
            }

            @Override
            public void onLimitReached() {
                of.raise(AsyncEventType.SRQ_LIMIT_REACHED, SharedReceiveQueue.this, "");
            }
        };
    }

    /** Room in the completion queue of a new queue pair: all receives may end up there. */
    synchronized Reservation roomIn(CompletionQueue queue) {
        if (closed) {
            throw new IllegalStateException("the shared receive queue is closed");
        }
        Reservation room = rooms.get(queue);
        if (room == null) {
            room = queue.reserve(depth);
            rooms.put(queue, room);
        }
        return room;
    }

    /**
     * Ends the queue (as {@code ibv_destroy_srq}); receives that no message took are forgotten.
     *
     * @throws IllegalStateException while queue pairs use it that are not closed, or whose
     *     connection has not ended
     */
    @Override
    public synchronized void close() {
        if (receives.users() > 0) {
            throw new IllegalStateException(
                    "the shared receive queue is used by "
                            + receives.users()
                            + " queue pairs: close them or their connections first");
        }
        closed = true;
        device.run(() -> rooms.values().forEach(Reservation::end));
    }
}
