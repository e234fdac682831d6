package dev.metaroce.path;

/**
 * Chooses the path of the next packets of a lease. Windows limit a path whatever the choice is; the
 * choice decides who of those with room is next.
 *
 * <p>Owned by the engine thread. Implementations allocate nothing after construction and draw no
 * random numbers.
 */
public interface PathSelector {
    /**
     * The path for a run of new packets.
     *
     * @param count paths of the lease
     * @param runPackets how many packets in a row are to take it, 1 or more
     * @return index, or -1 when every window is full
     */
    int next(PathState[] paths, int count, int runPackets);

    /** Packets of a path were acknowledged for the first time, so many of them marked. */
    default void onAck(int path, int ackedPackets, int cePackets) {}

    /** Packets of a path were found lost. */
    default void onLoss(int path) {}

    /** The retransmission time-out of a path fired. */
    default void onTimeout(int path) {}

    /** Another lease begins. */
    void reset();
}
