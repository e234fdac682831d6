package dev.metaroce.sim.fabric;

import dev.metaroce.sim.ConfigException;

/**
 * The ECN law of a queue: no mark below {@code fromBytes}, then with a probability that grows in a
 * straight line to {@code probabilityMax}, and always from {@code allBytes} on. The queue is what
 * waits ahead of the packet. Both thresholds equal: a step.
 *
 * @param absolute false: thresholds are those of a port of 100 Gb/s and grow with the port's rate
 */
public record Marking(int fromBytes, int allBytes, double probabilityMax, boolean absolute) {
    private static final double SCALE_RATE = 100e9;

    public Marking {
        if (fromBytes < 0 || allBytes < fromBytes) {
            throw new ConfigException(
                    "ECN: thresholds %d and %d bytes are not 0 <= Kmin <= Kmax"
                            .formatted(fromBytes, allBytes));
        }
        if (!(probabilityMax >= 0 && probabilityMax <= 1)) {
            throw new ConfigException("ECN: Pmax %s is not from 0 to 1".formatted(probabilityMax));
        }
    }

    /** Marks every packet that finds so many bytes waiting at a port of 100 Gb/s. */
    public static Marking step(int bytesPer100G) {
        return new Marking(bytesPer100G, bytesPer100G, 1, false);
    }

    /**
     * What DCQCN is run with: the thresholds of the public reference model (the ns-3 simulator of
     * HPCC's authors), 100 and 400 kB at 25 Gb/s, 400 and 1600 kB at 100 Gb/s, up to 20 %.
     */
    public static Marking red() {
        return new Marking(400_000, 1_600_000, 0.2, false);
    }

    long bytes(int threshold, long rateBitsPerSecond) {
        return absolute ? threshold : (long) (threshold * (rateBitsPerSecond / SCALE_RATE));
    }
}
