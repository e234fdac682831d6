package dev.metaroce.path;

import dev.metaroce.congestion.CongestionAlgorithm;
import dev.metaroce.congestion.CongestionControl;
import dev.metaroce.congestion.RttEstimator;

/**
 * What is known of one path: its route, window, round-trip time and health. Decides nothing by
 * itself. Owner: the engine thread.
 */
public final class PathState {
    /** Packets of one path that may be unacknowledged at once: the span of a SACK. */
    public static final int MAX_WINDOW_PACKETS = 256;

    /**
     * Longest wait for an answer, so that several fit into the time after which a sender gives up.
     */
    private static final long MAX_WAIT_NS = 1_000_000_000;

    private final CongestionControl congestion;
    private final RttEstimator rtt = new RttEstimator();
    private final PathRoute way = new PathRoute();
    private int inFlight;
    private int tailProbes;
    private int timeouts;
    private int moves;
    private long activeNs;
    private boolean probed;
    private long probedNs;

    public PathState(CongestionAlgorithm law) {
        congestion = law.create(MAX_WINDOW_PACKETS);
    }

    /** Starts afresh for a new lease. */
    public void reset(int newRoute, int initialWindowPackets) {
        way.reset(newRoute);
        congestion.reset(initialWindowPackets);
        rtt.reset();
        inFlight = 0;
        tailProbes = 0;
        timeouts = 0;
        moves = 0;
        activeNs = 0;
        probed = false;
    }

    public CongestionControl congestion() {
        return congestion;
    }

    public RttEstimator rtt() {
        return rtt;
    }

    /** The way it goes. */
    public PathRoute way() {
        return way;
    }

    /** Number of the way it goes. */
    public int route() {
        return way.number();
    }

    /** True when an answer is waited for. */
    public boolean isAwaited() {
        return inFlight > 0 || way.isSuspect();
    }

    /** Packets sent and neither acknowledged nor found lost. */
    public int inFlight() {
        return inFlight;
    }

    /** Packets that may be sent; none while the way is suspect, or about to be left. */
    public int freeWindow() {
        return way.isClosed() ? 0 : congestion.windowPackets() - inFlight;
    }

    public void onSent(long nowNs) {
        if (inFlight == 0) {
            activeNs = nowNs;
        }
        inFlight++;
        if (inFlight >= congestion.windowPackets()) {
            congestion.onFull();
        }
    }

    /** A packet left the network: acknowledged, lost or refused. */
    public void onGone() {
        inFlight--;
    }

    /**
     * The peer answered on this path.
     *
     * @param sinceNs when the oldest packet that waits for an answer was sent; now, when none does
     */
    public void onProgress(long sinceNs) {
        // A packet older than the last probe waits for that probe's answer.
        activeNs = probed && probedNs - sinceNs > 0 ? probedNs : sinceNs;
        tailProbes = 0;
        timeouts = 0;
        moves = 0;
        way.clear();
    }

    /** Probes and time-outs in a row without an answer on this route. */
    public int timeouts() {
        return timeouts;
    }

    public void onTimeout(long nowNs) {
        timeouts++;
        onProbe(nowNs);
    }

    /** Probes in a row without an answer that do not count as time-outs. */
    public int tailProbes() {
        return tailProbes;
    }

    /** The peer is asked once more before that counts as a time-out. */
    public void onTailProbe(long nowNs) {
        tailProbes++;
        onProbe(nowNs);
    }

    private void onProbe(long nowNs) {
        activeNs = nowNs;
        probed = true;
        probedNs = nowNs;
    }

    /**
     * Leaves a dead route. The window starts anew; the round-trip time stays until the new route
     * gives a sample, as the only guess there is. The new route may be dead too, so waits start at
     * the time-out again, but a little longer with every move.
     */
    public void moveTo(int newRoute, int windowPackets) {
        congestion.reset(windowPackets);
        moveTo(newRoute);
    }

    /** Changes the route and keeps the window. */
    public void moveTo(int newRoute) {
        way.moveTo(newRoute);
        timeouts = 1;
        moves++;
    }

    /**
     * When to ask the peer what arrived: two smoothed round trips after the oldest packet went,
     * then after the retransmission time-out, doubling, at most a second.
     */
    public long probeDeadlineNs(long rtoFloorNs, long ackDelayNs) {
        if (timeouts == 0) {
            long waitNs = rtt.srttNs() == 0 ? rtoFloorNs : 2 * rtt.srttNs() + 2 * ackDelayNs;
            return activeNs + Math.max(waitNs, rtoFloorNs / 4);
        }
        long rtoNs = rtt.rtoNs(rtoFloorNs, MAX_WAIT_NS);
        return activeNs + Math.min(MAX_WAIT_NS, rtoNs << Math.min(timeouts - 1 + moves, 6));
    }
}
