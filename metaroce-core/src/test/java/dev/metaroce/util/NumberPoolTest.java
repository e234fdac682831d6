package dev.metaroce.util;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.testing.Seeded;

import org.junit.jupiter.api.Test;

import java.util.ArrayDeque;
import java.util.HashSet;
import java.util.Set;

class NumberPoolTest {
    @Test
    void firstPlacesAndTheNumberOfOnesAreNotHandedOut() {
        NumberPool pool = new NumberPool(4, 2, 5, -1);
        Set<Integer> taken = new HashSet<>();
        for (int i = 0; i < 5; i++) {
            taken.add(pool.take());
        }

        assertThat(taken).containsExactlyInAnyOrder(10, 11, 12, 13, 14);
        assertThat(pool.take()).isEqualTo(-1);
        assertThat(pool.inUse()).isEqualTo(5);
    }

    @Test
    void aPlaceHasEachOfItsNumbersInTurn() {
        NumberPool pool = new NumberPool(5, 2, 1, 1);
        int[] seen = new int[5];
        for (int i = 0; i < seen.length; i++) {
            seen[i] = pool.take();
            pool.giveBack(seen[i]);
        }

        // Two bits of place, three bits above that count up and wrap.
        assertThat(seen).containsExactly(6, 10, 14, 18, 22);
    }

    /** No number twice at once, and none again before 256 others were given back. */
    @Seeded(cases = 20)
    void numbersInUseDiffer(long seed) {
        Rng rng = new Rng(seed);
        NumberPool pool = new NumberPool(24, 2, 65_536, rng.nextInt());
        Set<Integer> inUse = new HashSet<>();
        ArrayDeque<Integer> resting = new ArrayDeque<>();
        for (int i = 0; i < 5_000; i++) {
            if (inUse.isEmpty() || rng.chance(0.52)) {
                int number = pool.take();
                assertThat(inUse.add(number)).isTrue();
                assertThat(resting).doesNotContain(number);
                assertThat(pool.place(number)).isBetween(2, 65_537);
            } else {
                int number = inUse.iterator().next();
                inUse.remove(number);
                pool.giveBack(number);
                resting.add(number);
                if (resting.size() > 256) {
                    resting.poll();
                }
            }
            assertThat(pool.inUse()).isEqualTo(inUse.size());
        }
    }
}
