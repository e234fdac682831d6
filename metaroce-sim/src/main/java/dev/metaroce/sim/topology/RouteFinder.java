package dev.metaroce.sim.topology;

import dev.metaroce.sim.ConfigException;

import java.nio.IntBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Fills the rows of {@link Routes}: a breadth-first search from each group of hosts over the
 * switches of its plane, and at each switch the ports to neighbours one hop nearer. Edge switches
 * of one pod, or all leaves, have the same neighbours; one search does for all of them.
 */
final class RouteFinder {
    private final int hosts;
    private final HostGroups groups;
    private final int[] firstSwitches;
    private final char[][] rows;
    private final int[][][] sets;

    /** By switch less the hosts: its ports to switches, and the switches there less the hosts. */
    private final int[][] ports;

    private final int[][] neighbours;

    private final int[] planeEnds;
    private final int[] distances;
    private final int[] queue;

    /** By switch: how many sets it has, and the one found last, which is often wanted again. */
    private final int[] setCounts;

    private final int[] lastCodes;
    private final int[] found;
    private final Map<IntBuffer, Integer> known = new HashMap<>();

    RouteFinder(Topology topology, int[][] allPorts, int[] targets, HostGroups groups) {
        this.groups = groups;
        hosts = topology.hosts();
        firstSwitches = new int[topology.planes()];
        planeEnds = new int[topology.planes()];
        rows = new char[groups.groups()][];
        sets = new int[topology.switches()][][];
        ports = new int[topology.switches()][];
        neighbours = new int[topology.switches()][];
        Arrays.fill(firstSwitches, topology.nodes());
        for (int i = 0; i < ports.length; i++) {
            int node = hosts + i;
            ports[i] = Arrays.stream(allPorts[node]).filter(p -> targets[p] >= hosts).toArray();
            neighbours[i] = Arrays.stream(ports[i]).map(p -> targets[p] - hosts).toArray();
            int plane = topology.planeOfSwitch(node);
            firstSwitches[plane] = Math.min(firstSwitches[plane], node);
            planeEnds[plane] = node + 1;
            sets[i] = new int[][] {Routes.NONE};
        }
        distances = new int[ports.length];
        queue = new int[ports.length];
        setCounts = new int[ports.length];
        lastCodes = new int[ports.length];
        Arrays.fill(setCounts, 1);
        found = new int[Arrays.stream(ports).mapToInt(p -> p.length).max().orElse(0)];
    }

    void run() {
        for (int plane = 0; plane < firstSwitches.length; plane++) {
            for (List<Integer> twins : twins(plane)) {
                search(plane, twins.getFirst());
                for (int i = 1; i < twins.size(); i++) {
                    follow(plane, twins.get(i - 1), twins.get(i));
                }
            }
        }
        groups.finish();
        for (int i = 0; i < sets.length; i++) {
            sets[i] = Arrays.copyOf(sets[i], setCounts[i]);
        }
    }

    /** The groups of a plane; together those of one switch each that have the same neighbours. */
    private Collection<List<Integer>> twins(int plane) {
        Map<IntBuffer, List<Integer>> twins = new LinkedHashMap<>();
        for (int group = groups.firstGroup(plane); group < groups.firstGroup(plane + 1); group++) {
            int[] own = groups.switches(group);
            int[] likeness =
                    own.length == 1
                            ? Arrays.stream(neighbours[own[0] - hosts])
                                    .sorted()
                                    .distinct()
                                    .toArray()
                            : new int[] {-1, group};
            twins.computeIfAbsent(IntBuffer.wrap(likeness), _ -> new ArrayList<>()).add(group);
        }
        return twins.values();
    }

    private void search(int plane, int group) {
        int first = firstSwitches[plane] - hosts;
        int end = planeEnds[plane] - hosts;
        char[] row = new char[end - first];
        Arrays.fill(distances, first, end, -1);
        int[] own = groups.switches(group);
        int queued = 0;
        for (int i = 0; i < own.length; i++) {
            int at = own[i] - hosts;
            distances[at] = 0;
            row[at - first] = (char) (Routes.ATTACHED_MAX - i);
            queue[queued++] = at;
        }
        for (int i = 0; i < queued; i++) {
            int at = queue[i];
            int next = distances[at] + 1;
            for (int neighbour : neighbours[at]) {
                if (distances[neighbour] < 0) {
                    distances[neighbour] = next;
                    queue[queued++] = neighbour;
                }
            }
        }
        for (int i = own.length; i < queued; i++) {
            row[queue[i] - first] = (char) code(queue[i]);
        }
        rows[group] = row;
        groups.choose(plane, group, distances, hosts);
    }

    /**
     * Spares the search for a twin of the group before: the ways there are the same, but at both
     * switches and at the neighbours that they share.
     */
    private void follow(int plane, int before, int group) {
        int first = firstSwitches[plane] - hosts;
        int at = groups.switches(group)[0] - hosts;
        int twin = groups.switches(before)[0] - hosts;
        distances[at] = 0;
        distances[twin] = neighbours[at].length == 0 ? -1 : 2;
        char[] row = rows[before].clone();
        row[at - first] = Routes.ATTACHED_MAX;
        row[twin - first] = (char) code(twin);
        for (int neighbour : neighbours[at]) {
            row[neighbour - first] = (char) code(neighbour);
        }
        rows[group] = row;
        groups.choose(plane, group, distances, hosts);
    }

    /** The set of ports of a switch to neighbours that are one hop nearer than it. */
    private int code(int at) {
        int nearer = distances[at] - 1;
        int[] itsPorts = ports[at];
        int[] itsNeighbours = neighbours[at];
        int length = 0;
        for (int i = 0; i < itsNeighbours.length; i++) {
            if (distances[itsNeighbours[i]] == nearer) {
                found[length++] = itsPorts[i];
            }
        }
        int last = lastCodes[at];
        int[] latest = sets[at][last];
        if (!Arrays.equals(latest, 0, latest.length, found, 0, length)) {
            lastCodes[at] = codeOfNewSet(at, Arrays.copyOf(found, length));
        }
        return lastCodes[at];
    }

    private int codeOfNewSet(int at, int[] set) {
        int next = setCounts[at];
        int code = known.computeIfAbsent(IntBuffer.wrap(set), _ -> next);
        if (code == next) {
            if (next == Routes.ATTACHED_MIN) {
                throw new ConfigException(
                        "switch %d: has more than %d sets of equal-cost ports"
                                .formatted(hosts + at, Routes.ATTACHED_MIN));
            }
            if (next == sets[at].length) {
                sets[at] = Arrays.copyOf(sets[at], 2 * next);
            }
            sets[at][next] = set;
            setCounts[at]++;
        }
        return code;
    }

    int[] firstSwitches() {
        return firstSwitches;
    }

    char[][] rows() {
        return rows;
    }

    int[][][] sets() {
        return sets;
    }
}
