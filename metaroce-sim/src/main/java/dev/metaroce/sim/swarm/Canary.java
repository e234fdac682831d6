package dev.metaroce.sim.swarm;

/**
 * A bug put in on purpose, to see that the oracles notice. It strikes where packets reach a host,
 * and mends the checksum, so that the engine is fooled.
 */
public enum Canary {
    NONE,
    /** A byte of payload changes, about once in 20,000 packets. */
    CHANGED_BYTE,
    /** An acknowledgement tells of one packet more than came. */
    FORGED_RECEIPT;

    /** The two bugs in turn. */
    public static Canary of(long seed) {
        return (seed & 1) == 0 ? CHANGED_BYTE : FORGED_RECEIPT;
    }
}
