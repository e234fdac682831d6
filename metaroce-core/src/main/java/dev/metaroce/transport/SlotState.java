package dev.metaroce.transport;

/** Where one context slot of the receiver stands in its life cycle. */
public enum SlotState {
    /** On the free list: the next grants come from here. */
    FREE,
    /** Granted, no DATA seen yet. */
    GRANTED,
    /** At least one DATA packet of the holder was accepted. */
    ACTIVE,
    /** The holder was asked to drain and release. */
    RECLAIMING,
    /** Freed, but its token may still be on packets in the network. */
    QUARANTINED
}
