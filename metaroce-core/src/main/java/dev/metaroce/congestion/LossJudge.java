package dev.metaroce.congestion;

/**
 * Tells the losses that congestion makes from those that a way makes by itself. Counts over whole
 * rounds until the ratio is not just chance: a window of 4 with one loss is not "25 %".
 *
 * <p>Loss without queues, up to a quarter of the packets, is the way's own. More than that is
 * answered; when a cut leaves it as it was, no queue being there, it is the way's own as well and
 * the cut is taken back. Only what goes beyond a way's own loss counts as congestion.
 *
 * <p>Owned by the engine thread; allocates nothing. Ratios are in thousandths.
 */
final class LossJudge {
    /** Fewest packets that a loss ratio is computed from. */
    static final int MIN_SAMPLE = 64;

    /** What a window does about the losses of the last rounds. */
    enum Answer {
        NOTHING,
        END_SLOW_START,
        CUT_AN_EIGHTH,
        CUT_A_HALF,

        /** The last cut was for nothing. */
        TAKE_BACK
    }

    private static final int A_QUARTER = 250;
    private static final int CONGESTED = 150;
    private static final int NOTABLE = 50;
    private static final int SOME = 10;

    private long acked;
    private long lost;
    private long inFlight;

    private long own;

    // The last cut: a ratio that shows that it was of no use, the losses that it answered, and
    // whether packets from before it are still counted.
    private long unhelpful;
    private long answeredLost;
    private long spurious;
    private boolean settling;

    void reset() {
        clearCounts();
        own = 0;
        unhelpful = 0;
        answeredLost = 0;
        settling = false;
    }

    void onAck(int packets) {
        acked += packets;
    }

    /**
     * @param sentPackets that were in flight, the lost ones included: half of a flight may be
     *     acknowledged in the next round only, so the losses are set against all of it at least
     */
    void onLoss(int packets, int sentPackets) {
        lost += packets;
        inFlight = Math.max(inFlight, sentPackets);
    }

    /** Packets taken for lost had arrived; true when with them the last cut has lost its reason. */
    boolean onSpurious(int packets) {
        if (answeredLost == 0) {
            lost = Math.max(0, lost - packets);
            return false;
        }
        spurious += packets;
        //= MR-5.3-3
        if (2 * spurious < answeredLost) {
            return false;
        }
        forgetCut();
        return true;
    }

    /** At the end of a round. */
    Answer judge(RttEstimator rtt) {
        //= MR-5.3-2
        long packets = Math.max(acked + lost, inFlight);
        if (packets < MIN_SAMPLE) {
            return Answer.NOTHING;
        }
        long losses = lost;
        long ratio = 1000 * losses / packets;
        clearCounts();
        if (settling) {
            settling = false;
            return Answer.NOTHING;
        }
        boolean queues = 2 * rtt.srttNs() > 3 * rtt.minRttNs();
        long unhelped = unhelpful;
        forgetCut();
        //= MR-5.3-4
        if (unhelped > 0 && !queues && ratio > unhelped) {
            own = ratio;
            return Answer.TAKE_BACK;
        }
        if (!queues && ratio <= A_QUARTER) {
            own += (ratio - own) / 4;
        }
        return answer(ratio, losses, queues, rtt.srttNs() > 2 * rtt.minRttNs());
    }

    private Answer answer(long ratio, long losses, boolean queues, boolean longQueues) {
        long excess = ratio - own;
        //= MR-5.3-1
        if (excess > A_QUARTER || (queues && excess >= NOTABLE)) {
            boolean half = excess > CONGESTED;
            // If only so many packets get through, as many as now will be what gets through then.
            long then = Math.max(0, half ? 2 * ratio - 1000 : (8 * ratio - 1000) / 7);
            unhelpful = (ratio + then) / 2;
            answeredLost = losses;
            spurious = 0;
            settling = true;
            return half ? Answer.CUT_A_HALF : Answer.CUT_AN_EIGHTH;
        }
        return longQueues && excess > SOME ? Answer.END_SLOW_START : Answer.NOTHING;
    }

    private void forgetCut() {
        unhelpful = 0;
        answeredLost = 0;
        settling = false;
    }

    private void clearCounts() {
        acked = 0;
        lost = 0;
        inFlight = 0;
    }
}
