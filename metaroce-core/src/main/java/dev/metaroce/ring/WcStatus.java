package dev.metaroce.ring;

/**
 * How a work request ended; names follow {@code ibv_wc_status} of libibverbs, so that a reader who
 * knows verbs finds them.
 */
public enum WcStatus {
    /** {@code IBV_WC_SUCCESS} */
    SUCCESS,
    /** The arriving message was longer than the receive ({@code IBV_WC_LOC_LEN_ERR}). */
    LOCAL_LENGTH_ERROR,
    /** The local memory was deregistered after the post ({@code IBV_WC_LOC_PROT_ERR}). */
    LOCAL_PROTECTION_ERROR,
    /**
     * Work posted to, or still queued in, a queue pair that is in the error state or has ended
     * ({@code IBV_WC_WR_FLUSH_ERR}).
     */
    WR_FLUSH_ERROR,
    /**
     * The target refused the request: malformed, longer than its receive, or for a queue pair that
     * is in the error state ({@code IBV_WC_REM_INV_REQ_ERR}).
     */
    REMOTE_INVALID_REQUEST_ERROR,
    /**
     * The target's key, bounds, rights or protection domain did not allow the access ({@code
     * IBV_WC_REM_ACCESS_ERR}).
     */
    REMOTE_ACCESS_ERROR,
    /** The target could not carry the request out ({@code IBV_WC_REM_OP_ERR}). */
    REMOTE_OPERATION_ERROR,
    /** No progress within the give-up time ({@code IBV_WC_RETRY_EXC_ERR}). */
    RETRY_EXCEEDED_ERROR,
    /**
     * The target had no receive, as often as the queue pair tries or for longer than the give-up
     * time ({@code IBV_WC_RNR_RETRY_EXC_ERR}).
     */
    RNR_RETRY_EXCEEDED_ERROR
}
