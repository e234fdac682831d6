package dev.metaroce.sim.fabric;

import dev.metaroce.sim.ConfigException;

/**
 * One of up to eight kinds of traffic that ports queue apart. Strict classes are sent before all
 * others, in the order of their list; weighted classes share what is left by deficit round robin,
 * byte for byte, as 802.1Qaz (ETS) asks.
 *
 * @param weight share of a weighted class; 0: a strict class
 * @param lossless senders are stopped before a switch has to drop packets of the class
 * @param ecn switches mark packets of the class
 * @param alpha a queue (lossy) or an ingress (lossless) may hold this many times what is left of
 *     the shared buffer (dynamic threshold of Choudhury and Hahne)
 */
public record TrafficClass(String name, int weight, boolean lossless, boolean ecn, double alpha) {
    /** Packets that are not ECN-capable, as acknowledgements, are of this class if there is one. */
    public static final String CONTROL = "control";

    /** Congestion notification packets of RoCEv2 are of this class if there is one. */
    public static final String CNP = "cnp";

    /** Most classes that ports can have, as 802.1Q. */
    public static final int COUNT_MAX = 8;

    private static final int WEIGHT_MAX = 1000;

    public TrafficClass {
        if (weight < 0 || weight > WEIGHT_MAX) {
            throw new ConfigException(
                    "class %s: weight %d is not from 0 (strict) to %d"
                            .formatted(name, weight, WEIGHT_MAX));
        }
        if (!(alpha > 0)) {
            throw new ConfigException("class %s: alpha %s is not above 0".formatted(name, alpha));
        }
    }

    /** A lossy class that is sent before those behind it. */
    public static TrafficClass strict(String name) {
        return new TrafficClass(name, 0, false, true, 1);
    }

    /** A lossy class that shares by weight. */
    public static TrafficClass weighted(String name, int weight) {
        return new TrafficClass(name, weight, false, true, 1);
    }

    public TrafficClass asLossless() {
        return new TrafficClass(name, weight, true, ecn, alpha);
    }

    public TrafficClass withoutEcn() {
        return new TrafficClass(name, weight, lossless, false, alpha);
    }

    public TrafficClass withAlpha(double newAlpha) {
        return new TrafficClass(name, weight, lossless, ecn, newAlpha);
    }

    boolean isControl() {
        return name.equals(CONTROL);
    }

    boolean isCnp() {
        return name.equals(CNP);
    }

    boolean isStrict() {
        return weight == 0;
    }
}
