package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.testing.Seeded;
import dev.metaroce.transport.CidPool.DenyCause;
import dev.metaroce.util.Rng;

import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;

/** Whose turn it is: short requests before others, hosts with few slots before those with many. */
class CidPoolOrderTest {
    private static final int PLENTY = 4_096;

    private static CidPool pool(int capacity, int maxWaiters, int shortSlots) {
        return new CidPool(
                capacity, maxWaiters, maxWaiters, 1, ExhaustionPolicy.QUEUE, 0, shortSlots);
    }

    /** Fills the pool with the leases of one host. */
    private static CidPool full(int capacity, int shortSlots, int host) {
        CidPool pool = pool(capacity, PLENTY, shortSlots);
        for (int i = 0; i < capacity; i++) {
            pool.request(0, 0, host, i, false);
        }
        return pool;
    }

    private static int bulk(CidPool pool, int host, int ticket) {
        return CidPool.position(pool.request(0, ticket, host, ticket, false));
    }

    private static int brief(CidPool pool, int host, int ticket) {
        return CidPool.position(pool.request(0, ticket, host, ticket, true));
    }

    /** Releases a slot and tells the ticket that is served with it. */
    private static int served(CidPool pool, int cid) {
        pool.release(1_000, cid);
        long grant = pool.pollGrant(1_000);
        assertThat(CidPool.cid(grant)).isEqualTo(cid);
        return CidPool.ticket(grant);
    }

    /** MR-3.8-3, MR-3.8-4: two short ones go first, the third waits for its turn. */
    @Test
    void shortRequestsGoFirstAsFarAsTheirSlotsReach() {
        CidPool pool = full(4, 2, 0);
        assertThat(bulk(pool, 1, 11)).isEqualTo(1);
        assertThat(bulk(pool, 2, 12)).isEqualTo(2);
        assertThat(brief(pool, 3, 13)).isEqualTo(1);
        assertThat(brief(pool, 4, 14)).isEqualTo(2);
        assertThat(brief(pool, 5, 15)).isEqualTo(3);
        assertThat(bulk(pool, 6, 16)).isEqualTo(6);

        assertThat(served(pool, 0)).isEqualTo(13);
        assertThat(served(pool, 1)).isEqualTo(14);
        assertThat(served(pool, 2)).as("both are held").isEqualTo(11);
        assertThat(served(pool, 0)).as("one of them came back").isEqualTo(15);
        assertThat(served(pool, 3)).isEqualTo(12);
        assertThat(pool.grantedShort(0)).isTrue();
        assertThat(pool.grantedShort(3)).isFalse();
    }

    /**
     * MR-3.8-3, found by the model in the directory model: short requests whose grants are not used
     * send a slot into quarantine and take the next one.
     */
    @Test
    void slotsThatRestCountAsTakenByShortRequests() {
        CidPool pool = full(2, 1, 0);
        bulk(pool, 1, 11);
        brief(pool, 2, 12);
        brief(pool, 3, 13);
        pool.reclaim(0);
        pool.reclaim(1);
        pool.release(10, 0);
        assertThat(CidPool.ticket(pool.pollGrant(10))).isEqualTo(12);
        pool.expire(11, 0);
        pool.release(11, 1);
        assertThat(CidPool.ticket(pool.pollGrant(11))).as("of all").isEqualTo(11);
        assertThat(CidPool.ticket(pool.pollGrant(12))).as("rest is over").isEqualTo(13);
    }

    /** MR-3.8-3: no slot stays empty for short ones, and one is always left for the others. */
    @Test
    void slotsOfShortRequestsAreNotKeptEmpty() {
        CidPool pool = full(2, 200, 0);
        bulk(pool, 1, 11);
        bulk(pool, 2, 12);
        assertThat(served(pool, 0)).isEqualTo(11);
        brief(pool, 3, 13);
        brief(pool, 4, 14);
        assertThat(served(pool, 0)).isEqualTo(13);
        assertThat(served(pool, 1)).as("the other slot is for all").isEqualTo(12);
        assertThat(served(pool, 1)).isEqualTo(14);
        assertThat(pool.grantedShort(1)).as("it was its turn anyway").isFalse();
    }

    @Test
    void withoutShortSlotsAllAreServedAsTheyCame() {
        for (CidPool pool : List.of(full(2, 0, 0), full(1, 8, 0))) {
            assertThat(bulk(pool, 1, 11)).isEqualTo(1);
            assertThat(brief(pool, 2, 12)).isEqualTo(2);
            assertThat(served(pool, 0)).isEqualTo(11);
        }
    }

    /** MR-3.8-7: one host holds all slots and has asked for more; another one comes. */
    @Test
    void aSecondHostGetsTheNextSlotUntilItHoldsHalf() {
        int capacity = 16;
        CidPool pool = full(capacity, 0, 1);
        for (int i = 0; i < 100; i++) {
            bulk(pool, 1, 100 + i);
        }
        for (int i = 0; i < 100; i++) {
            bulk(pool, 2, 200 + i);
        }
        for (int cid = 0; cid < 8; cid++) {
            assertThat(served(pool, cid)).isEqualTo(200 + cid);
        }
        assertThat(served(pool, 8)).as("the first host holds less than half").isEqualTo(100);
        assertThat(served(pool, 0)).as("and half again").isEqualTo(208);
    }

    /** MR-3.8-7: nothing is kept empty for hosts that do not ask. */
    @Test
    void aHostThatIsAloneHasAllSlots() {
        CidPool pool = full(16, 4, 1);
        brief(pool, 1, 100);
        bulk(pool, 1, 101);
        assertThat(served(pool, 3)).isEqualTo(100);
        assertThat(served(pool, 3)).isEqualTo(101);
    }

    /** MR-3.8-6. */
    @Test
    void oneHostFillsHalfOfTheLineAtMost() {
        CidPool pool = pool(1, 8, 0);
        bulk(pool, 1, 0);
        for (int i = 1; i <= 4; i++) {
            assertThat(bulk(pool, 1, i)).isEqualTo(i);
        }
        long refused = pool.request(0, 5, 1, 5, false);
        assertThat(CidPool.kind(refused)).isEqualTo(CidPool.Kind.DENY);
        assertThat(CidPool.cause(refused)).isEqualTo(DenyCause.HOST_CAP);
        assertThat(bulk(pool, 2, 6)).isEqualTo(5);
    }

    private record Event(long atNs, int who, int cid) {}

    /** A world of clients that ask, hold a slot for a while, give it back and ask again. */
    private static final class World {
        final CidPool pool;
        final int bulks;
        final long bulkNs;
        final long shortNs;
        final long[] askedNs;
        final int[] grants;
        final long[] longestNs = new long[2];
        private final Rng rng;
        private final PriorityQueue<Event> events =
                new PriorityQueue<>(
                        Comparator.comparingLong(Event::atNs).thenComparingInt(Event::who));

        World(Rng rng, int capacity, int shortSlots, int bulks, int shorts) {
            this.rng = rng;
            this.bulks = bulks;
            bulkNs = 100_000;
            shortNs = 2_000;
            pool = CidPoolOrderTest.pool(capacity, PLENTY, shortSlots);
            askedNs = new long[bulks + shorts];
            grants = new int[bulks + shorts];
            for (int who = 0; who < askedNs.length; who++) {
                events.add(new Event(rng.nextInt(100), who, -1));
            }
        }

        private boolean isShort(int who) {
            return who >= bulks;
        }

        void run(long untilNs) {
            for (Event event = events.poll();
                    event != null && event.atNs < untilNs;
                    event = events.poll()) {
                long nowNs = event.atNs;
                if (event.cid >= 0) {
                    pool.release(nowNs, event.cid);
                }
                askedNs[event.who] = nowNs;
                long d = pool.request(nowNs, event.who, event.who, event.who, isShort(event.who));
                if (CidPool.kind(d) == CidPool.Kind.GRANT) {
                    hold(nowNs, event.who, CidPool.cid(d));
                }
                for (long g = pool.pollGrant(nowNs); g >= 0; g = pool.pollGrant(nowNs)) {
                    hold(nowNs, CidPool.ticket(g), CidPool.cid(g));
                }
            }
        }

        private void hold(long nowNs, int who, int cid) {
            grants[who]++;
            int kind = isShort(who) ? 1 : 0;
            longestNs[kind] = Math.max(longestNs[kind], nowNs - askedNs[who]);
            long forNs = isShort(who) ? shortNs : bulkNs - rng.nextInt(1_000);
            events.add(new Event(nowNs + forNs, who, cid));
        }

        double jain(int from, int to) {
            double sum = 0;
            double squares = 0;
            for (int who = from; who < to; who++) {
                sum += grants[who];
                squares += (double) grants[who] * grants[who];
            }
            return sum * sum / ((to - from) * squares);
        }
    }

    /** Busy senders and short ones, more than slots: nobody starves, and short ones hardly wait. */
    @Seeded(cases = 30)
    void nobodyStarves(long seed) {
        Rng rng = new Rng(seed);
        int capacity = 2 + rng.nextInt(30);
        int shortSlots = 1 + rng.nextInt(capacity / 2);
        int bulks = capacity * (1 + rng.nextInt(4)) + rng.nextInt(capacity);
        int shorts = 1 + rng.nextInt(3 * capacity);
        World world = new World(rng, capacity, shortSlots, bulks, shorts);
        // All turns, one after another, in the slots that short ones cannot take.
        int common = capacity - shortSlots;
        long waveNs = (bulks + shorts + common - 1) / common * world.bulkNs;
        world.run(20 * waveNs);

        assertThat(world.longestNs[0]).isLessThanOrEqualTo(waveNs + world.bulkNs);
        assertThat(world.jain(0, bulks)).isGreaterThan(0.95);
        // At worst a bulk lease has to end first, for each round of short ones one more.
        long turns = (shorts + shortSlots - 1) / shortSlots;
        assertThat(world.longestNs[1])
                .isLessThanOrEqualTo(2 * world.bulkNs + turns * world.shortNs);
        assertThat(world.jain(bulks, bulks + shorts)).isGreaterThan(0.95);
    }

    /** The same world without slots for short ones: they wait as long as the others. */
    @Test
    void withoutShortSlotsShortRequestsWaitAsLongAsOthers() {
        List<Long> longest = new ArrayList<>();
        for (int shortSlots : new int[] {0, 2}) {
            World world = new World(new Rng(1), 8, shortSlots, 32, 4);
            world.run(10_000_000);
            longest.add(world.longestNs[1]);
        }
        assertThat(longest.get(0)).isGreaterThan(300_000);
        assertThat(longest.get(1)).isLessThan(120_000);
    }
}
