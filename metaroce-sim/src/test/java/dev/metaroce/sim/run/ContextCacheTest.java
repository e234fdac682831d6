package dev.metaroce.sim.run;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.util.Rng;

import org.junit.jupiter.api.Test;

import java.util.LinkedHashSet;

class ContextCacheTest {
    @Test
    void theContextUsedLeastRecentlyIsForgotten() {
        ContextCache cache = new ContextCache(2);

        assertThat(cache.use(7)).isFalse();
        assertThat(cache.use(9)).isFalse();
        assertThat(cache.use(7)).isTrue();
        assertThat(cache.use(1)).isFalse();
        assertThat(cache.use(7)).isTrue();
        assertThat(cache.use(9)).isFalse();
    }

    @Test
    void itBehavesLikeAListInOrderOfUse() {
        for (int capacity : new int[] {1, 3, 64, 100, 256}) {
            ContextCache cache = new ContextCache(capacity);
            LinkedHashSet<Integer> model = new LinkedHashSet<>();
            Rng rng = new Rng(capacity);
            for (int i = 0; i < 20_000; i++) {
                int key = rng.nextInt(capacity * 2) * (i % 2 == 0 ? 1 : 256);
                boolean known = model.remove(key);
                if (!known && model.size() == capacity) {
                    model.removeFirst();
                }
                model.add(key);
                assertThat(cache.use(key)).isEqualTo(known);
            }
        }
    }
}
