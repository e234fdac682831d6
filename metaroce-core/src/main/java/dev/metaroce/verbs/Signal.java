package dev.metaroce.verbs;

import java.util.function.BooleanSupplier;

/**
 * How an application thread waits for something the engine does: one side raises, the other waits
 * for a condition and looks again at each raise. Made by {@link Driver#newSignal}; used inside this
 * package, implemented by drivers.
 */
public interface Signal {
    /**
     * Any thread, after what may have made a condition true: whoever waits looks again. Cheap when
     * nobody does; never blocks.
     */
    void raise();

    /**
     * Waits until {@code condition} holds. It is looked at once at first and after each raise that
     * follows, never missing one. An interrupt ends the wait early and stays set.
     *
     * @param timeoutNs longest wait in nanoseconds; 0 or less to look only once
     * @return what the condition said last
     * @throws IllegalStateException when the device is closed or failed, or the calling thread is
     *     the one that would have to make the condition true
     */
    boolean await(BooleanSupplier condition, long timeoutNs);
}
