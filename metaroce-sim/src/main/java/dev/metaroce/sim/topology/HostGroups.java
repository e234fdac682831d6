package dev.metaroce.sim.topology;

import dev.metaroce.sim.ConfigException;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * The hosts of a plane, grouped by the switches that they hang on, and the ports between a host and
 * its neighbours. {@code at} is {@code plane * hosts + host} throughout.
 */
final class HostGroups {
    /** Switches of one host in one plane: as many as a mask has bits. */
    static final int SWITCHES_MAX = 64;

    private static final int[][] NO_SETS = {};

    private final int hosts;
    private final int[][] ports;
    private final int[] targets;
    private final Topology topology;
    private final int[] groupOf;
    private final int[][][] lastHops;
    private final int[][][] uplinks;
    private final int[][] directHosts;
    private final int[][][] directPorts;

    /** By group: its switches in order of their ids. */
    private final List<int[]> switches = new ArrayList<>();

    /** By plane: the first of its groups; one more at the end. */
    private final int[] firstGroups;

    /** By group of several switches: the distinct choices among them, as masks. */
    private final long[][] masks;

    /** By group of several switches, by group of destination less the plane's first. */
    private final char[][] choices;

    /** By plane: the groups of several switches. */
    private final int[][] choosers;

    HostGroups(Topology topology, int[][] ports, int[] targets) {
        this.topology = topology;
        this.ports = ports;
        this.targets = targets;
        hosts = topology.hosts();
        int places = topology.planes() * hosts;
        groupOf = new int[places];
        lastHops = new int[places][][];
        uplinks = new int[places][][];
        directHosts = new int[places][];
        directPorts = new int[places][][];
        firstGroups = new int[topology.planes() + 1];
        for (int plane = 0; plane < topology.planes(); plane++) {
            firstGroups[plane] = switches.size();
            Map<List<Integer>, Integer> known = new HashMap<>();
            for (int host = 0; host < hosts; host++) {
                place(plane, host, known);
            }
        }
        firstGroups[topology.planes()] = switches.size();
        masks = new long[groups()][0];
        choices = new char[groups()][];
        choosers = new int[topology.planes()][];
        for (int plane = 0; plane < topology.planes(); plane++) {
            int first = firstGroups[plane];
            int end = firstGroups[plane + 1];
            choosers[plane] = IntStream.range(first, end).filter(this::hasChoice).toArray();
            for (int group : choosers[plane]) {
                choices[group] = new char[end - first];
            }
        }
    }

    private void place(int plane, int host, Map<List<Integer>, Integer> known) {
        int at = plane * hosts + host;
        int[] mine =
                Arrays.stream(ports[host]).filter(p -> topology.plane(p >> 1) == plane).toArray();
        int[] neighbours = Arrays.stream(mine).map(p -> targets[p]).sorted().distinct().toArray();
        int[] near = Arrays.stream(neighbours).filter(topology::isHost).toArray();
        directHosts[at] = near.length == 0 ? Routes.NONE : near;
        directPorts[at] = near.length == 0 ? NO_SETS : portsTowards(mine, near);
        int[] above = Arrays.copyOfRange(neighbours, near.length, neighbours.length);
        if (above.length == 0) {
            groupOf[at] = -1;
            lastHops[at] = NO_SETS;
            uplinks[at] = NO_SETS;
            return;
        }
        if (above.length > SWITCHES_MAX) {
            throw new ConfigException(
                    "host %s: hangs on %d switches of one plane: at most %d"
                            .formatted(topology.name(host), above.length, SWITCHES_MAX));
        }
        int[][] up = portsTowards(mine, above);
        lastHops[at] = new int[above.length][];
        for (int i = 0; i < above.length; i++) {
            lastHops[at][i] = Arrays.stream(up[i]).map(p -> p ^ 1).toArray();
        }
        uplinks[at] = above.length == 1 ? new int[][] {Routes.NONE, up[0]} : up;
        List<Integer> key = Arrays.stream(above).boxed().toList();
        int next = switches.size();
        groupOf[at] = known.computeIfAbsent(key, k -> next);
        if (groupOf[at] == next) {
            switches.add(above);
        }
    }

    private int[][] portsTowards(int[] mine, int[] neighbours) {
        int[][] towards = new int[neighbours.length][];
        for (int i = 0; i < neighbours.length; i++) {
            int neighbour = neighbours[i];
            towards[i] = Arrays.stream(mine).filter(p -> targets[p] == neighbour).toArray();
        }
        return towards;
    }

    int groups() {
        return switches.size();
    }

    int firstGroup(int plane) {
        return firstGroups[plane];
    }

    int[] switches(int group) {
        return switches.get(group);
    }

    /** The group of a host in a plane; negative when no switch of the plane reaches it. */
    int group(int at) {
        return groupOf[at];
    }

    /** The ports from the group's switch at {@code place} down to the host. */
    int[] lastHop(int at, int place) {
        return lastHops[at][place];
    }

    /** The ports of a host to a host that it is linked with; empty when it is not. */
    int[] portsToHost(int at, int host) {
        int found = Arrays.binarySearch(directHosts[at], host);
        return found < 0 ? Routes.NONE : directPorts[at][found];
    }

    int[] uplinks(int at, int choice) {
        return uplinks[at][choice];
    }

    boolean hasChoice(int group) {
        return switches.get(group).length > 1;
    }

    /** Which of the {@link #uplinks} of a group of several switches lead to another group. */
    int choice(int from, int to, int plane) {
        return choices[from][to - firstGroups[plane]];
    }

    /**
     * Notes for each group of several switches which of them are nearest to a group.
     *
     * @param distances hops by switch less the plane's first switch; negative when there is no way
     */
    void choose(int plane, int to, int[] distances, int firstSwitch) {
        for (int from : choosers[plane]) {
            long nearest = 0;
            int best = Integer.MAX_VALUE;
            int[] own = switches.get(from);
            for (int i = 0; i < own.length; i++) {
                int distance = distances[own[i] - firstSwitch];
                if (distance >= 0 && distance <= best) {
                    nearest = (distance < best ? 0 : nearest) | 1L << i;
                    best = distance;
                }
            }
            choices[from][to - firstGroups[plane]] = (char) code(from, nearest);
        }
    }

    private int code(int group, long mask) {
        long[] known = masks[group];
        for (int i = 0; i < known.length; i++) {
            if (known[i] == mask) {
                return i;
            }
        }
        masks[group] = Arrays.copyOf(known, known.length + 1);
        masks[group][known.length] = mask;
        return known.length;
    }

    /** Turns the uplinks of each host with a choice from ports by switch into ports by choice. */
    void finish() {
        for (int at = 0; at < uplinks.length; at++) {
            if (groupOf[at] >= 0 && hasChoice(groupOf[at])) {
                long[] known = masks[groupOf[at]];
                int[][] bySwitch = uplinks[at];
                uplinks[at] = new int[known.length][];
                for (int i = 0; i < known.length; i++) {
                    uplinks[at][i] = union(bySwitch, known[i]);
                }
            }
        }
    }

    private static int[] union(int[][] bySwitch, long mask) {
        return IntStream.range(0, bySwitch.length)
                .filter(i -> (mask >>> i & 1) != 0)
                .flatMap(i -> Arrays.stream(bySwitch[i]))
                .sorted()
                .toArray();
    }
}
