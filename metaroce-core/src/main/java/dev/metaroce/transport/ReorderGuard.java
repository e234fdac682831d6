package dev.metaroce.transport;

import dev.metaroce.wire.CommonHeader;

/**
 * Judges whether a packet that is missing was overtaken by others or got lost. A path keeps its
 * order, so at first one packet that was sent later and has arrived is proof enough. Where packets
 * arrive after all that were taken for lost, it asks for more, step by step: three packets, then a
 * time between the two sendings, from a quarter of a round trip to two of them. It comes down one
 * step at a time when that does not happen any more.
 *
 * <p>Owner: the engine thread.
 */
final class ReorderGuard {
    /** What the second step asks for. */
    private static final int PACKETS = 3;

    /** Packets acknowledged, none of them sent again in vain, until the guard comes down a step. */
    private static final int QUIET_PACKETS = 4096;

    /** The first step that is a time, of a quarter of a round trip; each later one doubles it. */
    private static final int FIRST_TIME_STEP = 2;

    private static final int LAST_STEP = 5;

    private int step;
    private int quietPackets;

    /** Sendings of before this one were judged by a lower step. */
    private int risenOrder;

    // The latest sending that is known to have arrived.
    private int order;
    private int time;

    void reset() {
        step = 0;
        quietPackets = 0;
        risenOrder = 0;
        order = 0;
        time = 0;
    }

    /** A sending is known to have arrived; sendings are numbered from 1. */
    void onDelivered(int sentOrder, int sentTime) {
        if (sentOrder - order > 0) {
            order = sentOrder;
            time = sentTime;
        }
    }

    /**
     * A packet was sent again although its first copy arrived.
     *
     * @param againOrder number of that sending
     * @param nextOrder number of the next sending of all
     */
    void onSpurious(int againOrder, int nextOrder) {
        //= MR-4.3-6
        quietPackets = 0;
        if (step < LAST_STEP && againOrder - risenOrder >= 0) {
            step++;
            risenOrder = nextOrder;
        }
    }

    void onAcknowledged(int packets) {
        quietPackets += packets;
        if (step > 0 && quietPackets > QUIET_PACKETS) {
            step--;
            quietPackets = 0;
        }
    }

    /** True when a sending that arrived says that this one did not. */
    boolean isOvertaken(int sentOrder, int sentTime, long srttNs) {
        return isOvertakenBy(order, time, sentOrder, sentTime, srttNs);
    }

    /** True when the arrival of one sending says that another one did not. */
    boolean isOvertakenBy(int laterOrder, int laterTime, int sentOrder, int sentTime, long srttNs) {
        //= MR-4.3-1
        int packets = step == 0 ? 0 : PACKETS;
        return laterOrder - sentOrder > packets && laterTime - sentTime >= patience(srttNs);
    }

    /** How much later others must have been sent, in units of TxTime. */
    int patience(long srttNs) {
        if (step < FIRST_TIME_STEP) {
            return 0;
        }
        long ns = (srttNs / 4) << (step - FIRST_TIME_STEP);
        return (int) (ns / CommonHeader.TX_TIME_UNIT_NS);
    }
}
