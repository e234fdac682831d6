package dev.metaroce.net;

import dev.metaroce.wire.NetAddress;

import java.util.HashSet;
import java.util.Set;

/**
 * A feature of sending that is on until a destination refuses it. Bounded: when too many
 * destinations have refused, it is off for all. Owned by the port's thread.
 */
final class RefusedFeature {
    private final String name;
    private final int refusalsMax;
    private final Set<NetAddress> refusedBy = new HashSet<>();
    private boolean on;

    RefusedFeature(String name, boolean on, int refusalsMax) {
        this.name = name;
        this.on = on;
        this.refusalsMax = refusalsMax;
    }

    boolean isOn() {
        return on;
    }

    boolean isOnFor(NetAddress destination) {
        return on && (refusedBy.isEmpty() || !refusedBy.contains(destination));
    }

    /**
     * Switches the feature off for a destination.
     *
     * @return a line for people the first time, empty afterwards
     */
    String refuse(NetAddress destination, String reason) {
        boolean first = on && refusedBy.isEmpty();
        if (on) {
            refusedBy.add(destination);
            on = refusedBy.size() < refusalsMax;
        }
        return first
                ? name + " refused towards " + destination + " (" + reason + "): off for there"
                : "";
    }
}
