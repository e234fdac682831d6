package dev.metaroce.transport;

import dev.metaroce.congestion.FairShare;
import dev.metaroce.congestion.Pacer;

/**
 * How fast a device asks for what it READs. Replies come in by the same line as what others send to
 * it: so each lease that reads takes part in the shares of the inbound rate like a sender, and no
 * more is asked for than these parts let come in. Without a known inbound rate there is no pace.
 * Owner: the engine thread.
 */
final class PullPace {
    /** Leases with a part of their own; if more read, all together have so many parts. */
    static final int PARTS_MAX = 256;

    private static final int BURST_BYTES = 64 << 10;

    /** Beside its reply a request brings an acknowledgement, headers of lower layers included. */
    private static final int ACK_BYTES = 128;

    private final PullBudget budget;
    private final long inboundRate;
    private final Pacer pacer = new Pacer(BURST_BYTES);
    private int parts;
    private long partBitsPerSecond;

    /** Of each part: measured over a period, or all there is. */
    private long demand;

    private boolean keptBack;
    private long askedBytes;

    PullPace(DeviceLimits limits, PullBudget budget) {
        this.budget = budget;
        inboundRate = limits.inboundRateBitsPerSecond();
        partBitsPerSecond = RateHints.capacity(limits);
    }

    /** True when the time has come for another request. */
    boolean isOpen(long nowNs) {
        return inboundRate == 0 || pacer.nextSendNs(nowNs) - nowNs <= 0;
    }

    /** When the time for another request comes. */
    long opensNs(long nowNs) {
        return pacer.nextSendNs(nowNs);
    }

    /** True when a lease may have one more reply on the way; it always may have one. */
    boolean hasRoom(TxLease lease) {
        long awaited = lease.unansweredBytes();
        if (inboundRate == 0 || awaited == 0 || lease.minRttNs() == 0) {
            return true;
        }
        //= MR-5.8-3
        int roundTrips = partBitsPerSecond > inboundRate / 2 ? 2 : 4;
        return awaited < partBitsPerSecond / 8e9 * lease.minRttNs() * roundTrips;
    }

    /** A reply of so many bytes is asked for. */
    void onAsked(long nowNs, int bytes) {
        askedBytes += bytes;
        if (inboundRate > 0) {
            //= MR-5.8-2
            pacer.onSent(nowNs, bytes + ACK_BYTES, rateBitsPerSecond());
        }
    }

    private long rateBitsPerSecond() {
        return partBitsPerSecond * Math.max(1, parts);
    }

    /** Somebody would ask for more; true when that is news for the shares. */
    boolean keepBack() {
        boolean news = demand != FairShare.UNLIMITED || Math.max(1, readers()) > parts;
        keptBack = true;
        demand = FairShare.UNLIMITED;
        return news;
    }

    private int readers() {
        return Math.min(budget.readers(), PARTS_MAX);
    }

    /** What all of them may take, in Mb/s; 0 while nobody reads. */
    long promisedMbps() {
        return partBitsPerSecond / 1_000_000 * parts;
    }

    /** A period of measuring ends. */
    void measure(long elapsedNs) {
        long rate = (long) (askedBytes * 8e9 / elapsedNs);
        boolean more = keptBack || budget.isPaused();
        demand = more ? FairShare.UNLIMITED : rate / Math.max(1, parts) + 1;
        keptBack = false;
        askedBytes = 0;
    }

    /** How many parts there are from now on. */
    int split() {
        parts = readers();
        return parts;
    }

    /** What each part wants. */
    long demand() {
        return demand;
    }

    /** What each part may take from now on; all that is shared out while nobody reads. */
    void allow(long nowNs, long bitsPerSecond) {
        partBitsPerSecond = Math.max(1, bitsPerSecond);
        pacer.onRate(nowNs, rateBitsPerSecond());
    }
}
