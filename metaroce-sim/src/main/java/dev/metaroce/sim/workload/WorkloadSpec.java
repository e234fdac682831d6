package dev.metaroce.sim.workload;

import dev.metaroce.sim.ConfigException;

/**
 * What {@link Workloads} is to make, complete and checked. Made by {@link #builder}, which fills in
 * what was not said; a number that the kind does not have is 0.
 *
 * @param hosts of the topology
 * @param sizes of the messages; with storage of the answers
 * @param fan senders of an incast, receivers of an outcast, initiators of a sweep, servers that
 *     answer one read
 * @param count messages of Poisson arrivals, reads of each client
 * @param load share of what the hosts can send, in 0..1
 */
public record WorkloadSpec(
        Kind kind, int hosts, SizeDistribution sizes, int fan, int count, double load) {
    private static final int COUNT_MAX = FlowList.FLOWS_MAX;
    private static final int INITIATORS_MAX = 1_000_000;
    private static final double LOAD_MIN = 0.001;

    /** What can be made. */
    public enum Kind {
        /** Each host sends to one other, and each is sent to by one. */
        PERMUTATION("permutation"),
        /** Some hosts send to host 0 at once. */
        INCAST("incast"),
        /** Host 0 sends to some hosts at once. */
        OUTCAST("outcast"),
        /** Each host sends to each other, beginning with the next. */
        ALL_TO_ALL("all-to-all"),
        /** Any number of initiators send to host 0; beyond the hosts there are, they share them. */
        SWEEP_TARGET("sweep-target"),
        /** Messages between random hosts at random times. */
        POISSON("poisson"),
        /** Each host reads from some others at once, again and again; each answers with a write. */
        STORAGE("storage");

        private final String label;

        Kind(String label) {
            this.label = label;
        }

        /** The name in reports and on the command line. */
        @Override
        public String toString() {
            return label;
        }

        /**
         * @throws ConfigException when no kind has this name; the message lists them
         */
        public static Kind named(String name) {
            StringBuilder names = new StringBuilder();
            for (Kind kind : values()) {
                if (kind.label.equals(name)) {
                    return kind;
                }
                names.append(names.isEmpty() ? "" : ", ").append(kind.label);
            }
            throw new ConfigException("workload %s: is none of %s".formatted(name, names));
        }
    }

    /** How many flows it makes. */
    public long flows() {
        return switch (kind) {
            case PERMUTATION -> hosts;
            case INCAST, OUTCAST, SWEEP_TARGET -> fan;
            case ALL_TO_ALL -> (long) hosts * (hosts - 1);
            case POISSON -> count;
            case STORAGE -> 2L * hosts * count * fan;
        };
    }

    public static Builder builder(Kind kind) {
        return new Builder(kind);
    }

    /** Collects what differs from the kind's usual form. */
    public static final class Builder {
        private static final int UNSAID = Integer.MIN_VALUE;

        private final Kind kind;
        private SizeDistribution sizes = new SizeDistribution.Fixed(1 << 20);
        private int fan = UNSAID;
        private int count = UNSAID;
        private double load = Double.NaN;

        private Builder(Kind kind) {
            this.kind = kind;
        }

        /** All messages alike; 1 MiB unless said. */
        public Builder bytes(long bytes) {
            return sizes(new SizeDistribution.Fixed(bytes));
        }

        public Builder sizes(SizeDistribution distribution) {
            sizes = distribution;
            return this;
        }

        /** Unless said all other hosts; with storage 8 of them. */
        public Builder fan(int others) {
            fan = others;
            return this;
        }

        /** Of Poisson arrivals, unless said 10 for each host; of storage, unless said 10. */
        public Builder count(int messages) {
            count = messages;
            return this;
        }

        /** 0.001..1 of what the hosts can send; 0.5 unless said. */
        public Builder load(double share) {
            load = share;
            return this;
        }

        /**
         * @param hosts of the topology, at least 2
         * @throws ConfigException with one line that names the field, the value and the range
         */
        public WorkloadSpec build(int hosts) {
            int others = hosts - 1;
            int itsFan =
                    switch (kind) {
                        case INCAST, OUTCAST -> complete("fan", fan, others, others);
                        case SWEEP_TARGET -> complete("fan", fan, others, INITIATORS_MAX);
                        case STORAGE -> complete("fan", fan, Math.min(8, others), others);
                        case PERMUTATION, ALL_TO_ALL, POISSON -> refuse("fan", fan);
                    };
            int itsCount =
                    switch (kind) {
                        case POISSON -> complete("count", count, 10 * hosts, COUNT_MAX);
                        case STORAGE -> complete("count", count, 10, COUNT_MAX);
                        case PERMUTATION, INCAST, OUTCAST, ALL_TO_ALL, SWEEP_TARGET ->
                                refuse("count", count);
                    };
            WorkloadSpec spec =
                    new WorkloadSpec(kind, hosts, sizes, itsFan, itsCount, completeLoad());
            if (spec.flows() > FlowList.FLOWS_MAX) {
                throw new ConfigException(
                        "workload %s: %d hosts make %d flows, more than %d"
                                .formatted(kind, hosts, spec.flows(), FlowList.FLOWS_MAX));
            }
            return spec;
        }

        private int complete(String name, int said, int usual, int max) {
            int value = said == UNSAID ? usual : said;
            if (value < 1 || value > max) {
                throw new ConfigException(
                        "%s %d: workload %s takes 1..%d".formatted(name, value, kind, max));
            }
            return value;
        }

        private int refuse(String name, int said) {
            if (said != UNSAID) {
                throw new ConfigException(
                        "%s %d: workload %s has none".formatted(name, said, kind));
            }
            return 0;
        }

        private double completeLoad() {
            if (kind != Kind.POISSON) {
                if (!Double.isNaN(load)) {
                    throw new ConfigException(
                            "load %s: workload %s has none".formatted(load, kind));
                }
                return 0;
            }
            double value = Double.isNaN(load) ? 0.5 : load;
            if (value < LOAD_MIN || value > 1) {
                throw new ConfigException(
                        "load %s: workload %s takes %s..1".formatted(load, kind, LOAD_MIN));
            }
            return value;
        }
    }
}
