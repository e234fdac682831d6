package dev.metaroce.path;

/** How the path of the next packets is chosen. */
public enum PathStrategy {
    /** {@link WeightedPaths}: room against load and round-trip time. */
    WEIGHTED,
    /** {@link BitmapPaths}: in turn, past those that did badly. */
    BITMAP,
    /** {@link RecycledPaths}: again those that did well. */
    RECYCLED;

    /**
     * The choice for one lease after the other.
     *
     * @param maxPaths most paths of a lease
     */
    public PathSelector create(int maxPaths) {
        return switch (this) {
            case WEIGHTED -> new WeightedPaths();
            case BITMAP -> new BitmapPaths(maxPaths);
            case RECYCLED -> new RecycledPaths();
        };
    }
}
