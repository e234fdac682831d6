package dev.metaroce.sim.topology;

import dev.metaroce.sim.ConfigException;
import dev.metaroce.sim.Quantities;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToLongFunction;

/**
 * Reads any topology from TOML:
 *
 * <pre>{@code
 * name = "two leaves"              # in reports; "file" unless said
 * node_count = 5                   # these two are optional and checked
 * link_count = 4
 * hosts = ["a", "b", "c"]
 * switches = ["leaf0", "leaf1"]    # or { name = "leaf0", plane = 1 }
 *
 * [defaults]
 * rate = "100G"
 * delay = "1us"
 *
 * [[links]]
 * a = "a"
 * b = "leaf0"
 *
 * [[links]]
 * a = "leaf0"
 * b = "leaf1"
 * rate = "400G"                    # from a to b
 * rate_back = "200G"               # from b to a, when it differs
 * delay = "2us"
 * parallel = 2                     # as many cables
 * }</pre>
 *
 * <p>Between two hosts a link may say its {@code plane}; otherwise the switch does. What is wrong
 * is told with file and line.
 */
public final class TopologyFile {
    private static final int PLANES_MAX = 64;
    private static final int PARALLEL_MAX = 1024;
    private static final int ANY_PLANE = -1;
    private static final int NO_TIER = Integer.MAX_VALUE;

    private final TomlDocument.Table root;
    private final List<TomlDocument.Table> hosts;
    private final List<TomlDocument.Table> switches;
    private final Map<String, Integer> ids = new HashMap<>();
    private final int[] planes;
    private final List<Link> links = new ArrayList<>();

    /** One entry of the list of links. */
    private record Link(
            TomlDocument.Table from,
            int a,
            int b,
            long rateAb,
            long rateBa,
            long delayPs,
            int parallel,
            int plane) {}

    private TopologyFile(String file, String text) {
        TomlDocument document = new TomlDocument(file, text);
        root =
                document.root(
                        "name",
                        "node_count",
                        "link_count",
                        "hosts",
                        "switches",
                        "defaults",
                        "links");
        hosts = root.named("hosts", "name");
        switches = root.named("switches", "name", "plane");
        planes = new int[hosts.size() + switches.size()];
    }

    /**
     * @param file its name in messages
     * @param text what is in it
     * @throws ConfigException with one line: file, line, and what is wrong
     */
    public static Topology parse(String file, String text) {
        if (text.isBlank()) {
            throw new ConfigException(file + ":1: is empty: list hosts and links");
        }
        TopologyFile read = new TopologyFile(file, text);
        read.readNodes();
        read.readLinks();
        return read.build();
    }

    private void readNodes() {
        if (hosts.size() < 2 || hosts.size() > TopologySpec.HOSTS_MAX) {
            throw root.error(
                    "hosts",
                    "lists %d hosts: a topology takes 2..%d, as hosts = [\"a\", \"b\"]"
                            .formatted(hosts.size(), TopologySpec.HOSTS_MAX));
        }
        checkCount("node_count", planes.length, "nodes");
        hosts.forEach(this::addNode);
        Arrays.fill(planes, 0, hosts.size(), ANY_PLANE);
        for (TomlDocument.Table its : switches) {
            planes[addNode(its)] = its.whole("plane", 0, 0, PLANES_MAX - 1);
        }
    }

    private int addNode(TomlDocument.Table its) {
        String name = its.neededText("name");
        int id = ids.size();
        if (ids.putIfAbsent(name, id) != null) {
            throw its.error("name", "node '%s' is listed twice".formatted(name));
        }
        return id;
    }

    private void readLinks() {
        TomlDocument.Table defaults = root.table("defaults", "rate", "delay");
        Map<List<Integer>, Link> known = new HashMap<>();
        int count = 0;
        for (TomlDocument.Table its :
                root.tables("links", "a", "b", "rate", "rate_back", "delay", "parallel", "plane")) {
            Link link = readLink(its, defaults);
            List<Integer> ends =
                    List.of(Math.min(link.a, link.b), Math.max(link.a, link.b), link.plane);
            Link first = known.putIfAbsent(ends, link);
            if (first != null) {
                throw its.error(
                        "link %s - %s is in line %d already: for several cables say parallel = 2"
                                .formatted(name(link.a), name(link.b), first.from.line()));
            }
            links.add(link);
            count += link.parallel;
        }
        checkCount("link_count", count, "links");
    }

    private Link readLink(TomlDocument.Table its, TomlDocument.Table defaults) {
        int a = node(its, "a");
        int b = node(its, "b");
        if (a == b) {
            throw its.error("b", "link %s - %s joins a node to itself".formatted(name(a), name(b)));
        }
        long rateAb = quantity(its, "rate", defaults, Quantities::bitsPerSecond);
        long rateBa =
                its.has("rate_back")
                        ? quantity(its, "rate_back", its, Quantities::bitsPerSecond)
                        : rateAb;
        long delayPs = quantity(its, "delay", defaults, Quantities::delayPs);
        int parallel = its.whole("parallel", 1, 1, PARALLEL_MAX);
        return new Link(its, a, b, rateAb, rateBa, delayPs, parallel, plane(its, a, b));
    }

    private int node(TomlDocument.Table its, String key) {
        String name = its.neededText(key);
        Integer id = ids.get(name);
        if (id == null) {
            throw its.error(key, "node '%s' is neither in hosts nor in switches".formatted(name));
        }
        return id;
    }

    private int plane(TomlDocument.Table its, int a, int b) {
        int ofSwitch = planes[a] == ANY_PLANE ? planes[b] : planes[a];
        int plane = its.whole("plane", Math.max(0, ofSwitch), 0, PLANES_MAX - 1);
        for (int node : new int[] {a, b}) {
            if (planes[node] != ANY_PLANE && planes[node] != plane) {
                throw its.error(
                        "plane",
                        "link %s - %s in plane %d: %s is in plane %d"
                                .formatted(name(a), name(b), plane, name(node), planes[node]));
            }
        }
        return plane;
    }

    private static long quantity(
            TomlDocument.Table its,
            String key,
            TomlDocument.Table otherwise,
            ToLongFunction<String> parser) {
        TomlDocument.Table sayer = its.has(key) ? its : otherwise;
        String text = sayer.text(key);
        if (text == null) {
            throw its.error("has no %s, and [defaults] has none".formatted(key));
        }
        try {
            return parser.applyAsLong(text);
        } catch (ConfigException e) {
            throw sayer.error(key, "%s %s".formatted(key, e.getMessage()));
        }
    }

    private void checkCount(String key, int count, String what) {
        int said = root.whole(key, count, 0, Integer.MAX_VALUE);
        if (said != count) {
            throw root.error(key, "%s %d: the file lists %d %s".formatted(key, said, count, what));
        }
    }

    private String name(int node) {
        return (node < hosts.size() ? hosts.get(node) : switches.get(node - hosts.size()))
                .neededText("name");
    }

    private Topology build() {
        int planeCount = 1;
        for (Link link : links) {
            planeCount = Math.max(planeCount, link.plane + 1);
        }
        checkHostsAreLinked(planeCount);
        int[] tiers = tiers();
        String name = root.has("name") ? root.neededText("name") : "file";
        Topology.Builder builder = Topology.builder(name, hosts.size(), planeCount);
        for (int node = 0; node < tiers.length; node++) {
            if (node < hosts.size()) {
                builder.hostName(node, name(node));
            } else if (tiers[node] == NO_TIER) {
                throw switches.get(node - hosts.size())
                        .error("switch '%s' has no path to a host".formatted(name(node)));
            } else {
                builder.addSwitch(name(node), tiers[node], planes[node]);
            }
        }
        for (Link link : links) {
            for (int i = 0; i < link.parallel; i++) {
                builder.addLink(link.a, link.b, link.rateAb, link.rateBa, link.delayPs, link.plane);
            }
        }
        return builder.build();
    }

    private void checkHostsAreLinked(int planeCount) {
        BitSet linked = new BitSet(hosts.size() * planeCount);
        for (Link link : links) {
            linked.set(link.a * planeCount + link.plane);
            linked.set(link.b * planeCount + link.plane);
        }
        for (int host = 0; host < hosts.size(); host++) {
            for (int plane = 0; plane < planeCount; plane++) {
                if (!linked.get(host * planeCount + plane)) {
                    String where = planeCount == 1 ? "" : " in plane " + plane;
                    throw hosts.get(host)
                            .error("host '%s' has no link%s".formatted(name(host), where));
                }
            }
        }
    }

    /** Hops from the nearest host: the switches that hosts hang on are tier 1. */
    private int[] tiers() {
        int[] tiers = new int[planes.length];
        Arrays.fill(tiers, hosts.size(), tiers.length, NO_TIER);
        boolean changed = true;
        while (changed) {
            changed = false;
            for (Link link : links) {
                changed |= lower(tiers, link.a, tiers[link.b]);
                changed |= lower(tiers, link.b, tiers[link.a]);
            }
        }
        return tiers;
    }

    private static boolean lower(int[] tiers, int node, int neighbour) {
        if (neighbour == NO_TIER || tiers[node] <= neighbour + 1) {
            return false;
        }
        tiers[node] = neighbour + 1;
        return true;
    }
}
