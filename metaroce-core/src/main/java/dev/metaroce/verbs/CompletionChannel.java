package dev.metaroce.verbs;

import dev.metaroce.ring.DoorbellList;

import org.jspecify.annotations.Nullable;

/**
 * Tells which of several completion queues have something to poll, so that one thread can sleep for
 * all of them ({@code ibv_comp_channel}). Made by {@link RdmaDevice#createCompletionChannel};
 * queues are attached when they are created.
 *
 * <p>A queue shows up here once for each time it was armed by {@link
 * CompletionQueue#requestNotify}. Completions that came before that do not count, so the order is:
 * arm, poll until empty, wait.
 *
 * <pre>{@code
 * queue.requestNotify();
 * while (running) {
 *     while (queue.poll(wc)) handle(wc);
 *     CompletionQueue ready = channel.take(timeoutNs);
 *     if (ready != null) ready.requestNotify();
 * }
 * }</pre>
 *
 * <p>One thread at a time may take; it may be a virtual one. In inline mode that thread drives the
 * engine while it waits.
 */
public final class CompletionChannel {
    private final RdmaDevice device;
    private final Signal signal;
    private final DoorbellList armedQueues = new DoorbellList();
    private DoorbellList.@Nullable Bell taken;

    CompletionChannel(RdmaDevice device, Signal signal) {
        this.device = device;
        this.signal = signal;
    }

    RdmaDevice device() {
        return device;
    }

    /** Engine thread: an armed queue got a completion. */
    void ring(DoorbellList.Bell queue) {
        armedQueues.ring(queue);
        signal.raise();
    }

    /** The queue that got a completion first, or null when none did. Never blocks. */
    public @Nullable CompletionQueue poll() {
        if (taken == null) {
            taken = armedQueues.takeAll();
        }
        DoorbellList.Bell first = taken;
        if (first == null) {
            return null;
        }
        taken = armedQueues.next(first);
        return (CompletionQueue) first.owner();
    }

    /**
     * Waits for a queue that got a completion ({@code ibv_get_cq_event}; nothing is to be
     * acknowledged). The queue may be empty when another thread polled it meanwhile.
     *
     * @param timeoutNs longest wait in nanoseconds; {@link Long#MAX_VALUE} for ever
     * @return null when the time ran out, or the thread was interrupted, which stays set
     * @throws IllegalStateException when the device is closed or failed, or when called on the
     *     engine's thread
     */
    public @Nullable CompletionQueue take(long timeoutNs) {
        CompletionQueue ready = poll();
        if (ready == null
                && signal.await(() -> taken != null || !armedQueues.isQuiet(), timeoutNs)) {
            return poll();
        }
        return ready;
    }
}
