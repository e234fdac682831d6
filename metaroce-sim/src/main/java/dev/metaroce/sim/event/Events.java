package dev.metaroce.sim.event;

/**
 * How an event is packed into a long: a kind and two numbers. The kinds are here, in one place, so
 * that no two parts of a simulation can take the same.
 */
public final class Events {
    /** A packet (b) reaches the far end of a port (a). */
    public static final int ARRIVE = 1;

    /** A port (a) has sent its packet and may send the next. */
    public static final int PORT_FREE = 2;

    /** A host (a) has a deadline of its engine. */
    public static final int HOST_WAKE = 3;

    /** The NIC of a host (a) hands over a packet (b) that it was busy with. */
    public static final int RECEIVED = 4;

    /** A flow (a) starts. */
    public static final int FLOW_START = 5;

    /** Entry (a) of the plan of link changes is due. */
    public static final int LINK_CHANGE = 6;

    /** Whoever runs the simulation wants to look at it; no part of what is simulated. */
    public static final int PAUSE = 7;

    /** Something of the application's own, number (a), is due. */
    public static final int APPLICATION = 15;

    /** A frame of flow control, which says (b), reaches the far end of a port (a). */
    public static final int FLOW_CONTROL = 16;

    /** A port (a) may have been stopped for long in a traffic class (b). */
    public static final int STUCK = 17;

    /** The NIC of a host has a packet (b) at a port (a). */
    public static final int NIC_SEND = 18;

    /** The NIC of a host (a) may make more packets. */
    public static final int NIC_FREE = 19;

    /** Largest value of either number. */
    public static final int NUMBER_MAX = (1 << 28) - 1;

    private static final int KIND_SHIFT = 56;
    private static final int A_SHIFT = 28;

    private Events() {}

    public static long of(int kind, int a, int b) {
        return (long) kind << KIND_SHIFT | (long) a << A_SHIFT | b;
    }

    public static int kind(long event) {
        return (int) (event >>> KIND_SHIFT);
    }

    public static int a(long event) {
        return (int) (event >>> A_SHIFT) & NUMBER_MAX;
    }

    public static int b(long event) {
        return (int) event & NUMBER_MAX;
    }
}
