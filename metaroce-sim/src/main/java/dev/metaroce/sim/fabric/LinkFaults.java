package dev.metaroce.sim.fabric;

import dev.metaroce.sim.ConfigException;
import dev.metaroce.util.Rng;

/**
 * What a bad wire does to packets: loss at random or in bursts (Gilbert-Elliott: two states, each
 * with a loss rate of its own), and flipped bits. Owned by the simulation's thread.
 */
public final class LinkFaults {
    /** What becomes of a packet. */
    enum Fate {
        ARRIVES,
        LOST,
        CORRUPTED
    }

    /**
     * @param loss probability that a packet is lost in the good state
     * @param corruption probability that a packet arrives with a flipped bit
     * @param toBad probability per packet to go over to the bad state; 0: no bursts
     * @param toGood probability per packet to come back
     * @param lossInBad probability that a packet is lost in the bad state
     */
    public record Rates(
            double loss, double corruption, double toBad, double toGood, double lossInBad) {
        public Rates {
            check("loss", loss);
            check("corruption", corruption);
            check("toBad", toBad);
            check("toGood", toGood);
            check("lossInBad", lossInBad);
        }

        private static void check(String name, double probability) {
            if (!(probability >= 0 && probability <= 1)) {
                throw new ConfigException(
                        "link fault %s: %s is not from 0 to 1".formatted(name, probability));
            }
        }

        public static Rates ofLoss(double loss) {
            return new Rates(loss, 0, 0, 1, 0);
        }

        public static Rates ofCorruption(double corruption) {
            return new Rates(0, corruption, 0, 1, 0);
        }

        /** Nothing is lost but in bursts, of which everything is. */
        public static Rates ofBursts(double burstsPerPacket, double packetsPerBurst) {
            return new Rates(0, 0, burstsPerPacket, 1 / packetsPerBurst, 1);
        }
    }

    private final Rates rates;
    private final Rng rng;
    private boolean bad;

    LinkFaults(Rates rates, Rng rng) {
        this.rates = rates;
        this.rng = rng;
    }

    Fate next() {
        if (rates.toBad > 0) {
            bad = bad ? !rng.chance(rates.toGood) : rng.chance(rates.toBad);
        }
        if (rng.chance(bad ? rates.lossInBad : rates.loss)) {
            return Fate.LOST;
        }
        return rates.corruption > 0 && rng.chance(rates.corruption) ? Fate.CORRUPTED : Fate.ARRIVES;
    }
}
