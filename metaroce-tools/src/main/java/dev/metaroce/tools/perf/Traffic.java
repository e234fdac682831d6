package dev.metaroce.tools.perf;

import dev.metaroce.event.CounterId;

import org.jspecify.annotations.Nullable;

import java.util.Locale;
import java.util.Map;

/**
 * Packets of one direction of a row, and what became of its data.
 *
 * @param dataPackets DATA packets sent for the first time
 * @param retransmittedPackets DATA packets sent again
 * @param retransmittedPercent of all DATA packets sent
 * @param dataIntact true when the receiver found the test data in its memory, null when it did not
 *     look
 */
record Traffic(
        long dataPackets,
        long retransmittedPackets,
        long retransmittedBytes,
        double retransmittedPercent,
        @Nullable Boolean dataIntact) {

    /**
     * @param counters of the sender in the row, by lower-case name
     */
    static Traffic of(Map<String, Long> counters, @Nullable Boolean dataIntact) {
        return of(
                count(counters, CounterId.DATA_SENT),
                count(counters, CounterId.DATA_RESENT),
                count(counters, CounterId.RESENT_BYTES),
                dataIntact);
    }

    /** Both directions together. */
    Traffic plus(Traffic other) {
        Boolean intact = null;
        if (dataIntact != null && other.dataIntact != null) {
            intact = dataIntact && other.dataIntact;
        }
        return of(
                dataPackets + other.dataPackets,
                retransmittedPackets + other.retransmittedPackets,
                retransmittedBytes + other.retransmittedBytes,
                intact);
    }

    private static Traffic of(long first, long again, long bytes, @Nullable Boolean intact) {
        double percent = first + again == 0 ? 0 : 100.0 * again / (first + again);
        return new Traffic(first, again, bytes, percent, intact);
    }

    /** A count of counters by lower-case name. */
    static long count(Map<String, Long> counters, CounterId id) {
        return counters.getOrDefault(id.name().toLowerCase(Locale.ROOT), 0L);
    }
}
