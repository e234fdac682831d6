package dev.metaroce.sim.fabric;

import dev.metaroce.sim.topology.Routes;
import dev.metaroce.sim.topology.Topology;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * Finds ports that wait for each other in a circle: each is stopped, and the switch at its far end
 * holds what it sent for the next of them. Looks only when a port has been stopped for long.
 */
final class DeadlockFinder {
    private final Topology topology;
    private final Routes routes;
    private final Port[] ports;
    private final Packets packets;
    private final Set<String> found = new LinkedHashSet<>();

    DeadlockFinder(Topology topology, Routes routes, Port[] ports, Packets packets) {
        this.topology = topology;
        this.routes = routes;
        this.ports = ports;
        this.packets = packets;
    }

    /** All circles found so far, each as {@code a->b->c->a}. */
    List<String> found() {
        return List.copyOf(found);
    }

    /** Follows what a port waits for, over ports stopped since a time or longer. */
    void look(Port from, int trafficClass, long sincePs) {
        follow(from, trafficClass, sincePs, new ArrayList<>(), new HashSet<>());
    }

    private void follow(
            Port at, int trafficClass, long sincePs, List<Port> way, Set<Integer> seen) {
        int start = way.indexOf(at);
        if (start >= 0) {
            found.add(name(way.subList(start, way.size())));
            return;
        }
        if (topology.isHost(at.toNode) || !seen.add(at.id)) {
            return;
        }
        way.add(at);
        for (int next : routes.ports(at.toNode)) {
            Port port = ports[next];
            Scheduler scheduler = port.scheduler;
            if (scheduler != null
                    && scheduler.isPausedSince(trafficClass, sincePs)
                    && scheduler.queue(trafficClass).holdsFrom(packets, at.id)) {
                follow(port, trafficClass, sincePs, way, seen);
            }
        }
        way.removeLast();
    }

    /** Begins with the lowest node, so that each circle has one name. */
    private String name(List<Port> circle) {
        int first = 0;
        for (int i = 1; i < circle.size(); i++) {
            first = routes.owner(circle.get(i).id) < routes.owner(circle.get(first).id) ? i : first;
        }
        StringBuilder text = new StringBuilder();
        for (int i = 0; i <= circle.size(); i++) {
            Port port = circle.get((first + i) % circle.size());
            text.append(i == 0 ? "" : "->").append(topology.name(routes.owner(port.id)));
        }
        return text.toString();
    }
}
