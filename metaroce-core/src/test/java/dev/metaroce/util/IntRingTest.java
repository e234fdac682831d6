package dev.metaroce.util;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.metaroce.testing.Seeded;

import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;

class IntRingTest {
    @Seeded(cases = 100)
    void agreesWithAList(long seed) {
        Rng rng = new Rng(seed);
        IntRing ring = new IntRing();
        List<Integer> twin = new ArrayList<>();
        double growth = 0.4 + 0.4 * rng.nextDouble();
        for (int step = 0; step < 500; step++) {
            if (twin.isEmpty() || rng.chance(growth)) {
                int value = rng.nextInt();
                ring.add(value);
                twin.add(value);
            } else if (rng.chance(0.6)) {
                assertThat(ring.poll()).isEqualTo(twin.remove(0));
            } else {
                int at = rng.nextInt(twin.size());
                if (rng.chance(0.5)) {
                    ring.remove(at);
                    twin.remove(at);
                } else {
                    ring.set(at, step);
                    twin.set(at, step);
                }
            }
            assertThat(ring.size()).isEqualTo(twin.size());
            assertThat(ring.isEmpty()).isEqualTo(twin.isEmpty());
            for (int i = 0; i < twin.size(); i++) {
                assertThat(ring.get(i)).isEqualTo(twin.get(i));
            }
        }
    }

    @Test
    void anEmptyRingHasNothingToTake() {
        IntRing ring = new IntRing();

        assertThatThrownBy(ring::poll).isInstanceOf(InvariantViolation.class);
        assertThatThrownBy(() -> ring.remove(0)).isInstanceOf(InvariantViolation.class);
    }
}
