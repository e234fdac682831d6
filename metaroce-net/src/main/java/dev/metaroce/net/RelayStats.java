package dev.metaroce.net;

/**
 * What a {@link FaultRelay} did so far, at one moment between two packets. In each direction
 *
 * <pre>
 *     received + duplicated + injected =
 *         forwarded + dropped + blackHoled + overflowed + sendFailed + pending
 * </pre>
 *
 * @param toTarget packets on the way to the target
 * @param toClient packets on the way back
 * @param clients client sockets known now
 * @param evicted clients forgotten for being idle or to make room
 * @param strangers packets to a client that came from another host than the target; not forwarded
 */
public record RelayStats(
        Direction toTarget, Direction toClient, int clients, long evicted, long strangers) {

    /**
     * Counts of one direction, in packets unless said otherwise.
     *
     * @param received taken from the socket
     * @param receivedBytes their bytes
     * @param forwarded given to the system for sending, copies included
     * @param forwardedBytes their bytes
     * @param dropped by rate, count, burst, length or filter
     * @param duplicated copies made
     * @param reordered held back and really passed by others
     * @param corrupted sent on with a flipped bit
     * @param blackHoled dropped because their client was black-holed
     * @param overflowed dropped because too many bytes were delayed or held back
     * @param sendFailed not taken by the system
     * @param injected made by {@link FaultRelay#inject}
     * @param pending delayed, swapped or held back now, copies included
     */
    public record Direction(
            long received,
            long receivedBytes,
            long forwarded,
            long forwardedBytes,
            long dropped,
            long duplicated,
            long reordered,
            long corrupted,
            long blackHoled,
            long overflowed,
            long sendFailed,
            long injected,
            long pending) {}
}
