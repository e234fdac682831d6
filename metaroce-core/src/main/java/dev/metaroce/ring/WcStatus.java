package dev.metaroce.ring;

/**
 * How a work request ended; names follow {@code ibv_wc_status} of libibverbs, so that a reader who
 * knows verbs finds them.
 */
public enum WcStatus {
    SUCCESS,
    /** The local buffer was too small for the arriving message. */
    LOCAL_LENGTH_ERROR,
    /** The local memory region was closed or does not cover the buffer. */
    LOCAL_PROTECTION_ERROR,
    /** Work posted to, or still queued in, a queue pair that is in the error state. */
    WR_FLUSH_ERROR,
    /** The target refused the request as malformed, too long or of an unknown kind. */
    REMOTE_INVALID_REQUEST_ERROR,
    /** The target's key, bounds, rights or protection domain did not allow the access. */
    REMOTE_ACCESS_ERROR,
    /** The target could not carry the request out. */
    REMOTE_OPERATION_ERROR,
    /** No progress within the give-up time. */
    RETRY_EXCEEDED_ERROR,
    /** The target had no receive posted for longer than the give-up time. */
    RNR_RETRY_EXCEEDED_ERROR
}
