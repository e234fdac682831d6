package dev.metaroce.congestion;

import dev.metaroce.util.Invariant;

/**
 * The window of one path after NSCC, the sender's congestion control of Ultra Ethernet (UET 1.0.3,
 * section "Congestion management"; the constants are those of its reference network of 100 Gb/s and
 * 12 us). Marks and delay together decide:
 *
 * <pre>
 *             delay below target                    delay from target on
 *   unmarked  W += alpha (target - delay) A / W     W += fi A / W
 *   marked    nothing: others take another path     W *= max(1 - 0.8 (avg - target) / avg, 0.5)
 * </pre>
 *
 * with A acknowledged packets, at most one decrease per base round trip, and increases gathered for
 * eight packets or one base round trip. Once a whole window came back within 1 us of the base,
 * every packet adds {@code 0.25 a} instead. Each base round trip adds {@code eta}. A lost packet
 * takes itself from the window; with losses, or delays above four targets, a window that carried
 * less than an eighth of the largest in base round trip plus target becomes what it carried, and
 * the answers to what was in flight are ignored ("quick adapt").
 *
 * <p><b>Scale.</b> {@code target} is the base round trip (a network without trimming), {@code a}
 * the bandwidth-delay product by that of the reference, {@code b} the target by 12 us; {@code alpha
 * = 4 a b / target}, {@code fi = 5 a}, {@code eta = 0.15 a} packets; the largest window, and the
 * first once a round trip is known, is 1.5 bandwidth-delay products, the smallest 1 packet.
 *
 * <p><b>What differs.</b> Ultra Ethernet has one window for all paths, this is the window of one.
 * The product is divided by the paths, which divides all that adds to a window, so that the windows
 * together do what one would; the factor of the fast increase stays whole. The base round trip is
 * the smallest one seen on the path instead of a setting. An unknown rate counts as 100 Gb/s.
 *
 * <p>Owned by the engine thread; allocates nothing after construction.
 */
public final class Nscc implements CongestionControl {
    private static final int DEFAULT_INITIAL_PACKETS = 10;

    private static final double REFERENCE_RTT_NS = 12_000;
    private static final double REFERENCE_BYTES_PER_NS = 12.5;

    private static final double LARGEST_BDP = 1.5;
    private static final double GAMMA = 0.8;
    private static final double MAX_CUT = 0.5;
    private static final double DELAY_GAIN = 0.0125;
    private static final double FAST_SCALE = 0.25;
    private static final long NO_DELAY_NS = 1_000;
    private static final int ADJUST_PACKETS = 8;
    private static final int QUICK_ADAPT_TARGETS = 4;
    private static final int QUICK_ADAPT_PART = 8;

    private final int maxPackets;

    // The line, whole, and how many paths share it.
    private double bytesPerNs = REFERENCE_BYTES_PER_NS;
    private int packetBytes = 1;
    private int paths = 1;

    // What follows from it and the base round trip, for this path.
    private long baseRttNs;
    private double scale;
    private double largest;

    private double window;
    private double averageDelayNs;

    // Increases that are gathered.
    private double increase;
    private int gathered;
    private long adjustedNs;

    private double withoutDelay;
    private long decreasedNs;

    // The current epoch of quick adapt.
    private long epochNs;
    private int achieved;
    private boolean troubled;
    private int ignored;

    /**
     * @param maxPackets largest window, 1 or more
     * @throws IllegalArgumentException when {@code maxPackets} is out of range
     */
    public Nscc(int maxPackets) {
        if (maxPackets < 1) {
            throw new IllegalArgumentException("Nscc: maxPackets " + maxPackets + " is below 1");
        }
        this.maxPackets = maxPackets;
        reset(DEFAULT_INITIAL_PACKETS);
    }

    @Override
    public void onLine(long bitsPerSecond, int newPacketBytes, int newPaths) {
        bytesPerNs = bitsPerSecond == 0 ? REFERENCE_BYTES_PER_NS : bitsPerSecond / 8e9;
        packetBytes = newPacketBytes;
        paths = newPaths;
    }

    @Override
    public void reset(int initialPackets) {
        baseRttNs = 0;
        largest = maxPackets;
        window = Math.clamp(initialPackets, 1, maxPackets);
        averageDelayNs = 0;
        increase = 0;
        gathered = 0;
        withoutDelay = 0;
        achieved = 0;
        troubled = false;
        ignored = 0;
    }

    @Override
    public void onFull() {
        // The largest window bounds what nobody fills.
    }

    @Override
    public void onAck(long nowNs, int ackedPackets, int cePackets, long rttNs) {
        Invariant.check(ackedPackets >= 0, "acknowledged packets are counted", ackedPackets, 0);
        if (rttNs > 0 && (baseRttNs == 0 || rttNs < baseRttNs)) {
            onBase(nowNs, rttNs);
        }
        if (baseRttNs == 0 || rttNs <= 0 || ackedPackets == 0) {
            return;
        }
        achieved += ackedPackets;
        if (ignored > 0) {
            ignored -= ackedPackets;
            return;
        }
        long delayNs = rttNs - baseRttNs;
        averageDelayNs += (delayNs - averageDelayNs) * DELAY_GAIN;
        troubled |= delayNs > QUICK_ADAPT_TARGETS * baseRttNs;
        if (quickAdapts(nowNs)) {
            return;
        }
        int marked = Math.clamp(cePackets, 0, ackedPackets);
        if (marked > 0 && delayNs >= baseRttNs) {
            decrease(nowNs);
        }
        grow(ackedPackets - marked, delayNs);
        adjust(nowNs, ackedPackets);
    }

    @Override
    public void onLoss(long nowNs, int lostPackets, int sentPackets) {
        Invariant.check(lostPackets >= 0, "lost packets are counted", lostPackets, sentPackets);
        //= MR-5.2-12
        window = clamp(window - lostPackets);
        troubled = true;
    }

    @Override
    public void onTimeout(long nowNs) {
        window = 1;
        increase = 0;
        withoutDelay = 0;
    }

    @Override
    public int windowPackets() {
        return (int) window;
    }

    private void onBase(long nowNs, long rttNs) {
        boolean first = baseRttNs == 0;
        //= MR-5.2-8
        baseRttNs = rttNs;
        double product = bytesPerNs * rttNs / packetBytes;
        scale = bytesPerNs * rttNs / (REFERENCE_BYTES_PER_NS * REFERENCE_RTT_NS);
        largest = Math.clamp(LARGEST_BDP * product / paths, 1, maxPackets);
        window = clamp(first ? largest : window);
        if (first) {
            adjustedNs = nowNs;
            decreasedNs = nowNs - rttNs;
            epochNs = nowNs;
        }
    }

    private boolean quickAdapts(long nowNs) {
        if (nowNs - epochNs < 2 * baseRttNs) {
            return false;
        }
        //= MR-5.2-13
        boolean adapts = troubled && achieved < largest / QUICK_ADAPT_PART;
        if (adapts) {
            ignored = windowPackets();
            window = clamp(achieved);
            increase = 0;
        }
        epochNs = nowNs;
        achieved = 0;
        troubled = false;
        return adapts;
    }

    private void grow(int packets, long delayNs) {
        if (delayNs >= NO_DELAY_NS) {
            withoutDelay = 0;
        } else {
            withoutDelay += packets;
        }
        double share = scale / paths;
        //= MR-5.2-9, MR-5.2-10
        if (withoutDelay > window) {
            window = clamp(window + packets * FAST_SCALE * scale);
        } else if (delayNs >= baseRttNs) {
            increase += 5 * share * packets;
        } else {
            // 4 a b (target - delay) / target, with b = target / 12 us.
            increase += 4 * share * packets * (baseRttNs - delayNs) / REFERENCE_RTT_NS;
        }
    }

    private void adjust(long nowNs, int packets) {
        gathered += packets;
        boolean roundTripOver = nowNs - adjustedNs >= baseRttNs;
        if (gathered < ADJUST_PACKETS && !roundTripOver) {
            return;
        }
        window = clamp(window + increase / window);
        increase = 0;
        gathered = 0;
        if (roundTripOver) {
            window = clamp(window + 0.15 * scale / paths);
            adjustedNs = nowNs;
        }
    }

    private void decrease(long nowNs) {
        withoutDelay = 0;
        //= MR-5.2-11
        if (averageDelayNs > baseRttNs && nowNs - decreasedNs >= baseRttNs) {
            double over = (averageDelayNs - baseRttNs) / averageDelayNs;
            window = clamp(window * Math.max(1 - GAMMA * over, MAX_CUT));
            decreasedNs = nowNs;
        }
    }

    private double clamp(double value) {
        return Math.clamp(value, 1.0, largest);
    }
}
