package dev.metaroce.memory;

/**
 * What the access check of one operation found. Peers are told only that access was refused; the
 * difference is for the owner's counters.
 */
public enum AccessVerdict {
    OK,
    /** No open region has this key, or a peer invalidated it. */
    UNKNOWN_KEY,
    /** The range is not inside the region. */
    BOUNDS,
    /** The region does not grant the right that the operation needs. */
    RIGHTS,
    /** The region belongs to another protection domain. */
    DOMAIN
}
