package dev.metaroce.tools.perf;

import dev.metaroce.memory.RegionDescriptor;

import org.jspecify.annotations.Nullable;

import java.util.Map;

/**
 * What client and server of a perf run say to each other, in turns, beside the data.
 *
 * @param row what a row is to be
 * @param verify the row was measured and not a warm-up: the server is to compare its memory with
 *     the test data
 * @param region memory of the sender of this message where the other end may write
 * @param report what the server saw
 * @param reason why the server ends the run
 */
record PerfMessage(
        Kind kind,
        @Nullable Row row,
        boolean verify,
        @Nullable RegionDescriptor region,
        @Nullable ServerReport report,
        @Nullable String reason) {

    enum Kind {
        /** Client: a row of the test begins; its region is where the server may write. */
        ROW,
        /** Server: ready for the row; its region is where the client may write. */
        READY,
        /** Client: it has sent everything of the row. */
        ROW_END,
        /** Server: so has it, and this is what it saw during the row. */
        REPORT,
        /** Server: it cannot go on; the connection ends. */
        REFUSAL,
        /** Client: the run is over. */
        BYE
    }

    /**
     * One message size.
     *
     * @param pieceBytes payload bytes per packet, which both ends agreed on when they connected
     * @param iterations messages per queue pair that the server sends in a bidirectional test
     * @param durationNs how long it sends instead, 0 for a number of messages
     * @param quietNs how long the client may send nothing without being taken for dead
     */
    record Row(long messageBytes, int pieceBytes, long iterations, long durationNs, long quietNs) {}

    /**
     * The receiver's view of a row.
     *
     * @param dataIntact true when the memory holds the test pattern, null when it was not looked at
     * @param contextsPeak most context ids in use at one time
     * @param contextTableBytes memory of all receive contexts
     * @param counters the device's counters of the row that are not zero
     * @param sent what the server sent; null when it does not send
     */
    record ServerReport(
            @Nullable Boolean dataIntact,
            int contexts,
            int contextsPeak,
            long contextTableBytes,
            Map<String, Long> counters,
            Map<String, Long> events,
            @Nullable Sent sent) {}

    static PerfMessage row(Row row, @Nullable RegionDescriptor target) {
        return new PerfMessage(Kind.ROW, row, false, target, null, null);
    }

    static PerfMessage ready(RegionDescriptor region) {
        return new PerfMessage(Kind.READY, null, false, region, null, null);
    }

    static PerfMessage rowEnd(boolean verify) {
        return new PerfMessage(Kind.ROW_END, null, verify, null, null, null);
    }

    static PerfMessage report(ServerReport report) {
        return new PerfMessage(Kind.REPORT, null, false, null, report, null);
    }

    static PerfMessage refusal(String reason) {
        return new PerfMessage(Kind.REFUSAL, null, false, null, null, reason);
    }

    static PerfMessage bye() {
        return new PerfMessage(Kind.BYE, null, false, null, null, null);
    }
}
