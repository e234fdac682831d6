package dev.metaroce.tools.perf;

import java.util.Map;

/**
 * What all rows add to their figures: the receive contexts of the server, and each end's own view.
 */
record RowDocument(
        int contexts, int contextsPeak, long contextTableBytes, View sender, View receiver) {

    /** Counters of the row and events since the start, those that are not zero. */
    record View(Map<String, Long> counters, Map<String, Long> events) {}
}
