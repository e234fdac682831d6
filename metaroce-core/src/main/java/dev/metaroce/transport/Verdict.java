package dev.metaroce.transport;

/** What a target decided about a DATA packet. */
enum Verdict {
    /** Placed, counted, to be acknowledged. */
    ACCEPTED,
    /** Seen before; acknowledged again so that its sender learns. */
    DUPLICATE,
    /** The context is free, or its epoch is another. */
    STALE_CONTEXT,
    /** Not from the host that holds the context. */
    WRONG_SOURCE,
    /** The sequence number is outside the window of its path. */
    OUT_OF_WINDOW,
    /** Profile S: not the expected packet. */
    OUT_OF_SEQUENCE,
    /** No receive is posted. */
    NOT_READY,
    /** Key, bounds, rights or domain forbid it. */
    ACCESS,
    /** An atomic operation on an address that is not a multiple of 8. */
    MISALIGNED,
    /** Longer than the posted receive. */
    TOO_LONG,
    /** The memory of the posted receive is out of reach: its region or arena was closed. */
    LOCAL_FAULT,
    /** Contradicts what came before, or asks for what the lease does not allow. */
    INVALID
}
