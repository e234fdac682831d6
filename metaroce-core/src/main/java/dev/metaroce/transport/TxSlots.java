package dev.metaroce.transport;

import org.jspecify.annotations.Nullable;

import java.util.Arrays;

/**
 * What a path remembers of each packet that is not acknowledged, by PSN modulo the length of the
 * arrays, a power of two. {@link TxPath} gives them their meaning. Owner: the engine thread.
 */
final class TxSlots {
    /** Packets that a new path can have unacknowledged without growing. */
    private static final int FIRST = 8;

    @Nullable Stream[] stream = new Stream[FIRST];
    long[] seq = new long[FIRST];
    long[] offset = new long[FIRST];
    int[] bytes = new int[FIRST];
    int[] msn = new int[FIRST];
    short[] slot = new short[FIRST];
    int[] packetBytes = new int[FIRST];
    int[] sentOrder = new int[FIRST];
    int[] sentTime = new int[FIRST];
    boolean[] resent = new boolean[FIRST];
    byte[] pull = new byte[FIRST];
    byte[] status = new byte[FIRST];

    /** Forgets all packets; the places stay. */
    void clear() {
        Arrays.fill(stream, null);
        Arrays.fill(status, TxPath.ACKED);
    }

    int at(int psn) {
        return psn & mask();
    }

    int mask() {
        return status.length - 1;
    }

    /**
     * Twice the places. Whichever half a packet's place is in from now on, it finds itself there.
     */
    void grow() {
        int places = status.length;
        stream = twice(stream, new Stream[2 * places], places);
        seq = twice(seq, new long[2 * places], places);
        offset = twice(offset, new long[2 * places], places);
        bytes = twice(bytes, new int[2 * places], places);
        msn = twice(msn, new int[2 * places], places);
        slot = twice(slot, new short[2 * places], places);
        packetBytes = twice(packetBytes, new int[2 * places], places);
        sentOrder = twice(sentOrder, new int[2 * places], places);
        sentTime = twice(sentTime, new int[2 * places], places);
        resent = twice(resent, new boolean[2 * places], places);
        pull = twice(pull, new byte[2 * places], places);
        status = twice(status, new byte[2 * places], places);
    }

    private static <T> T twice(T from, T to, int places) {
        System.arraycopy(from, 0, to, 0, places);
        System.arraycopy(from, 0, to, places, places);
        return to;
    }
}
