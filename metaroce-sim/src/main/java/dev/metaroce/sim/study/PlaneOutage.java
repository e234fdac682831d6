package dev.metaroce.sim.study;

import dev.metaroce.sim.fabric.LinkChange;
import dev.metaroce.sim.topology.Topology;

import java.util.ArrayList;
import java.util.List;

/** A plane dies between its switches, so that no host sees a link go down. */
final class PlaneOutage {
    /** For good. */
    static final long NEVER = Long.MAX_VALUE;

    private PlaneOutage() {}

    /**
     * The changes of all links between the switches of a plane, which the seed chooses.
     *
     * @param upPs when it is repaired, or {@link #NEVER}
     */
    static List<LinkChange> of(Topology topology, long seed, int planes, long downPs, long upPs) {
        int plane = (int) Math.floorMod(seed, (long) planes);
        List<LinkChange> changes = new ArrayList<>();
        for (int link = 0; link < topology.links(); link++) {
            boolean between =
                    !topology.isHost(topology.linkA(link))
                            && !topology.isHost(topology.linkB(link));
            if (between && topology.plane(link) == plane) {
                changes.add(new LinkChange(downPs, link, true));
                if (upPs != NEVER) {
                    changes.add(new LinkChange(upPs, link, false));
                }
            }
        }
        return changes;
    }
}
