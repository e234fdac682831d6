package dev.metaroce.transport;

import dev.metaroce.util.IntRing;

/**
 * How many bytes of READ replies all leases of a device may have asked for and not received: what
 * its own socket buffer holds. Connections that find no room wait here for their turn. Owner: the
 * engine thread.
 */
final class PullBudget {
    private final long limitBytes;
    private final int largestBytes;
    private final IntRing waiting = new IntRing();
    private long askedBytes;
    private int reading;
    private boolean paused;

    PullBudget(DeviceLimits limits) {
        long window = limits.receiveWindowBytes();
        limitBytes = window == 0 ? Long.MAX_VALUE : window;
        largestBytes = limits.payloadMtu();
    }

    /** True when so many bytes more may be asked for; one reply may always be on the way. */
    boolean admits(int bytes) {
        //= MR-4.6-9
        return askedBytes == 0 || askedBytes + TxLease.costBytes(bytes) <= limitBytes;
    }

    void ask(int bytes) {
        askedBytes += TxLease.costBytes(bytes);
    }

    /** So much of what was asked for is answered or given up, overhead included. */
    void giveBack(long costBytes) {
        askedBytes -= costBytes;
    }

    /** A lease that waited for no reply waits for one now. */
    void enter() {
        reading++;
    }

    /** A lease waits for no reply any more. */
    void leave() {
        reading--;
    }

    /** Leases that wait for replies, or to ask for them. */
    int readers() {
        return Math.max(reading, waiting.size());
    }

    /** Nobody is to be woken until {@link #resume}. */
    void pause() {
        paused = true;
    }

    void resume() {
        paused = false;
    }

    /** True while those in line wait for the pace. */
    boolean isPaused() {
        return paused;
    }

    /** Puts a connection into the line. */
    void await(TransportConnection c) {
        if (!c.awaitsPulls) {
            c.awaitsPulls = true;
            waiting.add(c.index);
        }
    }

    /** Connections that can be woken now: each may find that there is room. */
    int wakeable() {
        return !paused && admits(largestBytes) ? waiting.size() : 0;
    }

    /** Takes the index of the longest waiting connection out of the line. */
    int poll() {
        return waiting.poll();
    }
}
