package dev.metaroce.tools.perf;

import org.jspecify.annotations.Nullable;

/**
 * Everything that a result depends on, as it was in force, not as it was asked for. Becomes the
 * {@code configuration} of the JSON document.
 *
 * @param messageBytes null with {@code -a}
 * @param iterations messages per queue pair; null with a duration
 * @param payloadMtu bytes per packet agreed by both ends; null before they met
 * @param relayLossPercent dropped in each direction by a relay in between; null without one
 * @param sockets means of using them, at this end; gso, gro, ecn: what those do
 * @param paths of the lease; null before they met
 */
record Configuration(
        @Nullable Long messageBytes,
        @Nullable Integer iterations,
        @Nullable Double durationS,
        double warmUpS,
        boolean bidirectional,
        int qps,
        int txDepth,
        int postList,
        int cqMod,
        int initiators,
        long seed,
        String profile,
        @Nullable Integer paths,
        @Nullable Integer payloadMtu,
        int payloadMtuLimit,
        String drive,
        String sockets,
        boolean gso,
        boolean gro,
        boolean ecn,
        boolean checksum,
        boolean serverStartedByClient,
        @Nullable Double relayLossPercent,
        @Nullable String localAddress,
        @Nullable String remoteAddress,
        int contextsOffered,
        long giveUpMs,
        String metaroceVersion,
        String javaVersion,
        String javaVm,
        String os,
        int processors) {}
