package dev.metaroce.sim.topology;

import dev.metaroce.sim.ConfigException;
import dev.metaroce.util.Invariant;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Hosts, switches and the cables between them; immutable. Hosts are the nodes 0..hosts-1, switches
 * hosts..nodes-1. A <i>link</i> is a cable between two nodes A and B with a rate for each
 * direction; two links between the same nodes are two cables. A switch belongs to one plane, a host
 * to all of them, and a link to the plane of the switches at its ends.
 */
public final class Topology {
    private final String kind;
    private final int hosts;
    private final int planes;
    private final String[] names;
    private final int[] tiers;
    private final int[] switchPlanes;
    private final int[] linkA;
    private final int[] linkB;
    private final long[] ratesAb;
    private final long[] ratesBa;
    private final long[] delaysPs;
    private final int[] linkPlanes;

    private Topology(Builder from) {
        kind = from.kind;
        hosts = from.hosts;
        planes = from.planes;
        names = from.names.toArray(String[]::new);
        tiers = Arrays.copyOf(from.tiers, names.length - hosts);
        switchPlanes = Arrays.copyOf(from.switchPlanes, tiers.length);
        linkA = Arrays.copyOf(from.linkA, from.links);
        linkB = Arrays.copyOf(from.linkB, from.links);
        ratesAb = Arrays.copyOf(from.ratesAb, from.links);
        ratesBa = Arrays.copyOf(from.ratesBa, from.links);
        delaysPs = Arrays.copyOf(from.delaysPs, from.links);
        linkPlanes = Arrays.copyOf(from.linkPlanes, from.links);
    }

    /** What it is called in reports, for example {@code fat-tree}. */
    public String kind() {
        return kind;
    }

    public int hosts() {
        return hosts;
    }

    public int switches() {
        return names.length - hosts;
    }

    public int nodes() {
        return names.length;
    }

    /** At least 1. */
    public int planes() {
        return planes;
    }

    public boolean isHost(int node) {
        return node < hosts;
    }

    /** {@code h12} for a host of no other name. */
    public String name(int node) {
        return names[node];
    }

    /** 0 for a host, 1 for a switch that hosts hang on, 2 and more above it. */
    public int tier(int node) {
        return isHost(node) ? 0 : tiers[node - hosts];
    }

    /** The plane that a switch belongs to. */
    public int planeOfSwitch(int node) {
        return switchPlanes[node - hosts];
    }

    public int links() {
        return linkA.length;
    }

    public int linkA(int link) {
        return linkA[link];
    }

    public int linkB(int link) {
        return linkB[link];
    }

    public long rateAbBitsPerSecond(int link) {
        return ratesAb[link];
    }

    public long rateBaBitsPerSecond(int link) {
        return ratesBa[link];
    }

    /** Propagation in picoseconds, the same in both directions. */
    public long delayPs(int link) {
        return delaysPs[link];
    }

    public int plane(int link) {
        return linkPlanes[link];
    }

    /**
     * Puts a topology together: first switches, then links. Links keep the order in which they were
     * added.
     */
    public static final class Builder {
        private static final int INITIAL_LINKS = 64;
        private static final int LINKS_MAX = 4_000_000;

        private final String kind;
        private final int hosts;
        private final int planes;
        private final List<String> names = new ArrayList<>();
        private int[] tiers = new int[INITIAL_LINKS];
        private int[] switchPlanes = new int[INITIAL_LINKS];
        private int[] linkA = new int[INITIAL_LINKS];
        private int[] linkB = new int[INITIAL_LINKS];
        private long[] ratesAb = new long[INITIAL_LINKS];
        private long[] ratesBa = new long[INITIAL_LINKS];
        private long[] delaysPs = new long[INITIAL_LINKS];
        private int[] linkPlanes = new int[INITIAL_LINKS];
        private int links;

        private Builder(String kind, int hosts, int planes) {
            Invariant.check(hosts >= 1, "a topology has hosts", hosts, 1);
            Invariant.check(planes >= 1, "a topology has a plane", planes, 1);
            this.kind = kind;
            this.hosts = hosts;
            this.planes = planes;
            for (int host = 0; host < hosts; host++) {
                names.add("h" + host);
            }
        }

        public Builder hostName(int host, String name) {
            Invariant.check(host >= 0 && host < hosts, "the host exists", host, hosts);
            names.set(host, name);
            return this;
        }

        /**
         * Adds a switch and gives its node id.
         *
         * @param tier at least 1
         */
        public int addSwitch(String name, int tier, int plane) {
            Invariant.check(tier >= 1, "a switch is above the hosts", tier, 1);
            checkPlane(plane);
            int index = names.size() - hosts;
            if (index == tiers.length) {
                tiers = Arrays.copyOf(tiers, index * 2);
                switchPlanes = Arrays.copyOf(switchPlanes, index * 2);
            }
            tiers[index] = tier;
            switchPlanes[index] = plane;
            names.add(name);
            return hosts + index;
        }

        /** Adds a link that is as fast in both directions and gives its number. */
        public int addLink(int a, int b, long rateBitsPerSecond, long delayPs, int plane) {
            return addLink(a, b, rateBitsPerSecond, rateBitsPerSecond, delayPs, plane);
        }

        /**
         * Adds a link and gives its number.
         *
         * @param rateAb bits per second from A to B, at least 1; rateBa likewise
         * @throws ConfigException when there are too many links to simulate
         */
        public int addLink(int a, int b, long rateAb, long rateBa, long delayPs, int plane) {
            Invariant.check(isNode(a) && isNode(b) && a != b, "a link joins two nodes", a, b);
            Invariant.check(rateAb > 0 && rateBa > 0, "a link has a rate", rateAb, rateBa);
            Invariant.check(delayPs >= 0, "a delay is not negative", delayPs, 0);
            checkPlane(plane);
            checkEnd(a, plane);
            checkEnd(b, plane);
            if (links == LINKS_MAX) {
                throw new ConfigException(
                        "topology %s: has more than %d links".formatted(kind, LINKS_MAX));
            }
            if (links == linkA.length) {
                growLinks();
            }
            linkA[links] = a;
            linkB[links] = b;
            ratesAb[links] = rateAb;
            ratesBa[links] = rateBa;
            delaysPs[links] = delayPs;
            linkPlanes[links] = plane;
            return links++;
        }

        private void growLinks() {
            int capacity = links * 2;
            linkA = Arrays.copyOf(linkA, capacity);
            linkB = Arrays.copyOf(linkB, capacity);
            ratesAb = Arrays.copyOf(ratesAb, capacity);
            ratesBa = Arrays.copyOf(ratesBa, capacity);
            delaysPs = Arrays.copyOf(delaysPs, capacity);
            linkPlanes = Arrays.copyOf(linkPlanes, capacity);
        }

        private boolean isNode(int node) {
            return node >= 0 && node < names.size();
        }

        private void checkPlane(int plane) {
            Invariant.check(plane >= 0 && plane < planes, "the plane exists", plane, planes);
        }

        private void checkEnd(int node, int plane) {
            Invariant.check(
                    node < hosts || switchPlanes[node - hosts] == plane,
                    "a link is in the plane of its switches",
                    node,
                    plane);
        }

        public Topology build() {
            return new Topology(this);
        }
    }

    public static Builder builder(String kind, int hosts, int planes) {
        return new Builder(kind, hosts, planes);
    }
}
