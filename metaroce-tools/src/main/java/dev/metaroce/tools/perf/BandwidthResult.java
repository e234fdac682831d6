package dev.metaroce.tools.perf;

import org.jspecify.annotations.Nullable;

/**
 * A row of a bandwidth test.
 *
 * @param total what the table shows: the one direction there is, or both together
 * @param local what the client sent; null when the server sent nothing
 * @param remote what the server sent; null when it sent nothing
 */
record BandwidthResult(Direction total, @Nullable Direction local, @Nullable Direction remote) {

    /**
     * @param local what this end sent
     * @param localTraffic its packets
     * @param remote what the other end sent, null for nothing
     * @param remoteTraffic its packets
     */
    static BandwidthResult of(
            long messageBytes,
            Sent local,
            Traffic localTraffic,
            @Nullable Sent remote,
            Traffic remoteTraffic) {
        if (remote == null) {
            BandwidthRow row = BandwidthRow.of(messageBytes, local, local.elapsedNs());
            return new BandwidthResult(new Direction(row, localTraffic), null, null);
        }
        // Both ends began when the row did, half a round trip apart: the longer time spans both.
        long elapsedNs = Math.max(local.elapsedNs(), remote.elapsedNs());
        Sent both =
                new Sent(
                        local.messages() + remote.messages(),
                        elapsedNs,
                        local.peakMessagesPerNs() + remote.peakMessagesPerNs());
        return new BandwidthResult(
                new Direction(
                        BandwidthRow.of(messageBytes, both, elapsedNs),
                        localTraffic.plus(remoteTraffic)),
                new Direction(BandwidthRow.of(messageBytes, local, elapsedNs), localTraffic),
                new Direction(BandwidthRow.of(messageBytes, remote, elapsedNs), remoteTraffic));
    }
}
