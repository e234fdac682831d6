package dev.metaroce.transport;

/** Life of a lease at its initiator. */
enum LeaseState {
    IDLE,
    /** REQUEST sent, no answer yet. */
    REQUESTED,
    /** The target keeps us in its line. */
    QUEUED,
    /** Refused for now; asks again at the retry time. */
    WAITING,
    OPEN,
    /** No new messages; what is on the way is being finished. */
    DRAINING,
    /** RELEASE sent, not yet acknowledged. */
    RELEASING,
    /** DISCONNECT sent, not yet acknowledged. */
    DISCONNECTING
}
