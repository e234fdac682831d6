package dev.metaroce.transport;

/** What a receiver answers to a REQUEST when no context id is free. */
public enum ExhaustionPolicy {
    /** Wait in a bounded queue, first come first served; refused only when that queue is full. */
    QUEUE,
    /** The same, and idle leases are asked back at once, before they used their quota. */
    PREEMPT,
    /** Refused at once. */
    DENY
}
