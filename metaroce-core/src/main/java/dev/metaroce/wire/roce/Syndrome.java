package dev.metaroce.wire.roce;

/**
 * The 8 bits in an {@link Aeth} in which a responder says what became of a request: an ACK with
 * credits, a wait for a receive (RNR) with a {@link RnrTimer}, or a {@link RoceNak}.
 */
public final class Syndrome {
    /** The ACK of a responder that gives no credits, as Soft-RoCE sends it. */
    public static final int ACK_NO_CREDITS = 0x1F;

    /** Credits that the largest code stands for. */
    public static final int MAX_CREDITS = 32_768;

    /** No limit, from {@link #credits}. */
    public static final int UNLIMITED = Integer.MAX_VALUE;

    private static final Kind[] KINDS = {Kind.ACK, Kind.RNR, Kind.RESERVED, Kind.NAK};
    private static final int VALUE = 0x1F;
    private static final int RNR_CLASS = 0x20;
    private static final int RESERVED_BIT = 0x80;

    private Syndrome() {}

    /** What a syndrome is. */
    public enum Kind {
        /** All up to this PSN is done. */
        ACK,
        /** No receive is posted: try again after a while. */
        RNR,
        /** Refused, see {@link RoceNak}. */
        NAK,
        /** Of no known meaning. */
        RESERVED
    }

    /** What this syndrome is. */
    public static Kind kind(int syndrome) {
        return (syndrome & RESERVED_BIT) != 0 ? Kind.RESERVED : KINDS[(syndrome >>> 5) & 3];
    }

    /** The code of the {@link RnrTimer} in an RNR, 0..31. */
    public static int rnrTimer(int syndrome) {
        return syndrome & VALUE;
    }

    /** RNR with the code of a {@link RnrTimer}, 0..31. */
    public static int rnr(int timerCode) {
        return RNR_CLASS | (timerCode & VALUE);
    }

    /**
     * ACK that allows at least one and at most {@code receives} further messages that take a
     * receive: the largest number of the table that is not more.
     *
     * @param receives posted receives not yet taken, 0 or more
     */
    public static int ackWithCredits(int receives) {
        // The table goes 0, 1, 2, 3, 4, 6, 8, 12, ... : two codes for each power of two.
        if (receives < 2) {
            return receives;
        }
        int capped = Math.min(receives, MAX_CREDITS);
        int log = 31 - Integer.numberOfLeadingZeros(capped);
        return 2 * log + ((capped >>> (log - 1)) & 1);
    }

    /** Messages that an ACK allows beyond its MSN, or {@link #UNLIMITED}. */
    public static int credits(int syndrome) {
        int code = syndrome & VALUE;
        if (code == ACK_NO_CREDITS) {
            return UNLIMITED;
        }
        return code < 2 ? code : (2 + (code & 1)) << (code / 2 - 1);
    }
}
