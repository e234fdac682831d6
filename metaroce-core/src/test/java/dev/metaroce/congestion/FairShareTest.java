package dev.metaroce.congestion;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.testing.Seeded;
import dev.metaroce.util.Rng;

import org.junit.jupiter.api.Test;

import java.math.BigDecimal;
import java.math.MathContext;
import java.util.ArrayList;
import java.util.List;

class FairShareTest {
    private static final long GIGABIT = 1_000_000_000L;
    private static final long ALL = FairShare.UNLIMITED;

    private final FairShare fairShare = new FairShare(256);

    private long[] shares(long capacity, long... demands) {
        long[] share = new long[demands.length];
        fairShare.compute(capacity, demands, demands.length, share);
        return share;
    }

    /** MR-5.6-1. */
    @Test
    void unlimitedFlowsGetEqualShares() {
        assertThat(shares(100 * GIGABIT, ALL, ALL, ALL, ALL)).containsOnly(25 * GIGABIT).hasSize(4);
        assertThat(shares(10, ALL, ALL, ALL)).containsExactly(3, 3, 3);
        assertThat(shares(7, ALL)).containsExactly(7);
    }

    /** MR-5.6-1: 20 wants 25 with room, the two others split the rest. */
    @Test
    void satisfiedFlowGetsItsDemandAndRoomTheOthersTheRest() {
        assertThat(shares(100, ALL, 20, ALL)).containsExactly(37, 25, 37);
    }

    /** MR-5.6-2: all satisfied with a quarter more; each gets a third of the rest besides. */
    @Test
    void flowsThatFitAllShareTheRest() {
        assertThat(shares(990, 80, 40, 0)).containsExactly(380, 330, 280);
    }

    /** Three flows want 32 each of 100: the room shrinks to what is there. */
    @Test
    void roomNeverExceedsTheCapacity() {
        assertThat(shares(100, 32, 32, 32)).containsExactly(33, 33, 33);
    }

    /** A flow within its fair share of 50 is not cut for the sake of another's room. */
    @Test
    void roomNeverTakesFromAFairShare() {
        assertThat(shares(100, 50, ALL)).containsExactly(50, 50);
        assertThat(shares(100, 45, ALL)).containsExactly(50, 50);
    }

    @Test
    void nothingToShareAndNobodyToShareWithAreFine() {
        assertThat(shares(0, ALL, 5)).containsExactly(0, 0);
        assertThat(shares(100)).isEmpty();
        assertThat(shares(ALL, ALL, ALL)).containsOnly(ALL / 2);
        assertThat(shares(ALL, ALL - 1)).containsExactly(ALL);
    }

    /** Elements beyond n belong to the caller. */
    @Test
    void onlyTheFirstNFlowsCount() {
        long[] share = {-1, -1, -1};
        fairShare.compute(100, new long[] {ALL, ALL, 7}, 2, share);

        assertThat(share).containsExactly(50, 50, -1);
    }

    /** MR-5.6-1, MR-5.6-2 against water poured in exact fractions. */
    @Seeded(cases = 200)
    void sharesAgreeWithPouredWater(long seed) {
        Rng rng = new Rng(seed);
        int n = 1 + rng.nextInt(rng.chance(0.1) ? 256 : 12);
        long capacity = rng.nextLong() >>> (1 + rng.nextInt(62));
        long[] demands = new long[n];
        for (int i = 0; i < n; i++) {
            demands[i] =
                    rng.chance(0.2) ? ALL : (long) (rng.nextDouble() * 3 * ((double) capacity / n));
        }

        long[] got = shares(capacity, demands);

        BigDecimal[] exact = pour(capacity, demands);
        BigDecimal sum = BigDecimal.ZERO;
        for (int i = 0; i < n; i++) {
            sum = sum.add(BigDecimal.valueOf(got[i]));
            assertThat(BigDecimal.valueOf(got[i]).subtract(exact[i]).abs())
                    .as("flow %d of %d", i, n)
                    .isLessThanOrEqualTo(BigDecimal.valueOf(n + 1L));
        }
        assertThat(sum).isLessThanOrEqualTo(BigDecimal.valueOf(capacity));
    }

    /**
     * In turns, every thirsty flow gets an equal part of what is left; when none is thirsty, the
     * rest is poured out evenly.
     */
    private static BigDecimal[] pour(long capacity, long[] demands) {
        MathContext precise = MathContext.DECIMAL128;
        BigDecimal[] cup = new BigDecimal[demands.length];
        BigDecimal[] size = new BigDecimal[demands.length];
        List<Integer> thirsty = new ArrayList<>();
        for (int i = 0; i < demands.length; i++) {
            cup[i] = BigDecimal.ZERO;
            size[i] = BigDecimal.valueOf(demands[i]).multiply(new BigDecimal("1.25"));
            thirsty.add(i);
        }
        BigDecimal left = BigDecimal.valueOf(capacity);
        BigDecimal drop = new BigDecimal("1e-9");
        while (!thirsty.isEmpty() && left.compareTo(drop) > 0) {
            BigDecimal part = left.divide(BigDecimal.valueOf(thirsty.size()), precise);
            for (int i : List.copyOf(thirsty)) {
                BigDecimal drink = part.min(size[i].subtract(cup[i]));
                cup[i] = cup[i].add(drink);
                left = left.subtract(drink);
                if (cup[i].compareTo(size[i]) >= 0) {
                    thirsty.remove((Integer) i);
                }
            }
        }
        BigDecimal part = left.divide(BigDecimal.valueOf(cup.length), precise);
        for (int i = 0; thirsty.isEmpty() && i < cup.length; i++) {
            cup[i] = cup[i].add(part);
        }
        return cup;
    }
}
