package dev.metaroce.tools.perf;

import dev.metaroce.memory.RegionDescriptor;

import org.jspecify.annotations.Nullable;

import java.util.Map;

/**
 * What client and server of a perf run say to each other, in turns, beside the data.
 *
 * @param messageBytes size of the row's messages
 * @param pieceBytes payload bytes per packet, which both ends agreed on when they connected
 * @param verify the row was measured and not a warm-up: the server is to compare its memory with
 *     the test data
 * @param region memory of the sender of this message
 * @param report what the server saw
 */
record PerfMessage(
        Kind kind,
        long messageBytes,
        int pieceBytes,
        boolean verify,
        @Nullable RegionDescriptor region,
        @Nullable ServerReport report) {

    enum Kind {
        /** Client: a row of the test begins; its region is where a pong goes to. */
        ROW,
        /** Server: ready for the row; its region is where the client may write. */
        READY,
        /** Client: the row is over. */
        ROW_END,
        /** Server: what it saw during the row. */
        REPORT,
        /** Client: the run is over. */
        BYE
    }

    /**
     * The receiver's view of a row.
     *
     * @param dataIntact true when the memory holds the test pattern, null when it was not looked at
     * @param contextsPeak most context ids in use at one time
     * @param contextTableBytes memory of all receive contexts
     * @param counters the device's counters of the row that are not zero
     */
    record ServerReport(
            @Nullable Boolean dataIntact,
            int contexts,
            int contextsPeak,
            long contextTableBytes,
            Map<String, Long> counters,
            Map<String, Long> events) {}

    static PerfMessage row(
            long messageBytes, int pieceBytes, @Nullable RegionDescriptor pongTarget) {
        return new PerfMessage(Kind.ROW, messageBytes, pieceBytes, false, pongTarget, null);
    }

    static PerfMessage ready(RegionDescriptor region) {
        return new PerfMessage(Kind.READY, 0, 0, false, region, null);
    }

    static PerfMessage rowEnd(boolean verify) {
        return new PerfMessage(Kind.ROW_END, 0, 0, verify, null, null);
    }

    static PerfMessage report(ServerReport report) {
        return new PerfMessage(Kind.REPORT, 0, 0, false, null, report);
    }

    static PerfMessage bye() {
        return new PerfMessage(Kind.BYE, 0, 0, false, null, null);
    }
}
