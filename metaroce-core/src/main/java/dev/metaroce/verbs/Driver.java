package dev.metaroce.verbs;

import java.util.function.BooleanSupplier;

/**
 * What moves a device's engine: a thread with sockets, the application's own polling, or a
 * simulator. Implemented by {@code metaroce-net} and the simulator, not by applications.
 */
public interface Driver {
    /**
     * Inline mode: one bounded turn (receive, time-outs, transmit) on the calling thread, without
     * blocking. Returns the number of packets moved; 0 and nothing done when a driver thread runs.
     */
    int progress();

    /**
     * Inline mode: what to do after a turn that moved nothing: look again at once, let others run
     * or sleep until a packet or a deadline, as the driver was set up to. Returns at once when a
     * driver thread runs.
     *
     * @param maxNs longest time in nanoseconds
     */
    void idle(long maxNs);

    /** Any thread: work was posted; wakes the driver if it sleeps. Cheap when it does not. */
    void wake();

    /**
     * Waits until {@code condition} holds, driving the engine meanwhile in inline mode.
     *
     * @param timeoutNs longest wait in nanoseconds
     * @return false when the time ran out
     */
    boolean await(BooleanSupplier condition, long timeoutNs);

    /**
     * Something to wait at for what the engine will do. This one has waiting threads drive the
     * engine by {@link #await}, or look again and again where that only looks; a driver with a
     * thread of its own lets them sleep.
     */
    default Signal newSignal() {
        return new Signal() {
            @Override
            public void raise() {}

            @Override
            public boolean await(BooleanSupplier condition, long timeoutNs) {
                return Driver.this.await(condition, timeoutNs);
            }
        };
    }

    /**
     * A connection handler of the application threw, and its connection was refused; or a listener
     * of events did. Say so somewhere.
     */
    void handlerFailed(RuntimeException cause);

    /** Stops the driver and frees its sockets; returns when its thread, if any, has ended. */
    void close();
}
