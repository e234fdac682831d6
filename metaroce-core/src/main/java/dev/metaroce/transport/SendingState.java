package dev.metaroce.transport;

/**
 * How the holder of a lease sends at one moment; for reports.
 *
 * @param windowBytes payload that congestion control allows on the way, all paths together
 * @param inFlightBytes payload on the way, counted as full packets
 * @param rateBitsPerSecond the target's hint; Long.MAX_VALUE when it gave none
 * @param paths of the lease
 * @param badPaths of them, those that do not answer, or had to leave the route they had at first
 */
public record SendingState(
        long windowBytes, long inFlightBytes, long rateBitsPerSecond, int paths, int badPaths) {}
