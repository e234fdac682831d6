package dev.metaroce.tools.perf;

import org.jspecify.annotations.Nullable;

import java.util.Map;

/**
 * What both kinds of rows add to their figures: packets of the row, and each end's own view.
 *
 * @param dataPackets DATA packets sent for the first time
 * @param retransmittedPackets DATA packets sent again
 * @param retransmittedPercent of all DATA packets sent
 * @param dataIntact true when the server found the test data in its memory, null when not looked at
 */
record RowDocument(
        long dataPackets,
        long retransmittedPackets,
        long retransmittedBytes,
        double retransmittedPercent,
        @Nullable Boolean dataIntact,
        int contexts,
        int contextsPeak,
        long contextTableBytes,
        View sender,
        View receiver) {

    /** Counters of the row and events since the start, those that are not zero. */
    record View(Map<String, Long> counters, Map<String, Long> events) {}
}
