package dev.metaroce.sim.topology;

import java.util.Arrays;

/**
 * The equal-cost shortest paths, in hops, of a topology within each of its planes; immutable. A
 * <i>port</i> is one direction of a link and belongs to the node that sends there: port {@code 2 *
 * link} goes from A to B, {@code 2 * link + 1} from B to A. A host forwards nothing for others.
 *
 * <p>Hosts that hang on the same switches share their routes: there is one row per such group and
 * not one per host, so that 100,000 hosts fit.
 */
public final class Routes {
    static final int[] NONE = {};

    /** From here up the codes of a row stand for the switches of the group itself. */
    static final int ATTACHED_MIN = 0xFF00;

    static final char ATTACHED_MAX = 0xFFFF;

    private final int hosts;
    private final int[] targets;
    private final int[][] ports;
    private final HostGroups groups;

    /** By plane: the switch that the rows of its groups begin with. */
    private final int[] firstSwitches;

    /**
     * By group, by switch less the first: which of the switch's {@link #sets} leads to the group,
     * or {@link #ATTACHED_MAX} - p at the group's own switch p.
     */
    private final char[][] rows;

    /** By switch less the hosts: its distinct sets of next ports; the first is empty. */
    private final int[][][] sets;

    private Routes(Topology topology) {
        hosts = topology.hosts();
        targets = new int[2 * topology.links()];
        ports = portsByNode(topology, targets);
        groups = new HostGroups(topology, ports, targets);
        RouteFinder finder = new RouteFinder(topology, ports, targets, groups);
        finder.run();
        firstSwitches = finder.firstSwitches();
        rows = finder.rows();
        sets = finder.sets();
    }

    /** Finds all of them; takes 80 MB for 100,000 hosts in a fat tree. */
    public static Routes of(Topology topology) {
        return new Routes(topology);
    }

    private static int[][] portsByNode(Topology topology, int[] targets) {
        int[] counts = new int[topology.nodes()];
        for (int link = 0; link < topology.links(); link++) {
            targets[2 * link] = topology.linkB(link);
            targets[2 * link + 1] = topology.linkA(link);
            counts[topology.linkA(link)]++;
            counts[topology.linkB(link)]++;
        }
        int[][] ports = new int[topology.nodes()][];
        for (int node = 0; node < ports.length; node++) {
            ports[node] = counts[node] == 0 ? NONE : new int[counts[node]];
        }
        Arrays.fill(counts, 0);
        for (int port = 0; port < targets.length; port++) {
            int owner = targets[port ^ 1];
            ports[owner][counts[owner]++] = port;
        }
        return ports;
    }

    /** All ports of a node in the order of their links. Shared; not to be modified. */
    public int[] ports(int node) {
        return ports[node];
    }

    /** The node that a port sends to. */
    public int target(int port) {
        return targets[port];
    }

    /** The node that a port belongs to. */
    public int owner(int port) {
        return targets[port ^ 1];
    }

    /**
     * The ports on which a shortest path goes on from a node to a host, in the order of their
     * links. Empty when there is none, and at the destination itself. Shared; not to be modified.
     *
     * @param node a host, or a switch of the plane
     */
    public int[] nextPorts(int node, int destinationHost, int plane) {
        if (node < hosts) {
            return nextPortsOfHost(node, destinationHost, plane);
        }
        int at = plane * hosts + destinationHost;
        int group = groups.group(at);
        if (group < 0) {
            return NONE;
        }
        int code = rows[group][node - firstSwitches[plane]];
        return code >= ATTACHED_MIN
                ? groups.lastHop(at, ATTACHED_MAX - code)
                : sets[node - hosts][code];
    }

    /** True when some plane leads from one host to another. */
    public boolean reaches(int sourceHost, int destinationHost) {
        for (int plane = 0; plane < firstSwitches.length; plane++) {
            if (nextPortsOfHost(sourceHost, destinationHost, plane).length > 0) {
                return true;
            }
        }
        return false;
    }

    private int[] nextPortsOfHost(int source, int destination, int plane) {
        int at = plane * hosts + source;
        int[] direct = groups.portsToHost(at, destination);
        if (direct.length > 0) {
            return direct;
        }
        int from = groups.group(at);
        int to = groups.group(plane * hosts + destination);
        if (from < 0 || to < 0 || source == destination) {
            return NONE;
        }
        if (groups.hasChoice(from)) {
            return groups.uplinks(at, groups.choice(from, to, plane));
        }
        int code = rows[to][groups.switches(from)[0] - firstSwitches[plane]];
        return groups.uplinks(at, code == 0 ? 0 : 1);
    }
}
