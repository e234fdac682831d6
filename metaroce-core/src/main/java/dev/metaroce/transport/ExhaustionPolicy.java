package dev.metaroce.transport;

/** What a target does with a request when no context id is free. */
public enum ExhaustionPolicy {
    /** Put it into a bounded first-in-first-out line and grant as slots come back. */
    QUEUE,
    /** Refuse it at once with a retry-after. */
    DENY
}
