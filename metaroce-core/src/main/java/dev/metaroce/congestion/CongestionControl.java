package dev.metaroce.congestion;

/**
 * The window law of one path: facts come in, a number of packets comes out. Pacing, receiver hints
 * and the choice of a path are not its business.
 *
 * <p>Owned by the engine thread. Implementations allocate nothing after construction, read no clock
 * and keep no reference to anything they are given. Times are compared by difference.
 */
public interface CongestionControl {
    /**
     * A lease begins; {@link #reset} follows.
     *
     * @param bitsPerSecond rate of the sender's line, 0: unknown
     * @param packetBytes payload of a full packet
     * @param paths how many paths of the lease share the line, 1 or more
     */
    void onLine(long bitsPerSecond, int packetBytes, int paths);

    /**
     * Starts over, for a new lease or a new route of the same lease.
     *
     * @param initialPackets first window, clamped into the range of the implementation
     */
    void reset(int initialPackets);

    /**
     * The window is used up to its end. Without this fact it does not grow: what nobody fills says
     * nothing of what the way would carry.
     */
    void onFull();

    /**
     * New acknowledgements arrived.
     *
     * @param ackedPackets packets acknowledged for the first time, cumulatively or selectively
     * @param cePackets increase of the path's cumulative count of CE-marked packets
     * @param rttNs round trip of the echoed packet, 0 when there is none
     */
    void onAck(long nowNs, int ackedPackets, int cePackets, long rttNs);

    /**
     * Packets were found lost (a hole in the selective acknowledgement, or a sequence NAK).
     *
     * @param lostPackets packets newly declared lost by this fact
     * @param sentPackets packets that were in flight on the path when the loss was found, the lost
     *     ones included
     */
    void onLoss(long nowNs, int lostPackets, int sentPackets);

    /**
     * Packets of an {@link #onLoss} had arrived, only late: what was cut for them alone is to be
     * taken back. A law that cuts for marks or delay alone has nothing to do.
     */
    default void onSpuriousLoss(int packets) {}

    /** The retransmission time-out of the path fired. */
    void onTimeout(long nowNs);

    /** What arrived before the first time-out of the last row was only answered late. */
    default void onSpuriousTimeout() {}

    /** Packets that may be in flight, at least 1. */
    int windowPackets();
}
