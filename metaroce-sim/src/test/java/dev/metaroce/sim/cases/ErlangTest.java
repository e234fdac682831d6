package dev.metaroce.sim.cases;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.metaroce.transport.CidPool;
import dev.metaroce.transport.ExhaustionPolicy;
import dev.metaroce.util.Rng;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.util.PriorityQueue;

/**
 * The pool of context ids as a queueing system: requests come at random (Poisson) and keep their
 * slot for an exponential time. Erlang's B formula says how many find no slot when they go away
 * then, his C formula how many wait when they queue. The pool is driven directly, in virtual time:
 * a lease of an engine keeps its slot for no exponential time, and asks again when it was denied.
 */
class ErlangTest {
    private static final double HOLD_NS = 1e6;
    private static final int BATCHES = 40;
    private static final int REQUESTS_PER_BATCH = 25_000;

    private record Departure(long atNs, int cid) {}

    /** A mean and its standard deviation, from batches that hardly depend on each other. */
    private record Estimate(double mean, double sigma) {}

    private static double exponential(Rng rng, double mean) {
        return -mean * Math.log1p(-rng.nextDouble());
    }

    /** The part of requests that got no grant at once. */
    private static Estimate refused(ExhaustionPolicy policy, int slots, double load, long seed) {
        int waiters = 1 << 14;
        CidPool pool = new CidPool(slots, waiters, waiters, 1, policy);
        PriorityQueue<Departure> departures =
                new PriorityQueue<>((a, b) -> Long.compare(a.atNs, b.atNs));
        Rng root = new Rng(seed);
        Rng arrivals = root.fork("arrivals");
        Rng holds = root.fork("holds");
        double clockNs = 0;
        double[] batches = new double[BATCHES];
        // The first batch fills the pool and is not counted.
        for (int batch = -1; batch < BATCHES; batch++) {
            int missed = 0;
            for (int i = 0; i < REQUESTS_PER_BATCH; i++) {
                clockNs += exponential(arrivals, HOLD_NS / load);
                long nowNs = (long) clockNs;
                leave(pool, departures, nowNs, holds);
                int ticket = i + (batch + 1) * REQUESTS_PER_BATCH;
                long decision = pool.request(nowNs, 0, ticket, ticket, false);
                if (CidPool.kind(decision) == CidPool.Kind.GRANT) {
                    hold(departures, nowNs, CidPool.cid(decision), holds);
                } else {
                    missed++;
                }
            }
            if (batch >= 0) {
                batches[batch] = (double) missed / REQUESTS_PER_BATCH;
            }
        }
        return estimate(batches);
    }

    private static void leave(
            CidPool pool, PriorityQueue<Departure> departures, long nowNs, Rng holds) {
        while (!departures.isEmpty() && departures.peek().atNs <= nowNs) {
            Departure departure = departures.poll();
            pool.release(departure.atNs, departure.cid);
            for (long grant = pool.pollGrant(departure.atNs);
                    grant != CidPool.NONE;
                    grant = pool.pollGrant(departure.atNs)) {
                hold(departures, departure.atNs, CidPool.cid(grant), holds);
            }
        }
    }

    private static void hold(PriorityQueue<Departure> departures, long nowNs, int cid, Rng holds) {
        departures.add(new Departure(nowNs + (long) exponential(holds, HOLD_NS), cid));
    }

    private static Estimate estimate(double[] batches) {
        double sum = 0;
        for (double value : batches) {
            sum += value;
        }
        double mean = sum / batches.length;
        double squares = 0;
        for (double value : batches) {
            squares += (value - mean) * (value - mean);
        }
        return new Estimate(mean, Math.sqrt(squares / (batches.length - 1) / batches.length));
    }

    private static double erlangB(int slots, double load) {
        double b = 1;
        for (int n = 1; n <= slots; n++) {
            b = load * b / (n + load * b);
        }
        return b;
    }

    private static double erlangC(int slots, double load) {
        double b = erlangB(slots, load);
        return b / (1 - load / slots * (1 - b));
    }

    @ParameterizedTest
    @CsvSource({"8,4,0.030", "8,6,0.122", "64,48,0.0045", "64,56,0.033"})
    void requestsThatGoAwayFindNoSlotAsErlangBSays(int slots, double load, double known) {
        double expected = erlangB(slots, load);
        assertThat(expected).isCloseTo(known, within(0.0006));

        Estimate blocked = refused(ExhaustionPolicy.DENY, slots, load, 11);

        assertThat(blocked.mean).isCloseTo(expected, within(3 * blocked.sigma));
        assertThat(blocked.sigma / expected).isLessThan(0.06);
    }

    @ParameterizedTest
    @CsvSource({"8,4,0.059", "8,6,0.357", "64,48,0.018", "64,56,0.215"})
    void requestsThatQueueWaitAsErlangCSays(int slots, double load, double known) {
        double expected = erlangC(slots, load);
        assertThat(expected).isCloseTo(known, within(0.0006));

        Estimate waited = refused(ExhaustionPolicy.QUEUE, slots, load, 12);

        assertThat(waited.mean).isCloseTo(expected, within(3 * waited.sigma));
        assertThat(waited.sigma / expected).isLessThan(0.06);
    }
}
