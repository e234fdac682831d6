package dev.metaroce.net;

import java.util.List;

/**
 * What a {@link FaultRelay} does to the packets of one direction. Packets are numbered 1, 2, 3, ...
 * as they arrive; rates are probabilities, drawn from the relay's seed once per packet and fault,
 * so that the same packets in the same order meet the same faults. The faults apply in the order of
 * the fields; the first drop ends it.
 *
 * @param datagramBytesMax longer datagrams are dropped silently, as by a link with a small MTU; 0 =
 *     no limit
 * @param burstEvery a burst of drops starts at packets n, 2n, 3n, ...; 0 = none
 * @param burstLength packets dropped per burst, 1 or more
 * @param burstsMax bursts in all; 0 = no limit
 * @param dropEvery drops packets n, 2n, 3n, ...; 0 = none
 * @param dropRate 0..1
 * @param corruptRate 0..1: flips one bit; the UDP checksum is right again on the way out
 * @param duplicateRate 0..1: sends copies right behind the packet
 * @param duplicateCopies copies per duplicated packet, 1..100
 * @param reorderEvery holds packets n, 2n, 3n, ... back until others of the same client passed; 0 =
 *     none
 * @param reorderRate 0..1: the same at random
 * @param reorderDistance how many packets must pass one that is held back, 1 or more; 1 swaps
 *     neighbours. When too few come within 20 ms it goes out unreordered
 * @param delayNs time added to every packet, 0..100 s
 * @param jitterNs random time up to this added per packet, which may reorder them; 0..100 s
 * @param skewNs time added to the packets of client i: element i modulo the size; may be empty
 */
public record Faults(
        int datagramBytesMax,
        int burstEvery,
        int burstLength,
        int burstsMax,
        int dropEvery,
        double dropRate,
        double corruptRate,
        double duplicateRate,
        int duplicateCopies,
        int reorderEvery,
        double reorderRate,
        int reorderDistance,
        long delayNs,
        long jitterNs,
        List<Long> skewNs) {

    private static final long DELAY_NS_MAX = 100_000_000_000L;

    /** A perfect link. */
    public static final Faults NONE =
            new Faults(0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, List.of());

    public Faults {
        range("datagramBytesMax", datagramBytesMax, 0, 65_535);
        range("burstEvery", burstEvery, 0, Integer.MAX_VALUE);
        range("burstLength", burstLength, 1, Integer.MAX_VALUE);
        range("burstsMax", burstsMax, 0, Integer.MAX_VALUE);
        range("dropEvery", dropEvery, 0, Integer.MAX_VALUE);
        rate("dropRate", dropRate);
        rate("corruptRate", corruptRate);
        rate("duplicateRate", duplicateRate);
        range("duplicateCopies", duplicateCopies, 1, 100);
        range("reorderEvery", reorderEvery, 0, Integer.MAX_VALUE);
        rate("reorderRate", reorderRate);
        range("reorderDistance", reorderDistance, 1, 10_000);
        range("delayNs", delayNs, 0, DELAY_NS_MAX);
        range("jitterNs", jitterNs, 0, DELAY_NS_MAX);
        skewNs = List.copyOf(skewNs);
        for (long skew : skewNs) {
            range("skewNs", skew, 0, DELAY_NS_MAX);
        }
    }

    private static void range(String field, long value, long min, long max) {
        if (value < min || value > max) {
            throw new IllegalArgumentException(
                    "Faults: " + field + " " + value + " is not in " + min + ".." + max);
        }
    }

    private static void rate(String field, double value) {
        if (!(value >= 0 && value <= 1)) {
            throw new IllegalArgumentException(
                    "Faults: " + field + " " + value + " is not in 0..1");
        }
    }

    /** A builder that starts from a perfect link. */
    public static Builder builder() {
        return NONE.toBuilder();
    }

    /** A builder that starts from these faults. */
    public Builder toBuilder() {
        return new Builder(this);
    }

    /** Collects faults; {@link #build} validates them. */
    public static final class Builder {
        private int datagramBytesMax;
        private int burstEvery;
        private int burstLength;
        private int burstsMax;
        private int dropEvery;
        private double dropRate;
        private double corruptRate;
        private double duplicateRate;
        private int duplicateCopies;
        private int reorderEvery;
        private double reorderRate;
        private int reorderDistance;
        private long delayNs;
        private long jitterNs;
        private List<Long> skewNs;

        private Builder(Faults from) {
            datagramBytesMax = from.datagramBytesMax;
            burstEvery = from.burstEvery;
            burstLength = from.burstLength;
            burstsMax = from.burstsMax;
            dropEvery = from.dropEvery;
            dropRate = from.dropRate;
            corruptRate = from.corruptRate;
            duplicateRate = from.duplicateRate;
            duplicateCopies = from.duplicateCopies;
            reorderEvery = from.reorderEvery;
            reorderRate = from.reorderRate;
            reorderDistance = from.reorderDistance;
            delayNs = from.delayNs;
            jitterNs = from.jitterNs;
            skewNs = from.skewNs;
        }

        public Builder datagramBytesMax(int bytes) {
            datagramBytesMax = bytes;
            return this;
        }

        /**
         * A burst of {@code length} drops at every n-th packet, at most {@code max} times (0: any).
         */
        public Builder burst(int every, int length, int max) {
            burstEvery = every;
            burstLength = length;
            burstsMax = max;
            return this;
        }

        public Builder dropEvery(int packets) {
            dropEvery = packets;
            return this;
        }

        public Builder dropRate(double rate) {
            dropRate = rate;
            return this;
        }

        public Builder corruptRate(double rate) {
            corruptRate = rate;
            return this;
        }

        public Builder duplicate(double rate, int copies) {
            duplicateRate = rate;
            duplicateCopies = copies;
            return this;
        }

        /** Holds every n-th packet back until {@code distance} others passed it. */
        public Builder reorderEvery(int packets, int distance) {
            reorderEvery = packets;
            reorderDistance = distance;
            return this;
        }

        /** Holds packets back at random until {@code distance} others passed them. */
        public Builder reorderRate(double rate, int distance) {
            reorderRate = rate;
            reorderDistance = distance;
            return this;
        }

        public Builder delay(long fixedNs, long upToNs) {
            delayNs = fixedNs;
            jitterNs = upToNs;
            return this;
        }

        public Builder skewNs(List<Long> perClientNs) {
            skewNs = perClientNs;
            return this;
        }

        public Faults build() {
            return new Faults(
                    datagramBytesMax,
                    burstEvery,
                    burstLength,
                    burstsMax,
                    dropEvery,
                    dropRate,
                    corruptRate,
                    duplicateRate,
                    duplicateCopies,
                    reorderEvery,
                    reorderRate,
                    reorderDistance,
                    delayNs,
                    jitterNs,
                    skewNs);
        }
    }
}
