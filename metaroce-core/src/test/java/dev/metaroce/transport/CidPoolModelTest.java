package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.testing.Seeded;
import dev.metaroce.util.Rng;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** {@link CidPool} against {@link NaiveCidPool} over random histories. */
class CidPoolModelTest {
    private static final long LIFETIME_NS = 2_000;
    private static final int STEPS = 10_000;

    private final List<Integer> held = new ArrayList<>();
    private int nextTicket;
    private long nowNs;
    private double expireChance;

    @Seeded(cases = 40)
    void poolAgreesWithItsNaiveTwin(long seed) {
        Rng rng = new Rng(seed).fork("shape");
        int capacity =
                switch (rng.nextInt(4)) {
                    case 0 -> 1;
                    case 1 -> 4;
                    case 2 -> CidPool.MAX_CAPACITY;
                    default -> 1 + rng.nextInt(CidPool.MAX_CAPACITY);
                };

        NaiveCidPool twin = run(capacity, seed, ExhaustionPolicy.QUEUE);

        assertThat(twin.broken).as("tokens that returned too early").isEmpty();
        assertThat(twin.grants).as("the history exercises the pool").isGreaterThan(10);
        if (capacity == 1 && expireChance == 0) {
            assertThat(twin.halfRuleWaits).as("the half rule was met").isPositive();
        }
    }

    @Seeded(cases = 10)
    void poolThatDeniesAgreesWithItsNaiveTwin(long seed) {
        assertThat(run(4, seed, ExhaustionPolicy.DENY).broken).isEmpty();
    }

    private NaiveCidPool run(int capacity, long seed, ExhaustionPolicy policy) {
        Rng rng = new Rng(seed);
        int firstEpoch = rng.nextInt(256);
        int maxWaiters = 1 + rng.nextInt(12);
        int perPeer = 1 + rng.nextInt(4);
        int shortSlots = rng.chance(0.3) ? 0 : rng.nextInt(2 * capacity);
        CidPool pool =
                new CidPool(
                        capacity, maxWaiters, perPeer, LIFETIME_NS, policy, firstEpoch, shortSlots);
        NaiveCidPool twin =
                new NaiveCidPool(
                        capacity, maxWaiters, perPeer, LIFETIME_NS, policy, firstEpoch, shortSlots);
        // Each time-out costs a lifetime of rest, and would hide the half rule of a small pool.
        expireChance = rng.chance(0.5) ? 0 : 0.02;
        nowNs = Long.MAX_VALUE - LIFETIME_NS; // times wrap on the way
        for (int step = 0; step < STEPS; step++) {
            String where = "seed " + seed + ", step " + step;
            act(rng, pool, twin, where);
            assertSame(pool, twin, where);
        }
        return twin;
    }

    private void act(Rng rng, CidPool pool, NaiveCidPool twin, String where) {
        switch (rng.nextInt(12)) {
            case 0, 1, 2, 3 -> request(rng, pool, twin, where);
            case 4, 5 -> poll(pool, twin, where);
            case 6, 7, 8 -> free(rng, pool, twin);
            case 9 -> {
                if (!held.isEmpty()) {
                    change(rng, pool, twin);
                }
            }
            case 10 -> cancel(rng, pool, twin, where);
            case 11 -> {
                nowNs += rng.chance(0.003) ? rng.nextInt(3 * (int) LIFETIME_NS) : rng.nextInt(8);
                if (rng.chance(0.5)) {
                    pool.onTimeout(nowNs);
                    twin.settle(nowNs);
                }
            }
            default -> throw new AssertionError();
        }
    }

    private void request(Rng rng, CidPool pool, NaiveCidPool twin, String where) {
        int peer = rng.nextInt(5);
        // Two hosts of two peers each, and one that has one.
        int host = peer / 2;
        int ticket = nextTicket++;
        boolean isShort = rng.chance(0.4);
        long decision = pool.request(nowNs, peer, host, ticket, isShort);
        assertThat(text(decision))
                .as(where)
                .isEqualTo(twin.request(nowNs, peer, host, ticket, isShort));
        if (CidPool.kind(decision) == CidPool.Kind.GRANT) {
            held.add(CidPool.cid(decision));
        }
    }

    private void poll(CidPool pool, NaiveCidPool twin, String where) {
        long grant = pool.pollGrant(nowNs);
        String got =
                grant == CidPool.NONE
                        ? "NONE"
                        : "TICKET " + CidPool.ticket(grant) + " " + text(grant);
        assertThat(got).as(where).isEqualTo(twin.pollGrant(nowNs));
        if (grant != CidPool.NONE) {
            held.add(CidPool.cid(grant));
        }
    }

    private void free(Rng rng, CidPool pool, NaiveCidPool twin) {
        if (held.isEmpty()) {
            return;
        }
        int cid = held.remove(rng.nextInt(held.size()));
        if (rng.chance(expireChance)) {
            pool.expire(nowNs, cid);
            twin.expire(nowNs, cid);
        } else {
            pool.release(nowNs, cid);
            twin.release(nowNs, cid);
        }
    }

    private void change(Rng rng, CidPool pool, NaiveCidPool twin) {
        int cid = held.get(rng.nextInt(held.size()));
        if (rng.chance(0.5)) {
            pool.activate(cid);
            if (twin.state[cid] == SlotState.GRANTED) {
                twin.state[cid] = SlotState.ACTIVE;
            }
        } else {
            pool.reclaim(cid);
            twin.state[cid] = SlotState.RECLAIMING;
        }
    }

    private void cancel(Rng rng, CidPool pool, NaiveCidPool twin, String where) {
        int ticket = Math.max(0, nextTicket - 1 - rng.nextInt(20));
        assertThat(pool.position(ticket)).as(where).isEqualTo(twin.position(ticket));
        if (rng.chance(0.3)) {
            assertThat(pool.cancelWaiter(ticket)).as(where).isEqualTo(twin.cancel(ticket));
        }
    }

    private static String text(long decision) {
        return switch (CidPool.kind(decision)) {
            case GRANT -> "GRANT " + CidPool.cid(decision) + " " + CidPool.epoch(decision);
            case QUEUED -> "QUEUED " + CidPool.position(decision);
            case DENY -> "DENY " + CidPool.cause(decision);
        };
    }

    /** MR-3.1-1, MR-3.1-2, and every getter. */
    private static void assertSame(CidPool pool, NaiveCidPool twin, String where) {
        for (int cid = 0; cid < twin.capacity; cid++) {
            // Compared before AssertJ is asked, which is slow for millions of slots.
            if (pool.state(cid) != twin.state[cid] || pool.epoch(cid) != twin.epoch[cid]) {
                assertThat(pool.state(cid) + " " + pool.epoch(cid))
                        .as("%s, slot %d", where, cid)
                        .isEqualTo(twin.state[cid] + " " + twin.epoch[cid]);
            }
        }
        long[] got = {
            pool.inUse(),
            pool.quarantined(),
            pool.free(),
            pool.waiting(),
            pool.load(),
            grantedShort(pool),
            pool.nextDeadlineNs(),
            pool.inUse() + pool.quarantined() + pool.free()
        };
        long[] want = {
            twin.inUse(),
            twin.resting.size(),
            twin.free.size(),
            twin.waiters.size(),
            twin.load(),
            twin.holders.values().stream().filter(NaiveCidPool.Holder::asShort).count(),
            twin.nextDeadlineNs(),
            twin.capacity
        };
        if (!Arrays.equals(got, want)) {
            assertThat(got).as(where).isEqualTo(want);
        }
    }

    private static int grantedShort(CidPool pool) {
        int count = 0;
        for (int cid = 0; cid < pool.capacity(); cid++) {
            boolean held =
                    switch (pool.state(cid)) {
                        case GRANTED, ACTIVE, RECLAIMING -> true;
                        case FREE, QUARANTINED -> false;
                    };
            count += held && pool.grantedShort(cid) ? 1 : 0;
        }
        return count;
    }
}
