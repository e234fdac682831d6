package dev.metaroce.verbs;

import org.jspecify.annotations.Nullable;

/**
 * A service whose requests wait to be taken, for programs that would rather block than be called
 * ({@code rdma_listen} with {@code rdma_get_request}). Made by {@link RdmaDevice#listen(long,
 * int)}. Any thread.
 */
public final class Listener implements AutoCloseable {
    private final RdmaDevice device;
    private final long serviceId;
    private final Signal signal;
    private final Mailbox<ConnectionRequest> waiting;
    private volatile boolean closed;

    Listener(RdmaDevice device, long serviceId, int backlog, Signal signal) {
        this.device = device;
        this.serviceId = serviceId;
        this.signal = signal;
        waiting = new Mailbox<>(backlog);
    }

    /** Engine thread: takes a request in, or has the peer ask again when too many wait. */
    void onRequest(ConnectionRequest request) {
        if (waiting.offer(request)) {
            signal.raise();
        } else {
            request.busy();
        }
    }

    /**
     * Waits for a request that nobody answered yet. In inline mode the calling thread drives the
     * engine meanwhile.
     *
     * @param timeoutNs longest wait in nanoseconds; {@link Long#MAX_VALUE} for ever
     * @return null when the time ran out, or the thread was interrupted, which stays set
     * @throws IllegalStateException when this or the device is closed or the device failed, or when
     *     called on the engine's thread
     */
    public @Nullable ConnectionRequest accept(long timeoutNs) {
        @Nullable ConnectionRequest[] found = new ConnectionRequest[1];
        signal.await(() -> closed || (found[0] = next()) != null, timeoutNs);
        if (closed) {
            throw new IllegalStateException("the listener of service " + serviceId + " is closed");
        }
        return found[0];
    }

    private @Nullable ConnectionRequest next() {
        ConnectionRequest request = waiting.poll();
        while (request != null && request.isOver()) {
            request = waiting.poll();
        }
        return request;
    }

    /** Withdraws the service and rejects who waits here; accepted connections stay. */
    @Override
    public void close() {
        closed = true;
        device.unlisten(serviceId);
        signal.raise();
        for (ConnectionRequest r = next(); r != null; r = next()) {
            r.reject();
        }
    }
}
