package dev.metaroce.tools.perf;

import dev.metaroce.net.SocketInfo;
import dev.metaroce.net.Transport;
import dev.metaroce.tools.MetaRoce;
import dev.metaroce.tools.cli.Choice;
import dev.metaroce.tools.cli.TransportName;
import dev.metaroce.tools.link.Endpoint;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.verbs.Connection;
import dev.metaroce.wire.Profile;

import org.jspecify.annotations.Nullable;

import java.net.InetSocketAddress;

/**
 * Everything that a result depends on, as it was in force, not as it was asked for. Becomes the
 * {@code configuration} of the JSON document.
 *
 * @param transport metaroce or rocev2
 * @param exchange how both ends came to know each other: native or perftest
 * @param messageBytes null with {@code -a}
 * @param iterations messages per queue pair; null with a duration
 * @param payloadMtu bytes per packet agreed by both ends; null before they met
 * @param srq receives are of a shared receive queue
 * @param relayLossPercent dropped in each direction by a relay in between; null without one
 * @param sockets means of using them, at this end; gso, gro, ecn: what those do
 * @param paths of the lease; null before they met
 * @param profile of MetaRoCE; null for RoCEv2
 */
record Configuration(
        String transport,
        String exchange,
        @Nullable Long messageBytes,
        @Nullable Integer iterations,
        @Nullable Double durationS,
        double warmUpS,
        boolean bidirectional,
        int qps,
        int txDepth,
        int postList,
        int cqMod,
        boolean srq,
        int initiators,
        long seed,
        @Nullable String profile,
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
        int processors) {

    boolean isRoce() {
        return transport.equals(TransportName.label(Transport.ROCE_V2));
    }

    /**
     * @param connection null before both ends met
     * @param server where it was found, null before that
     */
    static Configuration of(
            PerfOptions options,
            PerfTest test,
            Endpoint endpoint,
            @Nullable Connection connection,
            @Nullable InetSocketAddress server) {
        DeviceLimits limits = endpoint.rdma().limits();
        InetSocketAddress local =
                server == null ? endpoint.localAddress() : endpoint.localAddressTowards(server);
        SocketInfo sockets = endpoint.sockets();
        Posting posting = options.posting(test);
        if (!options.all) {
            posting = posting.fitting(options.messageBytes(test));
        }
        return new Configuration(
                TransportName.label(options.transport),
                Choice.label(options.exchange),
                options.all ? null : options.messageBytes(test),
                options.durationSeconds == null ? options.iterationsOf(test) : null,
                options.durationSeconds,
                options.warmUpSecondsInForce(),
                options.bidirectional,
                options.qps,
                posting.depth(),
                posting.list(),
                posting.signalEvery(),
                options.useSrq,
                options.initiators,
                options.seed,
                profileName(options, connection),
                connection == null ? null : connection.paths(),
                connection == null ? null : connection.payloadMtu(),
                limits.payloadMtu(),
                Choice.label(options.drive),
                Choice.label(sockets.kind()),
                sockets.gso(),
                sockets.gro(),
                sockets.ecn(),
                !options.sockets.isWithoutCrc(),
                options.self,
                options.loss == null ? null : options.loss * 100,
                Endpoint.text(local),
                server == null ? null : Endpoint.text(server),
                limits.contexts(),
                limits.giveUpNs() / 1_000_000,
                MetaRoce.version(),
                System.getProperty("java.version"),
                System.getProperty("java.vm.name"),
                System.getProperty("os.name") + " " + System.getProperty("os.arch"),
                Runtime.getRuntime().availableProcessors());
    }

    /**
     * The profile in force, else the one asked for, else what a device prefers; RoCEv2 has none.
     */
    private static @Nullable String profileName(
            PerfOptions options, @Nullable Connection connection) {
        if (options.transport == Transport.ROCE_V2) {
            return null;
        }
        Profile inForce = connection == null ? null : connection.profile();
        Profile asked = options.profile == null ? Profile.M : options.profile;
        return (inForce == null ? asked : inForce).name();
    }
}
