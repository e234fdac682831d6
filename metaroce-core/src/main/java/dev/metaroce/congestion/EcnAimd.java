package dev.metaroce.congestion;

import dev.metaroce.util.Invariant;

/**
 * The window of one path, driven by ECN marks after DCTCP (RFC 8257) and tolerant of loss.
 *
 * <p><b>Marks.</b> A round is one SRTT with at least one acknowledged packet. At its end the marked
 * fraction F of its packets goes into alpha: {@code alpha += (F - alpha) / 16}, from 1 at the start
 * (RFC 8257 section 3.3). A mark cuts {@code W *= 1 - alpha / 2} at once, and not again for one
 * SRTT. Unlike RFC 8257, marked packets do not grow the window, so that 100 % marks lead to a
 * window of 1 and not of 2. With a steady fraction F a window settles at {@code 2 (1 - F) / F}
 * packets when every round trip cuts, and near {@code 2.7 / F} when marks fall on random packets,
 * as the next cut then waits for a mark.
 *
 * <p><b>Growth.</b> Slow start, one packet for each unmarked packet acknowledged, until the first
 * cut; then one packet per window acknowledged, that is one per RTT, or as many as the smallest RTT
 * has times 16 us: flows that meet in a queue then grow alike, however far they come from. W stays
 * in [1, maxPackets]. It grows only where it limits (RFC 9002 section 7.8): used up in this round
 * or the one before.
 *
 * <p><b>Loss</b> is repaired by others and means congestion only when it is frequent or comes with
 * queues (protocol design, section 5; TCP's 1/sqrt(p) law must not apply). {@link LossJudge} tells
 * which; what is lost beyond the way's own loss counts:
 *
 * <pre>
 *   beyond           SRTT          answer, at most one cut per SRTT, marks included
 *   &gt; 25 %           any           W / 2
 *   &gt; 15 %           &gt; 1.5 min     W / 2
 *   5 % .. 15 %      &gt; 1.5 min     W * 7 / 8
 *   &gt; 1 %            &gt; 2 min       leave slow start
 *   else                           nothing
 * </pre>
 *
 * <p>A cut for loss is taken back when half of the losses prove to have been late arrivals, or when
 * it did not help. Marks after it make it stay.
 *
 * <p><b>Time-outs.</b> The first halves W; the second in a row sets it to 2, later ones to 1. Slow
 * start then restores it up to half of what it was before the first. Any acknowledged packet ends
 * the row; when it was on its way before the first, the windows of before are restored.
 *
 * <p>Owned by the engine thread; allocates nothing after construction. Windows are fixed point with
 * 16 fraction bits.
 */
public final class EcnAimd implements CongestionControl {
    private static final int DEFAULT_INITIAL_PACKETS = 10;
    private static final int MAX_WINDOW_PACKETS = 1 << 16;

    private static final int FRACTION_BITS = 16;
    private static final long ONE_PACKET = 1L << FRACTION_BITS;
    private static final long ALPHA_ONE = 1L << 20;
    private static final int ALPHA_GAIN_SHIFT = 4;

    /** Round trips longer than this grow the window by more than one packet each. */
    private static final long STEP_NS = 16_000;

    private static final long MAX_STEP = 64 * ONE_PACKET;

    private final long maxWindow;
    private final RttEstimator rtt = new RttEstimator();

    private long window;
    private long slowStartThreshold;
    private long alpha;
    private int timeoutsInRow;

    // The current round.
    private boolean roundStarted;
    private long roundStartNs;
    private long roundAcked;
    private long roundMarked;

    // The window was used up to its end, in this round and in the one before.
    private boolean full;
    private boolean fullBefore;

    private final LossJudge losses = new LossJudge();

    // Before the last cut for loss or time-outs; 0 when it is to stay.
    private long windowBefore;
    private long thresholdBefore;

    private boolean everCut;
    private long lastCutNs;

    /**
     * @param maxPackets largest window, 1..65536
     * @throws IllegalArgumentException when {@code maxPackets} is out of range
     */
    public EcnAimd(int maxPackets) {
        if (maxPackets < 1 || maxPackets > MAX_WINDOW_PACKETS) {
            throw new IllegalArgumentException(
                    "EcnAimd: maxPackets " + maxPackets + " is not 1.." + MAX_WINDOW_PACKETS);
        }
        maxWindow = maxPackets * ONE_PACKET;
        reset(DEFAULT_INITIAL_PACKETS);
    }

    @Override
    public void onLine(long bitsPerSecond, int packetBytes, int paths) {
        // Marks tell enough.
    }

    @Override
    public void reset(int initialPackets) {
        rtt.reset();
        window = clamp(initialPackets * ONE_PACKET);
        slowStartThreshold = maxWindow;
        alpha = ALPHA_ONE;
        timeoutsInRow = 0;
        roundStarted = false;
        roundAcked = 0;
        roundMarked = 0;
        full = false;
        fullBefore = false;
        losses.reset();
        windowBefore = 0;
        thresholdBefore = 0;
        everCut = false;
    }

    @Override
    public void onFull() {
        full = true;
    }

    @Override
    public void onAck(long nowNs, int ackedPackets, int cePackets, long rttNs) {
        Invariant.check(ackedPackets >= 0, "acknowledged packets are counted", ackedPackets, 0);
        rtt.onSample(rttNs);
        startRound(nowNs);
        // The peer counts the marks. It may not be believed beyond what it acknowledged.
        int marked = Math.clamp(cePackets, 0, ackedPackets);
        roundAcked += ackedPackets;
        roundMarked += marked;
        losses.onAck(ackedPackets);
        if (ackedPackets > 0) {
            timeoutsInRow = 0;
        }
        if (marked > 0 && mayCut(nowNs)) {
            //= MR-5.2-2
            cutTo(nowNs, window - window * alpha / (2 * ALPHA_ONE));
            windowBefore = 0;
            thresholdBefore = 0;
        }
        //= MR-5.2-3
        if (full || fullBefore) {
            grow(ackedPackets - marked);
        }
        endRound(nowNs);
    }

    @Override
    public void onLoss(long nowNs, int lostPackets, int sentPackets) {
        Invariant.check(lostPackets >= 0, "lost packets are counted", lostPackets, sentPackets);
        startRound(nowNs);
        losses.onLoss(lostPackets, sentPackets);
    }

    @Override
    public void onSpuriousLoss(int packets) {
        if (losses.onSpurious(packets)) {
            restore();
        }
    }

    @Override
    public void onSpuriousTimeout() {
        //= MR-5.3-5
        restore();
    }

    @Override
    public void onTimeout(long nowNs) {
        timeoutsInRow = Math.min(timeoutsInRow + 1, 3);
        //= MR-5.4-1
        if (timeoutsInRow == 1) {
            cutBack(nowNs, window / 2);
        } else {
            // The threshold stays: slow start leads back to where the first time-out left off.
            window = Math.min(window, timeoutsInRow == 2 ? 2 * ONE_PACKET : ONE_PACKET);
        }
    }

    @Override
    public int windowPackets() {
        return (int) (window >> FRACTION_BITS);
    }

    /** The smoothed fraction of marked packets, 0..1. */
    public double alpha() {
        return (double) alpha / ALPHA_ONE;
    }

    /** True while the window grows by one packet per acknowledged packet. */
    public boolean inSlowStart() {
        return window < slowStartThreshold;
    }

    private void startRound(long nowNs) {
        if (!roundStarted) {
            roundStarted = true;
            roundStartNs = nowNs;
        }
    }

    private void endRound(long nowNs) {
        boolean over =
                rtt.srttNs() > 0
                        ? nowNs - roundStartNs >= rtt.srttNs()
                        : roundAcked >= windowPackets();
        if (!over || roundAcked == 0) {
            return;
        }
        //= MR-5.2-1
        long fraction = roundMarked * ALPHA_ONE / roundAcked;
        alpha += (fraction - alpha) >> ALPHA_GAIN_SHIFT;
        judgeLoss(nowNs);
        roundStartNs = nowNs;
        roundAcked = 0;
        roundMarked = 0;
        fullBefore = full;
        full = false;
    }

    private void judgeLoss(long nowNs) {
        //= MR-5.3-1
        switch (losses.judge(rtt)) {
            case CUT_A_HALF -> cutOnLoss(nowNs, window / 2);
            case CUT_AN_EIGHTH -> cutOnLoss(nowNs, window - window / 8);
            case END_SLOW_START -> slowStartThreshold = Math.min(slowStartThreshold, window);
            case TAKE_BACK -> restore();
            case NOTHING -> {}
        }
    }

    private void cutOnLoss(long nowNs, long to) {
        if (mayCut(nowNs)) {
            cutBack(nowNs, to);
        }
    }

    /** A cut that may prove to have been for nothing. */
    private void cutBack(long nowNs, long to) {
        windowBefore = window;
        thresholdBefore = slowStartThreshold;
        cutTo(nowNs, to);
    }

    private void restore() {
        window = Math.max(window, windowBefore);
        slowStartThreshold = Math.max(slowStartThreshold, thresholdBefore);
        windowBefore = 0;
        thresholdBefore = 0;
    }

    private boolean mayCut(long nowNs) {
        return !everCut || nowNs - lastCutNs >= rtt.srttNs();
    }

    private void cutTo(long nowNs, long to) {
        window = clamp(to);
        slowStartThreshold = window;
        everCut = true;
        lastCutNs = nowNs;
    }

    private void grow(int packets) {
        if (packets <= 0) {
            return;
        }
        long left = packets;
        if (inSlowStart()) {
            // Packets beyond the threshold count for the slow growth.
            long fast = Math.min(left * ONE_PACKET, slowStartThreshold - window);
            window += fast;
            left -= fast >> FRACTION_BITS;
        }
        if (!inSlowStart()) {
            window = clamp(window + left * ONE_PACKET * step() / window);
        }
    }

    /** What a window acknowledged adds: the same per time on long ways as on short ones. */
    private long step() {
        return Math.clamp(rtt.minRttNs() * ONE_PACKET / STEP_NS, ONE_PACKET, MAX_STEP);
    }

    private long clamp(long value) {
        return Math.clamp(value, ONE_PACKET, maxWindow);
    }
}
