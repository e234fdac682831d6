package dev.metaroce.path;

import java.util.function.IntFunction;

/** How the path of the next packets is chosen. */
public enum PathStrategy {
    /** {@link WeightedPaths}: room against load and round-trip time. */
    WEIGHTED(n -> new WeightedPaths()),
    /** {@link BitmapPaths}: in turn, past those that did badly. */
    BITMAP(BitmapPaths::new),
    /** {@link RecycledPaths}: again those that did well. */
    RECYCLED(n -> new RecycledPaths());

    private final IntFunction<PathSelector> selector;

    PathStrategy(IntFunction<PathSelector> selector) {
        this.selector = selector;
    }

    /**
     * The choice for one lease after the other.
     *
     * @param maxPaths most paths of a lease
     */
    public PathSelector create(int maxPaths) {
        return selector.apply(maxPaths);
    }
}
