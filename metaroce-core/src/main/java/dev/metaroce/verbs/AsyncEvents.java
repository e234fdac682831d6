package dev.metaroce.verbs;

import org.jspecify.annotations.Nullable;

import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

/**
 * What happens on a device between completions, in order ({@code ibv_get_async_event}, {@code
 * rdma_get_cm_event}; nothing is to be acknowledged). Poll, wait, or set a listener. Any thread.
 *
 * <p>It keeps the oldest {@value #CAPACITY} events that nobody took; later ones are counted and
 * lost. Whoever does not care need not do anything.
 */
public final class AsyncEvents {
    /** Events kept. */
    public static final int CAPACITY = 1024;

    private final Signal signal;
    private final Consumer<RuntimeException> onFailure;
    private final Mailbox<AsyncEvent> waiting = new Mailbox<>(CAPACITY);
    private final AtomicLong lost = new AtomicLong();
    private volatile @Nullable Consumer<AsyncEvent> listener;

    AsyncEvents(Signal signal, Consumer<RuntimeException> onFailure) {
        this.signal = signal;
        this.onFailure = onFailure;
    }

    /** Engine thread. */
    void add(AsyncEvent event) {
        Consumer<AsyncEvent> told = listener;
        if (told != null) {
            try {
                told.accept(event);
            } catch (RuntimeException e) {
                onFailure.accept(e);
            }
        } else if (waiting.offer(event)) {
            signal.raise();
        } else {
            lost.incrementAndGet();
        }
    }

    /** The oldest event, or null when there is none. Never blocks. */
    public @Nullable AsyncEvent poll() {
        return waiting.poll();
    }

    /**
     * Waits for an event. In inline mode the calling thread drives the engine meanwhile.
     *
     * @param timeoutNs longest wait in nanoseconds; {@link Long#MAX_VALUE} for ever
     * @return null when the time ran out, or the thread was interrupted, which stays set
     * @throws IllegalStateException when the device is closed or failed, or when called on the
     *     engine's thread
     */
    public @Nullable AsyncEvent take(long timeoutNs) {
        AsyncEvent event = poll();
        if (event == null && signal.await(() -> !waiting.isEmpty(), timeoutNs)) {
            return poll();
        }
        return event;
    }

    /**
     * Hands events over from now on instead of keeping them; on the engine's thread, so it must not
     * block. What was kept stays to be polled.
     */
    public void listener(Consumer<AsyncEvent> newListener) {
        listener = newListener;
    }

    /** Events lost because {@value #CAPACITY} others waited. */
    public long lost() {
        return lost.get();
    }
}
