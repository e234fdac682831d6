package dev.metaroce.sim.fabric;

/** Why a packet did not arrive, or not whole. */
public enum LossReason {
    /** The queue or the buffer of the switch was full. */
    QUEUE_FULL("found the queue full"),

    /** The queue was full, and the packet went on without its payload. */
    TRIMMED("were trimmed"),

    /** There was no room although the class is lossless: flow control failed. */
    LOSSLESS("were of a lossless class and dropped"),

    /** The watchdog emptied a port that was stopped for too long. */
    WATCHDOG("were dropped by the watchdog of a stopped port"),

    /** The wire lost it. */
    WIRE("lost on the wire"),

    /** The link was down, or went down with the packet on it. */
    LINK_DOWN("lost with the link down"),

    /** The switch at the end of the link knows no way on. */
    NO_ROUTE("had no way on");

    private final String words;

    LossReason(String words) {
        this.words = words;
    }

    /** Completes "packets that". */
    public String words() {
        return words;
    }
}
