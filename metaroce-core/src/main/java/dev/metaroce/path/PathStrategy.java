package dev.metaroce.path;

/** How the path of the next packets is chosen. */
public enum PathStrategy {
    /** {@link PathSelector}: room against load and round-trip time. */
    WEIGHTED
}
