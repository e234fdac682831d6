package dev.metaroce.util;

/**
 * A small deterministic generator (SplitMix64) for simulation, tests and jitter. The same seed
 * gives the same numbers on every machine. Not for secrets: keys and initial sequence numbers come
 * from a secure source.
 *
 * <p>Owned by one thread. Give each part its own {@link #fork}, so that one more draw in one part
 * does not shift the numbers of another:
 *
 * <pre>{@code
 * Rng root = new Rng(seed);
 * Rng loss = root.fork("loss");
 * boolean drop = loss.chance(0.01);
 * }</pre>
 */
public final class Rng {
    private static final long GOLDEN_GAMMA = 0x9E37_79B9_7F4A_7C15L;
    private static final long FNV_OFFSET = 0xCBF2_9CE4_8422_2325L;
    private static final long FNV_PRIME = 0x0000_0100_0000_01B3L;
    private static final double DOUBLE_UNIT = 0x1.0p-53;

    private final long seed;
    private long state;

    /** Every seed is as good as any other, zero included. */
    public Rng(long seed) {
        this.seed = seed;
        this.state = seed;
    }

    /** The seed this generator started from. */
    public long seed() {
        return seed;
    }

    public long nextLong() {
        state += GOLDEN_GAMMA;
        return mix(state);
    }

    public int nextInt() {
        return (int) (nextLong() >>> 32);
    }

    /**
     * An unbiased draw from 0 to {@code boundExclusive} - 1.
     *
     * @param boundExclusive at least 1
     */
    public int nextInt(int boundExclusive) {
        Invariant.check(boundExclusive > 0, "bound is positive", boundExclusive, 0);
        long product = (nextInt() & 0xFFFF_FFFFL) * boundExclusive;
        if ((product & 0xFFFF_FFFFL) < boundExclusive) {
            // 2^32 mod bound of the low halves stand for one value too many; draw those again.
            long excess = (1L << 32) % boundExclusive;
            while ((product & 0xFFFF_FFFFL) < excess) {
                product = (nextInt() & 0xFFFF_FFFFL) * boundExclusive;
            }
        }
        return (int) (product >>> 32);
    }

    /** A draw from 0 (inclusive) to 1 (exclusive). */
    public double nextDouble() {
        return (nextLong() >>> 11) * DOUBLE_UNIT;
    }

    /**
     * True with probability {@code p}. Always takes one draw, so changing {@code p} does not shift
     * what comes after.
     */
    public boolean chance(double p) {
        return nextDouble() < p;
    }

    /**
     * An independent generator for the part named {@code label}. It follows from the seed and the
     * label alone: how many numbers were drawn here before does not matter.
     */
    public Rng fork(String label) {
        long hash = FNV_OFFSET;
        for (int i = 0; i < label.length(); i++) {
            hash = (hash ^ label.charAt(i)) * FNV_PRIME;
        }
        return new Rng(mix(mix(seed + GOLDEN_GAMMA) ^ hash));
    }

    private static long mix(long value) {
        long z = (value ^ (value >>> 30)) * 0xBF58_476D_1CE4_E5B9L;
        z = (z ^ (z >>> 27)) * 0x94D0_49BB_1331_11EBL;
        return z ^ (z >>> 31);
    }
}
