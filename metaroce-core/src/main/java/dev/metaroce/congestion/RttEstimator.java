package dev.metaroce.congestion;

/**
 * Smoothed round-trip time, its variation and the smallest one seen, after RFC 6298 section 2
 * (gains 1/8 and 1/4). Samples are exact, as the acknowledged packet's own send time is echoed, so
 * there is no rule about retransmissions (Karn) and no clock granularity term.
 *
 * <p>Owned by the engine thread; allocates nothing.
 */
public final class RttEstimator {
    /** What {@link #rtoNs} clamps before the first sample (RFC 6298, rule 2.1). */
    public static final long INITIAL_RTO_NS = 1_000_000_000L;

    /** A longer sample counts as this long: send times are echoed modulo 275 s. */
    static final long MAX_SAMPLE_NS = 1L << 40;

    private long srttNs;
    private long rttvarNs;
    private long minRttNs;
    private boolean guessed;

    public RttEstimator() {}

    /** Forgets everything, as for a new route. */
    public void reset() {
        srttNs = 0;
        rttvarNs = 0;
        minRttNs = 0;
        guessed = false;
    }

    /**
     * Starts afresh from something like a round trip. The first sample takes its place: a guess far
     * too long would else be felt for many samples, each of which it delays.
     */
    public void guess(long rttNs) {
        reset();
        onSample(rttNs);
        guessed = true;
    }

    /**
     * @param rttNs measured round trip; values below 1 mean "no sample" and are ignored, since they
     *     follow from what a peer echoed
     */
    public void onSample(long rttNs) {
        if (rttNs <= 0) {
            return;
        }
        long sampleNs = Math.min(rttNs, MAX_SAMPLE_NS);
        //= MR-5.1-1
        if (srttNs == 0 || guessed) {
            guessed = false;
            srttNs = sampleNs;
            rttvarNs = sampleNs / 2;
            minRttNs = sampleNs;
            return;
        }
        rttvarNs += (Math.abs(srttNs - sampleNs) - rttvarNs) / 4;
        srttNs += (sampleNs - srttNs) / 8;
        minRttNs = Math.min(minRttNs, sampleNs);
    }

    /** True when a packet was measured since the last {@link #reset} or {@link #guess}. */
    public boolean isMeasured() {
        return srttNs != 0 && !guessed;
    }

    /** Smoothed round-trip time, 0 before the first sample. */
    public long srttNs() {
        return srttNs;
    }

    /** Smoothed mean deviation, 0 before the first sample. */
    public long rttvarNs() {
        return rttvarNs;
    }

    /** Smallest sample since the last {@link #reset}, 0 before the first. */
    public long minRttNs() {
        return minRttNs;
    }

    /**
     * Retransmission time-out without backoff: SRTT + 4 RTTVAR, at least {@code floorNs} and at
     * most {@code ceilingNs}; one second, clamped the same way, before the first sample.
     */
    public long rtoNs(long floorNs, long ceilingNs) {
        //= MR-5.1-2
        long rtoNs = srttNs == 0 ? INITIAL_RTO_NS : srttNs + 4 * rttvarNs;
        return Math.min(Math.max(rtoNs, floorNs), ceilingNs);
    }
}
