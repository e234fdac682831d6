package dev.metaroce.transport;

import dev.metaroce.congestion.CongestionAlgorithm;
import dev.metaroce.path.PathStrategy;

/**
 * Which of the interchangeable mechanisms a device uses. {@link #DEFAULT} is what the specification
 * asks for; anything else is for studies of what a mechanism earns.
 *
 * @param congestion window law of a path
 * @param paths choice of a path
 */
public record Mechanisms(CongestionAlgorithm congestion, PathStrategy paths) {
    /** As specified. */
    public static final Mechanisms DEFAULT =
            new Mechanisms(CongestionAlgorithm.ECN_AIMD, PathStrategy.WEIGHTED);

    /** The same with another window law. */
    public Mechanisms with(CongestionAlgorithm value) {
        return new Mechanisms(value, paths);
    }

    /** The same with another choice of paths. */
    public Mechanisms with(PathStrategy value) {
        return new Mechanisms(congestion, value);
    }
}
