package dev.metaroce.sim.fabric;

/** Keeps senders from sending what the switch at the other end has no room for. */
interface LosslessControl {
    /** A packet came to a switch over a link; false when there is no room, which is a fault. */
    boolean admit(long nowPs, Port in, int trafficClass, int bytes);

    /** A packet that had come over a link leaves the switch, or is dropped there. */
    void release(long nowPs, Port in, int trafficClass, int bytes);

    /** A packet was lost on a link, or dropped by the switch at its end before it was admitted. */
    void onTurnedAway(long nowPs, Port in, int trafficClass, int bytes);

    /** A packet of the class starts on a link. */
    void onSent(long nowPs, Port by, int trafficClass, int bytes);

    /** A frame of this control reached the far end of a port. True: its sender may send again. */
    boolean onFrame(long nowPs, Port by, int content);

    /** A link is up anew: nothing that was agreed on over it holds. */
    void onLinkUp(long nowPs, Port in);
}
