package dev.metaroce.sim.topology;

import static dev.metaroce.sim.Quantities.RATE_MAX_BITS_PER_SECOND;

import dev.metaroce.sim.ConfigException;
import dev.metaroce.sim.Quantities;

/**
 * What {@link Topologies} is to build, complete and checked. Made by {@link #builder}, which fills
 * in what was not said; a count that the kind does not have is 0.
 *
 * @param hosts nodes that send and receive
 * @param hostRateBitsPerSecond of each port of a host
 * @param linkRateBitsPerSecond of each link between switches
 * @param delayPs of each link
 * @param switches of a ring
 * @param leaves of a leaf-spine
 * @param spines of a leaf-spine
 * @param parallel links between two linked switches, or between the two hosts of a pair
 * @param planes copies of all switches; each host has a port in each
 */
public record TopologySpec(
        Kind kind,
        int hosts,
        long hostRateBitsPerSecond,
        long linkRateBitsPerSecond,
        long delayPs,
        int switches,
        int leaves,
        int spines,
        int parallel,
        int planes) {
    public static final int HOSTS_MAX = 200_000;
    private static final int NIC_PORTS_MAX = 2_000_000;
    private static final int SWITCHES_MAX = 10_000;
    private static final int PARALLEL_MAX = 64;
    private static final int PLANES_MAX = 64;

    /** The shapes that can be built. */
    public enum Kind {
        /** Two hosts and a cable. */
        PAIR("pair", 2),
        /** Hosts around one switch. */
        STAR("star", 8),
        /** Two switches with half of the hosts each, joined by a link that is the bottleneck. */
        DUMBBELL("dumbbell", 8),
        /** Switches in a ring, each with its share of the hosts. */
        RING("ring", 8),
        /** Leaves with their hosts; each leaf is joined to each spine. */
        LEAF_SPINE("leaf-spine", 64),
        /** Three tiers of switches with full bisection. */
        FAT_TREE("fat-tree", 128);

        private final String label;
        private final int hosts;

        Kind(String label, int hosts) {
            this.label = label;
            this.hosts = hosts;
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
            throw new ConfigException("topology %s: is none of %s".formatted(name, names));
        }
    }

    public static Builder builder(Kind kind) {
        return new Builder(kind);
    }

    /** Collects what differs from the kind's usual form: 100 Gb/s, 1 us, one plane. */
    public static final class Builder {
        private static final int UNSAID = Integer.MIN_VALUE;

        private final Kind kind;
        private int hosts;
        private long hostRateBitsPerSecond = 100_000_000_000L;
        private long linkRateBitsPerSecond = UNSAID;
        private long delayPs = 1_000_000;
        private int switches = UNSAID;
        private int leaves = UNSAID;
        private int spines = UNSAID;
        private int parallel = UNSAID;
        private int planes = 1;

        private Builder(Kind kind) {
            this.kind = kind;
            hosts = kind.hosts;
        }

        public Builder hosts(int count) {
            hosts = count;
            return this;
        }

        /** 1 b/s..1.6 Tb/s. */
        public Builder hostRate(long bitsPerSecond) {
            hostRateBitsPerSecond = bitsPerSecond;
            return this;
        }

        /** 1 b/s..1.6 Tb/s; unless said the rate of the hosts. */
        public Builder linkRate(long bitsPerSecond) {
            linkRateBitsPerSecond = bitsPerSecond;
            return this;
        }

        /** 0..1000 s. */
        public Builder delayPs(long picoseconds) {
            delayPs = picoseconds;
            return this;
        }

        /** Switches of a ring, at least 3; unless said as many as hosts, but 3..8. */
        public Builder switches(int count) {
            switches = count;
            return this;
        }

        /** Leaves; unless said as many as give each about as many hosts as there are leaves. */
        public Builder leaves(int count) {
            leaves = count;
            return this;
        }

        /** Spines; unless said as many as a leaf has hosts. */
        public Builder spines(int count) {
            spines = count;
            return this;
        }

        /** Links between two linked switches, or between the hosts of a pair; unless said 1. */
        public Builder parallel(int links) {
            parallel = links;
            return this;
        }

        public Builder planes(int count) {
            planes = count;
            return this;
        }

        /**
         * @throws ConfigException with one line that names the field, the value and the range
         */
        public TopologySpec build() {
            boolean isLeafSpine = kind == Kind.LEAF_SPINE;
            boolean hasLinks = kind != Kind.PAIR && kind != Kind.STAR;
            check("hosts", hosts, 2, kind == Kind.PAIR ? 2 : HOSTS_MAX);
            check("host-rate", hostRateBitsPerSecond, 1, RATE_MAX_BITS_PER_SECOND);
            check("link-delay", delayPs, 0, Quantities.DELAY_MAX_PS);
            check("planes", planes, 1, Math.min(PLANES_MAX, NIC_PORTS_MAX / hosts));
            long rateMax = RATE_MAX_BITS_PER_SECOND;
            long usualRate = hostRateBitsPerSecond;
            long linkRate =
                    complete("link-rate", linkRateBitsPerSecond, hasLinks, usualRate, 1, rateMax);
            int usualSwitches = Math.clamp(hosts, 3, 8);
            boolean isRing = kind == Kind.RING;
            int itsSwitches = count("switches", switches, isRing, usualSwitches, 3, SWITCHES_MAX);
            int usualLeaves = (int) Math.round(Math.sqrt(hosts));
            int itsLeaves = count("leaves", leaves, isLeafSpine, usualLeaves, 1, SWITCHES_MAX);
            int usualSpines = Math.ceilDiv(hosts, Math.max(1, itsLeaves));
            int itsSpines = count("spines", spines, isLeafSpine, usualSpines, 1, SWITCHES_MAX);
            boolean hasParallel = kind != Kind.STAR;
            int itsParallel = count("parallel", parallel, hasParallel, 1, 1, PARALLEL_MAX);
            return new TopologySpec(
                    kind,
                    hosts,
                    hostRateBitsPerSecond,
                    linkRate,
                    delayPs,
                    itsSwitches,
                    itsLeaves,
                    itsSpines,
                    itsParallel,
                    planes);
        }

        private int count(String name, int said, boolean has, int usual, int min, int max) {
            return (int) complete(name, said, has, usual, min, max);
        }

        private long complete(String name, long said, boolean has, long usual, long min, long max) {
            if (!has) {
                if (said != UNSAID) {
                    throw new ConfigException("%s %d: a %s has none".formatted(name, said, kind));
                }
                return 0;
            }
            long value = said == UNSAID ? usual : said;
            check(name, value, min, max);
            return value;
        }

        private void check(String name, long value, long min, long max) {
            if (value < min || value > max) {
                throw new ConfigException(
                        "%s %d: a %s takes %d..%d".formatted(name, value, kind, min, max));
            }
        }
    }
}
