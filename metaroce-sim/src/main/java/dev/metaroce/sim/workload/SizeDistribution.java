package dev.metaroce.sim.workload;

import dev.metaroce.sim.ConfigException;
import dev.metaroce.sim.Quantities;
import dev.metaroce.util.Rng;

import java.util.List;

/**
 * How long messages are: sizes in bytes, at least 1, and their mean. Immutable; see {@link Sizes}.
 */
public sealed interface SizeDistribution {
    /** The next size, from one draw. */
    long draw(Rng rng);

    double meanBytes();

    private static void check(long min, long max) {
        if (min < 1 || max > Quantities.BYTES_MAX) {
            throw new ConfigException(
                    "size %d: is not in 1..%d"
                            .formatted(min < 1 ? min : max, Quantities.BYTES_MAX));
        }
        if (min > max) {
            throw new ConfigException("size %d-%d: is in the wrong order".formatted(min, max));
        }
    }

    /** All alike. */
    record Fixed(long bytes) implements SizeDistribution {
        /**
         * @throws ConfigException unless 1 byte..1 TiB
         */
        public Fixed {
            check(bytes, bytes);
        }

        @Override
        public long draw(Rng rng) {
            return bytes;
        }

        @Override
        public double meanBytes() {
            return bytes;
        }
    }

    /** Every size in a range is as likely. */
    record Uniform(long min, long max) implements SizeDistribution {
        /**
         * @throws ConfigException unless 1 byte..1 TiB and in order
         */
        public Uniform {
            check(min, max);
        }

        @Override
        public long draw(Rng rng) {
            return min + (long) (rng.nextDouble() * (max - min + 1));
        }

        @Override
        public double meanBytes() {
            return (min + max) / 2.0;
        }
    }

    /** A Pareto law that is cut off at both ends: many small messages and few huge ones. */
    record Pareto(long min, long max, double shape) implements SizeDistribution {
        /**
         * @throws ConfigException unless 1 byte..1 TiB and in order, shape above 0 and up to 10
         */
        public Pareto {
            check(min, max);
            if (!(shape > 0 && shape <= 10) || min == max) {
                throw new ConfigException(
                        "size pareto:%d-%d:%s: takes smaller-larger:shape, shape up to 10"
                                .formatted(min, max, shape));
            }
        }

        @Override
        public long draw(Rng rng) {
            double cut = 1 - rng.nextDouble() * (1 - StrictMath.pow((double) min / max, shape));
            return Math.min(max, Math.round(min * StrictMath.pow(cut, -1 / shape)));
        }

        @Override
        public double meanBytes() {
            double ratio = (double) min / max;
            if (shape == 1) {
                return min * StrictMath.log(1 / ratio) / (1 - ratio);
            }
            double scale = shape / (shape - 1) / (1 - StrictMath.pow(ratio, shape));
            return min * scale * (1 - StrictMath.pow(ratio, shape - 1));
        }
    }

    /** Measured sizes: the share of messages up to each of some sizes, straight in between. */
    record Cdf(List<Point> points) implements SizeDistribution {
        /** So large a share of the messages, in 0..1, has at most so many bytes. */
        public record Point(long bytes, double share) {}

        @Override
        public long draw(Rng rng) {
            double share = rng.nextDouble();
            int above = 0;
            while (points.get(above).share < share) {
                above++;
            }
            Point to = points.get(above);
            if (above == 0) {
                return Math.max(1, to.bytes);
            }
            Point from = points.get(above - 1);
            double part = (share - from.share) / (to.share - from.share);
            return Math.max(1, from.bytes + Math.round(part * (to.bytes - from.bytes)));
        }

        @Override
        public double meanBytes() {
            double mean = points.getFirst().bytes * points.getFirst().share;
            for (int i = 1; i < points.size(); i++) {
                Point from = points.get(i - 1);
                Point to = points.get(i);
                mean += (to.share - from.share) * (from.bytes + to.bytes) / 2.0;
            }
            return mean;
        }
    }
}
