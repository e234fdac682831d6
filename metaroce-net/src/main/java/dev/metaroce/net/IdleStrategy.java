package dev.metaroce.net;

/** What the thread that moves a device does when there is nothing to do. */
public enum IdleStrategy {
    /** Looks again at once, always: lowest latency, for a core of its own. */
    SPIN,

    /** Looks again after giving other threads of the same core their turn. */
    YIELD,

    /**
     * Spins for {@link DeviceOptions#spinNs}, then sleeps until a datagram, posted work or a
     * deadline: nearly no load at rest.
     */
    PARK
}
