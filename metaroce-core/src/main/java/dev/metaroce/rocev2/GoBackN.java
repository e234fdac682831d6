package dev.metaroce.rocev2;

/**
 * When a responder tells of a missing packet, and a requester believes in a missing response. Both
 * drop what comes out of sequence, and the requester goes back to what is missing; they differ when
 * the packet sent again is lost too.
 */
public enum GoBackN {
    /** Once per gap, as Soft-RoCE: a repeated packet that gets lost is missed by time-out only. */
    NAIVE,
    /**
     * Once per gap, and again when a packet out of sequence is not behind the last one that was:
     * the sender started again, and the first of what it sent got lost again. After "improved
     * Go-Back-N" (ICCCN 2019), which blames the single NAK per gap for the collapse of RoCEv2 above
     * 1 % loss.
     */
    REPAIRED
}
