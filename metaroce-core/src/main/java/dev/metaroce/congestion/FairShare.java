package dev.metaroce.congestion;

import dev.metaroce.util.Invariant;

import java.util.Arrays;

/**
 * Splits the receiver's inbound rate among the active leases: max-min fair (water filling). Flows
 * that want less than the level get what they want, all others get the level. What nobody wants is
 * shared out evenly on top: a share is a limit, and demands of the past say little of the next.
 *
 * <p>What a flow wants is its demand with a quarter on top, so that a flow that speeds up is not
 * held at its old rate. That room is given only below the level: it never takes from a flow what is
 * its fair share, and the sum of the shares never exceeds the capacity. A rest of less than {@code
 * n} bits per second may stay unused by rounding down.
 *
 * <p>Owned by the engine thread. Allocates only for more flows than ever before; O(n log n) for the
 * sort.
 */
public final class FairShare {
    /** A demand without limit. */
    public static final long UNLIMITED = Long.MAX_VALUE;

    /** Beyond this size the library's sort could allocate. */
    private static final int MAX_FLOWS = 4_096;

    private final int maxFlows;
    private long[] sorted = {};

    /**
     * @param maxFlows most flows in one computation, 1..4096
     * @throws IllegalArgumentException when {@code maxFlows} is out of range
     */
    public FairShare(int maxFlows) {
        if (maxFlows < 1 || maxFlows > MAX_FLOWS) {
            throw new IllegalArgumentException(
                    "FairShare: maxFlows " + maxFlows + " is not 1.." + MAX_FLOWS);
        }
        this.maxFlows = maxFlows;
    }

    /**
     * @param capacityBitsPerSecond what is to be split, 0 or more
     * @param demandBitsPerSecond demand of each flow, 0 or more, or {@link #UNLIMITED}
     * @param n flows, 0..maxFlows; flow {@code i} is element {@code i} of both arrays
     * @param share receives the share of each flow in bits per second
     */
    public void compute(
            long capacityBitsPerSecond, long[] demandBitsPerSecond, int n, long[] share) {
        Invariant.check(n >= 0 && n <= maxFlows, "flows are not too many", n, maxFlows);
        Invariant.check(capacityBitsPerSecond >= 0, "capacity is not negative");
        if (n > sorted.length) {
            sorted = new long[Math.min(maxFlows, 2 * n)];
        }
        for (int i = 0; i < n; i++) {
            sorted[i] = withRoom(demandBitsPerSecond[i]);
        }
        Arrays.sort(sorted, 0, n);
        long level = level(capacityBitsPerSecond, n);
        long sum = 0;
        for (int i = 0; i < n; i++) {
            share[i] = Math.min(withRoom(demandBitsPerSecond[i]), level);
            sum += share[i];
        }
        long rest = n == 0 ? 0 : (capacityBitsPerSecond - sum) / n;
        for (int i = 0; i < n; i++) {
            share[i] += rest;
        }
        //= MR-5.6-2
        Invariant.check(
                sum + n * rest <= capacityBitsPerSecond,
                "shares fit the capacity",
                sum,
                capacityBitsPerSecond);
    }

    /** The share of every flow that is not satisfied below it. */
    private long level(long capacityBitsPerSecond, int n) {
        //= MR-5.6-1
        long left = capacityBitsPerSecond;
        for (int i = 0; i < n; i++) {
            long even = left / (n - i);
            if (sorted[i] > even) {
                return even;
            }
            left -= sorted[i];
        }
        return UNLIMITED;
    }

    private static long withRoom(long demand) {
        Invariant.check(demand >= 0, "demand is not negative", demand, 0);
        long room = demand / 4;
        return demand > UNLIMITED - room ? UNLIMITED : demand + room;
    }
}
