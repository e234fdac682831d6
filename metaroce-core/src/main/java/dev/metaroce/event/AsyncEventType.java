package dev.metaroce.event;

/**
 * What happens to connections and queues by itself, between completions. The names are those of
 * {@code rdma_cm_event_type} and {@code ibv_event_type}, without their prefixes, where they have
 * one; the request of a peer to connect (CONNECT_REQUEST there) goes to the listener instead.
 */
public enum AsyncEventType {
    /** A connection is open, at either end ({@code RDMA_CM_EVENT_ESTABLISHED}). */
    ESTABLISHED,
    /** The peer's service refused ({@code RDMA_CM_EVENT_REJECTED}). */
    REJECTED,
    /** Not connected within its time ({@code RDMA_CM_EVENT_UNREACHABLE}). */
    UNREACHABLE,
    /**
     * The connection failed: the peers do not suit each other ({@code RDMA_CM_EVENT_CONNECT_ERROR})
     * or an open connection broke; verbs tell the latter by completions alone.
     */
    FAILED,
    /** The connection ended in order, by either side ({@code RDMA_CM_EVENT_DISCONNECTED}). */
    DISCONNECTED,
    /** A queue pair of a living connection is in the error state ({@code IBV_EVENT_QP_FATAL}). */
    QP_FATAL,
    /** A shared receive queue has less than its limit ({@code IBV_EVENT_SRQ_LIMIT_REACHED}). */
    SRQ_LIMIT_REACHED,
    /** A path without answers took another route ({@code IBV_EVENT_PATH_MIG}). */
    PATH_MIGRATED,
    /**
     * Packets of the peer come without ECN, so that its congestion control lacks the best signal;
     * once per connection. Verbs have nothing like it.
     */
    ECN_MISSING
}
