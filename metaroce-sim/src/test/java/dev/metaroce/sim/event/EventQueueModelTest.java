package dev.metaroce.sim.event;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.testing.Seeded;
import dev.metaroce.util.Rng;

/** {@link EventQueue} against {@link NaiveEventQueue} over random histories. */
class EventQueueModelTest {
    private static final int PHASES = 12;
    private static final int STEPS = 4_000;

    /** How far ahead events are added. */
    private enum Spread {
        PRESENT,
        FEW_TIMES,
        NARROW,
        UNIFORM,
        NETWORK,
        CLUSTERS,
        EXPONENTIAL;

        long draw(Rng rng, int scaleBits) {
            long scale = 1L << scaleBits;
            return switch (this) {
                case PRESENT -> 0;
                case FEW_TIMES -> scale * rng.nextInt(3);
                case NARROW -> rng.nextInt(4);
                case UNIFORM -> (long) (rng.nextDouble() * 1_000 * scale);
                case NETWORK -> network(rng, scale);
                case CLUSTERS -> rng.nextInt(2) * scale * 1_000_000 + rng.nextInt(20);
                case EXPONENTIAL -> 1L << rng.nextInt(Long.SIZE - 1);
            };
        }

        private static long network(Rng rng, long scale) {
            return switch (rng.nextInt(8)) {
                case 0 -> 0;
                case 1 -> rng.nextInt(20_000) * scale;
                case 2 -> (10_000_000L << rng.nextInt(18)) * scale;
                case 3, 4 -> 327_680 * scale;
                default -> (80_000 + rng.nextInt(1_320_000)) * scale;
            };
        }
    }

    private final EventQueue queue = new EventQueue();
    private final NaiveEventQueue twin = new NaiveEventQueue();
    private long what;

    @Seeded(cases = 150)
    void queueAgreesWithItsNaiveTwin(long seed) {
        Rng rng = new Rng(seed);
        for (int phase = 0; phase < PHASES; phase++) {
            Spread[] spreads = Spread.values();
            Spread spread = spreads[rng.nextInt(spreads.length)];
            int scaleBits = rng.nextInt(rng.chance(0.5) ? 4 : 22);
            int pending = 1 + rng.nextInt(1 << rng.nextInt(13));
            String where = spread + " of " + pending + " in phase " + phase;
            for (int step = 0; step < STEPS; step++) {
                act(rng, spread, scaleBits, pending);
                assertSame(rng.chance(0.3), where);
            }
        }
        while (twin.size() > 0) {
            next();
            assertSame(true, "at the end");
        }
        assertThat(queue.next()).isFalse();
    }

    private void act(Rng rng, Spread spread, int scaleBits, int pending) {
        // About as many in as out when there are as many as there should be, else soon.
        if (rng.nextInt(2 * pending) >= twin.size()) {
            long ahead = spread.draw(rng, scaleBits);
            long atPs = twin.timePs + Math.min(ahead, Long.MAX_VALUE - twin.timePs);
            queue.add(atPs, what);
            twin.add(atPs, what++);
        } else {
            next();
        }
    }

    private void next() {
        assertThat(queue.next()).isEqualTo(twin.next());
    }

    private void assertSame(boolean peek, String where) {
        boolean same =
                queue.size() == twin.size()
                        && queue.timePs() == twin.timePs
                        && queue.event() == twin.event
                        && (!peek || queue.nextTimePs() == twin.nextTimePs());
        if (!same) { // AssertJ is slow for millions of steps
            assertThat(queue.size()).as(where).isEqualTo(twin.size());
            assertThat(queue.timePs()).as(where).isEqualTo(twin.timePs);
            assertThat(queue.event()).as(where).isEqualTo(twin.event);
            assertThat(queue.nextTimePs()).as(where).isEqualTo(twin.nextTimePs());
        }
    }
}
