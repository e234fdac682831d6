package dev.metaroce.util;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

import java.math.BigInteger;

class WindowBitmapTest {
    private static final int BASE = 3;
    private static final long CANARY = 0xC0FFEE;

    /** The window in the middle of an array, with canaries on both sides. */
    private final long[] words = {
        CANARY, CANARY, CANARY, 0, 0, 0, 0, CANARY, CANARY, CANARY, CANARY
    };

    @Test
    void agreesWithABigIntegerOverRandomWalks() {
        for (long seed = 1; seed <= 200; seed++) {
            Rng rng = new Rng(seed);
            WindowBitmap.clear(words, BASE);
            BigInteger twin = BigInteger.ZERO;
            for (int step = 0; step < 60; step++) {
                twin = step(rng, twin);
                assertTwin(twin, rng, "seed " + seed + " step " + step);
            }
        }
    }

    @Test
    void everyShiftOfAFullAndOfAPatternedWindowIsRight() {
        BigInteger full = BigInteger.ONE.shiftLeft(256).subtract(BigInteger.ONE);
        // Four words that have nothing in common.
        BigInteger patterned =
                new BigInteger(
                        "8000000000000001DEADBEEFCAFEF00D1122334455667788F0E1D2C3B4A59687", 16);
        for (int count = 0; count <= 256; count++) {
            for (BigInteger twin : new BigInteger[] {full, patterned}) {
                load(twin);
                WindowBitmap.shiftDown(words, BASE, count);
                assertTwin(twin.shiftRight(count), new Rng(count), "shift by " + count);
            }
        }
    }

    @Test
    void everySingleBitIsFoundFromEveryStart() {
        for (int bit = 0; bit < 256; bit++) {
            WindowBitmap.clear(words, BASE);
            WindowBitmap.set(words, BASE, bit);
            assertThat(WindowBitmap.highest(words, BASE)).isEqualTo(bit);
            for (int from = 0; from <= 256; from++) {
                assertThat(WindowBitmap.nextSet(words, BASE, from))
                        .as("bit %d from %d", bit, from)
                        .isEqualTo(from <= bit ? bit : -1);
                assertThat(WindowBitmap.nextClear(words, BASE, from))
                        .as("clear around bit %d from %d", bit, from)
                        .isEqualTo(from == bit ? bit + 1 : from);
            }
        }
    }

    @Test
    void onesAreCountedUpToTheWholeWindow() {
        for (int ones = 0; ones <= 256; ones++) {
            load(BigInteger.ONE.shiftLeft(ones).subtract(BigInteger.ONE));
            assertThat(WindowBitmap.trailingOnes(words, BASE)).isEqualTo(ones);
        }
    }

    @Test
    void bitsOutsideTheWindowAreRefused() {
        for (int bit : new int[] {-1, 256, 300, Integer.MIN_VALUE, Integer.MAX_VALUE}) {
            assertThatThrownBy(() -> WindowBitmap.set(words, BASE, bit))
                    .isInstanceOf(InvariantViolation.class);
            assertThatThrownBy(() -> WindowBitmap.get(words, BASE, bit))
                    .isInstanceOf(InvariantViolation.class);
        }
        for (int count : new int[] {-1, 257}) {
            assertThatThrownBy(() -> WindowBitmap.shiftDown(words, BASE, count))
                    .isInstanceOf(InvariantViolation.class);
            assertThatThrownBy(() -> WindowBitmap.nextSet(words, BASE, count))
                    .isInstanceOf(InvariantViolation.class);
            assertThatThrownBy(() -> WindowBitmap.nextClear(words, BASE, count))
                    .isInstanceOf(InvariantViolation.class);
        }
        assertCanaries("refused");
    }

    private BigInteger step(Rng rng, BigInteger twin) {
        switch (rng.nextInt(8)) {
            case 0 -> {
                int count = rng.nextInt(257);
                WindowBitmap.shiftDown(words, BASE, count);
                return twin.shiftRight(count);
            }
            case 1 -> {
                int count = WindowBitmap.trailingOnes(words, BASE);
                WindowBitmap.shiftDown(words, BASE, count);
                return twin.shiftRight(count);
            }
            case 2 -> {
                // A run, so that full words and long rows of ones come up.
                int from = rng.nextInt(256);
                int end = from + rng.nextInt(257 - from);
                BigInteger result = twin;
                for (int bit = from; bit < end; bit++) {
                    WindowBitmap.set(words, BASE, bit);
                    result = result.setBit(bit);
                }
                return result;
            }
            case 3 -> {
                if (rng.chance(0.9)) {
                    return twin;
                }
                WindowBitmap.clear(words, BASE);
                return BigInteger.ZERO;
            }
            default -> {
                int bit = rng.nextInt(256);
                WindowBitmap.set(words, BASE, bit);
                return twin.setBit(bit);
            }
        }
    }

    private void assertTwin(BigInteger twin, Rng rng, String what) {
        BigInteger bits = BigInteger.ZERO;
        for (int bit = 0; bit < 256; bit++) {
            if (WindowBitmap.get(words, BASE, bit)) {
                bits = bits.setBit(bit);
            }
        }
        assertThat(bits).as(what).isEqualTo(twin);
        assertThat(WindowBitmap.isEmpty(words, BASE)).as(what).isEqualTo(twin.signum() == 0);
        assertThat(WindowBitmap.highest(words, BASE)).as(what).isEqualTo(twin.bitLength() - 1);
        assertThat(WindowBitmap.trailingOnes(words, BASE))
                .as(what)
                .isEqualTo(twin.not().getLowestSetBit());
        int from = rng.nextInt(257);
        BigInteger above = twin.shiftRight(from);
        assertThat(WindowBitmap.nextSet(words, BASE, from))
                .as(what)
                .isEqualTo(above.signum() == 0 ? -1 : from + above.getLowestSetBit());
        assertThat(WindowBitmap.nextClear(words, BASE, from))
                .as(what)
                .isEqualTo(from + above.not().getLowestSetBit());
        assertCanaries(what);
    }

    private void assertCanaries(String what) {
        for (int i = 0; i < words.length; i++) {
            if (i < BASE || i >= BASE + WindowBitmap.WORDS) {
                assertThat(words[i]).as(what + ": word " + i).isEqualTo(CANARY);
            }
        }
    }

    private void load(BigInteger bits) {
        for (int i = 0; i < WindowBitmap.WORDS; i++) {
            words[BASE + i] = bits.shiftRight(64 * i).longValue();
        }
    }
}
