package dev.metaroce.sim.fabric;

import dev.metaroce.sim.topology.Routes;
import dev.metaroce.sim.topology.Topology;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * How flows spread over equal ways when switches choose by hash. Nothing is sent: each flow is
 * followed from switch to switch, and counted wherever there was a choice.
 */
public final class EcmpCensus {
    /** A share off by more than this part of the equal share is uneven: 45..55 % of two ways. */
    private static final double UNEVEN = 0.1;

    /** Chance is ruled out as the cause of what is so many sigma off. */
    private static final double SIGMAS = 4;

    private record Choice(int node, int firstWay, int ways) {}

    /** Flows by way of one switch's equal ways. */
    public static final class Group {
        private final int node;
        private final int tier;
        private final long[] flows;

        Group(int node, int tier, long... flows) {
            this.node = node;
            this.tier = tier;
            this.flows = flows.clone();
        }

        /** The switch. */
        public int node() {
            return node;
        }

        public int tier() {
            return tier;
        }

        public int ways() {
            return flows.length;
        }

        public long flows(int way) {
            return flows[way];
        }

        public long total() {
            long sum = 0;
            for (long n : flows) {
                sum += n;
            }
            return sum;
        }

        /** Part of the flows that take a way, 0 to 1. */
        public double share(int way) {
            return (double) flows[way] / total();
        }

        /** True when the ways carry unequal parts, and not by chance. */
        public boolean isSkewed() {
            double equal = (double) total() / flows.length;
            double square = 0;
            double most = 0;
            for (long n : flows) {
                double off = n - equal;
                square += off * off / equal;
                most = Math.max(most, Math.abs(off) / equal);
            }
            return most > UNEVEN && square > chiSquareLimit(flows.length - 1);
        }

        /** Wilson and Hilferty's approximation. */
        private static double chiSquareLimit(int degrees) {
            double v = 2.0 / (9 * degrees);
            double root = 1 - v + SIGMAS * Math.sqrt(v);
            return degrees * root * root * root;
        }
    }

    private final Fabric fabric;
    private final Topology topology;
    private final Routes routes;
    private final Map<Choice, Group> groups = new LinkedHashMap<>();

    EcmpCensus(Fabric fabric, Topology topology, Routes routes) {
        this.fabric = fabric;
        this.topology = topology;
        this.routes = routes;
    }

    /** Follows a flow that leaves its host at a port. */
    public void add(int port, int destination, int flowHash) {
        int node = routes.target(port);
        while (!topology.isHost(node)) {
            int[] ways = routes.nextPorts(node, destination, topology.planeOfSwitch(node));
            int way = fabric.hashedWay(node, destination, flowHash);
            if (way == Port.NONE) {
                return;
            }
            if (ways.length > 1) {
                count(node, ways, way);
            }
            node = routes.target(way);
        }
    }

    private void count(int node, int[] ways, int way) {
        Group group =
                groups.computeIfAbsent(
                        new Choice(node, ways[0], ways.length),
                        c -> new Group(node, topology.tier(node), new long[c.ways()]));
        for (int i = 0; i < ways.length; i++) {
            group.flows[i] += ways[i] == way ? 1 : 0;
        }
    }

    /** All sets of equal ways that some flow had the choice of. */
    public List<Group> groups() {
        return List.copyOf(groups.values());
    }

    /** One line for each tier of switches where equal ways carry unequal parts. */
    public List<String> warnings() {
        List<String> warnings = new ArrayList<>();
        int tiers = groups.values().stream().mapToInt(Group::tier).max().orElse(0);
        for (int tier = 1; tier <= tiers; tier++) {
            int at = tier;
            List<Group> stage = groups.values().stream().filter(g -> g.tier() == at).toList();
            List<Group> skewed = stage.stream().filter(Group::isSkewed).toList();
            if (!skewed.isEmpty()) {
                warnings.add(warning(tier, stage.size(), skewed));
            }
        }
        return warnings;
    }

    private String warning(int tier, int choices, List<Group> skewed) {
        Group worst = skewed.getFirst();
        double most = 0;
        for (Group group : skewed) {
            for (int way = 0; way < group.ways(); way++) {
                double times = group.share(way) * group.ways();
                if (times > most) {
                    most = times;
                    worst = group;
                }
            }
        }
        return ("hash polarisation at tier %d: %d of %d sets of equal ways are uneven; %s sends"
                        + " %.0f %% of %d flows one of %d ways")
                .formatted(
                        tier,
                        skewed.size(),
                        choices,
                        topology.name(worst.node()),
                        100 * most / worst.ways(),
                        worst.total(),
                        worst.ways());
    }
}
