package dev.metaroce.util;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

import java.math.BigInteger;

class PsnTest {
    private static final BigInteger RING = BigInteger.ONE.shiftLeft(32);
    private static final BigInteger HALF = BigInteger.ONE.shiftLeft(31);

    private static final int[] EDGES = {
        0, 1, 2, -1, -2, Integer.MAX_VALUE, Integer.MIN_VALUE, Integer.MIN_VALUE + 1, 0x00FF_FFF8
    };

    // MR-2.2-9
    @Test
    void agreesWithBigIntegersAtEveryPairOfEdges() {
        for (int a : EDGES) {
            for (int b : EDGES) {
                assertTwin(a, b);
            }
        }
    }

    @Test
    void agreesWithBigIntegersOnRandomPairs() {
        Rng rng = new Rng(0x95A);
        for (int i = 0; i < 100_000; i++) {
            int a = rng.nextInt();
            assertTwin(a, rng.nextInt());
            assertTwin(a, a + rng.nextInt(512) - 256);
        }
    }

    @Test
    void numbersHalfARingApartAreNotOrdered() {
        for (int a : EDGES) {
            int opposite = a + Integer.MIN_VALUE;
            assertThat(Psn.isBefore(a, opposite)).isFalse();
            assertThat(Psn.isBefore(opposite, a)).isFalse();
            assertThat(Psn.max(a, opposite)).isEqualTo(a);
        }
    }

    @Test
    void orderCarriesOverTheWrap() {
        assertThat(Psn.isBefore(-1, 0)).isTrue();
        assertThat(Psn.isBefore(0, -1)).isFalse();
        assertThat(Psn.isBefore(7, 7)).isFalse();
        assertThat(Psn.distance(-3, 4)).isEqualTo(7);
        assertThat(Psn.distance(4, -3)).isEqualTo(-7);
        assertThat(Psn.max(-1, 3)).isEqualTo(3);
        assertThat(Psn.max(3, -1)).isEqualTo(3);
    }

    private static void assertTwin(int a, int b) {
        BigInteger forward =
                BigInteger.valueOf(Integer.toUnsignedLong(b))
                        .subtract(BigInteger.valueOf(Integer.toUnsignedLong(a)))
                        .mod(RING);
        boolean before = forward.signum() > 0 && forward.compareTo(HALF) < 0;
        assertThat(Psn.isBefore(a, b)).as("%d before %d", a, b).isEqualTo(before);
        assertThat(Psn.max(a, b)).as("max of %d and %d", a, b).isEqualTo(before ? b : a);

        BigInteger distance = forward.compareTo(HALF) < 0 ? forward : forward.subtract(RING);
        assertThat(Psn.distance(a, b)).as("%d to %d", a, b).isEqualTo(distance.intValueExact());
    }
}
