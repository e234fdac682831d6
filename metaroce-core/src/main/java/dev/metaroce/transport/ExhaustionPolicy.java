package dev.metaroce.transport;

/** What a receiver answers to a REQUEST when no context id is free. */
public enum ExhaustionPolicy {
    /** Wait in a bounded first-in first-out queue; refused only when that queue is full. */
    QUEUE,
    /** Refused at once. */
    DENY
}
