package dev.metaroce.congestion;

import dev.metaroce.util.Invariant;

/**
 * Spaces packets so that a path does not exceed its rate, with a small burst allowance.
 *
 * <p>It keeps the time at which everything sent so far would have left at its rate. A packet may go
 * when that time is at most one burst ahead. Over any interval the bytes sent stay within {@code
 * rate * time + burst + one packet}. Nanoseconds are counted with their remainder, so the long-term
 * rate is exact even where one packet takes 14.08 ns. A change of rate keeps the backlog in bytes,
 * to the nanosecond.
 *
 * <p>Owned by the engine thread; allocates nothing. Times are compared by difference.
 *
 * <pre>{@code
 * if (pacer.nextSendNs(nowNs) - nowNs <= 0) {
 *     send(packet);
 *     pacer.onSent(nowNs, packet.bytes(), rateBitsPerSecond);
 * }
 * }</pre>
 */
public final class Pacer {
    /** A rate that means "do not pace". */
    public static final long UNPACED = Long.MAX_VALUE;

    private static final int MAX_BYTES = 1 << 30;
    private static final long BIT_NS_PER_BYTE = 8_000_000_000L;

    /** Longest wait, so that no rate however small makes times wrap. */
    private static final long MAX_BACKLOG_NS = 1L << 61;

    private int burstBytes;
    private boolean started;
    private long emptyNs;
    private long remainder;
    private long rateBitsPerSecond = UNPACED;
    private long burstNs;

    /**
     * @param burstBytes bytes that may go back to back beyond the rate, 0..2^30
     * @throws IllegalArgumentException when {@code burstBytes} is out of range
     */
    public Pacer(int burstBytes) {
        if (burstBytes < 0 || burstBytes > MAX_BYTES) {
            throw new IllegalArgumentException(
                    "Pacer: burstBytes " + burstBytes + " is not 0.." + MAX_BYTES);
        }
        this.burstBytes = burstBytes;
    }

    /**
     * Changes what may go back to back beyond the rate.
     *
     * @param bytes 0..2^30
     */
    public void burst(int bytes) {
        Invariant.check(bytes >= 0 && bytes <= MAX_BYTES, "a burst is in range", bytes, MAX_BYTES);
        burstBytes = bytes;
        burstNs = burstNs(rateBitsPerSecond);
    }

    private long burstNs(long rate) {
        return rate == UNPACED ? 0 : burstBytes * BIT_NS_PER_BYTE / rate;
    }

    /** True when all that was sent would have left at its rate by now. */
    public boolean isIdle(long nowNs) {
        return !started || emptyNs - nowNs <= 0;
    }

    /** Forgets what was sent, as for another peer. */
    public void reset() {
        started = false;
        emptyNs = 0;
        remainder = 0;
        rateBitsPerSecond = UNPACED;
        burstNs = 0;
    }

    /** When the next packet may go: {@code nowNs} itself, or a later time. */
    public long nextSendNs(long nowNs) {
        //= MR-5.5-1
        long nextNs = emptyNs - burstNs;
        return started && nextNs - nowNs > 0 ? nextNs : nowNs;
    }

    /**
     * A packet went, or a run of them.
     *
     * @param bytes on the wire, 0..2^30
     * @param rateBitsPerSecond rate that paces what follows, 1 or more, or {@link #UNPACED}
     */
    public void onSent(long nowNs, int bytes, long rateBitsPerSecond) {
        Invariant.check(bytes >= 0 && bytes <= MAX_BYTES, "bytes are in range", bytes, MAX_BYTES);
        if (!started || emptyNs - nowNs < 0) {
            started = true;
            emptyNs = nowNs;
            remainder = 0;
        }
        setRate(nowNs, rateBitsPerSecond);
        if (rateBitsPerSecond == UNPACED) {
            return;
        }
        long workBitNs = bytes * BIT_NS_PER_BYTE + remainder;
        long workNs = Math.min(workBitNs / rateBitsPerSecond, MAX_BACKLOG_NS);
        long backlogNs = emptyNs - nowNs + workNs;
        emptyNs = nowNs + Math.min(backlogNs, MAX_BACKLOG_NS);
        remainder = workBitNs % rateBitsPerSecond;
    }

    /**
     * The rate changed while packets wait: what is still to drain takes as long as it takes at the
     * new rate. Without this call a new rate counts from the next {@link #onSent}.
     */
    public void onRate(long nowNs, long rateBitsPerSecond) {
        setRate(nowNs, rateBitsPerSecond);
    }

    private void setRate(long nowNs, long newRate) {
        Invariant.check(newRate > 0, "a pacing rate is positive", newRate, 0);
        if (newRate == rateBitsPerSecond) {
            return;
        }
        long backlogNs = emptyNs - nowNs;
        if (started && backlogNs > 0) {
            emptyNs = nowNs + scaled(backlogNs, rateBitsPerSecond, newRate);
        }
        remainder = 0;
        rateBitsPerSecond = newRate;
        burstNs = burstNs(newRate);
    }

    private static long scaled(long backlogNs, long oldRate, long newRate) {
        if (newRate == UNPACED || oldRate == UNPACED) {
            return 0;
        }
        return Math.min((long) ((double) backlogNs * oldRate / newRate), MAX_BACKLOG_NS);
    }
}
