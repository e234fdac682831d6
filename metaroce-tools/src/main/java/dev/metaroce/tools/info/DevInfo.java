package dev.metaroce.tools.info;

import org.jspecify.annotations.Nullable;

import java.util.List;

/**
 * What {@code metaroce devinfo} reports, in the order in which it is shown.
 *
 * @param warnings what this machine grants less of than wanted, with the cure
 */
record DevInfo(
        @Nullable String error,
        String version,
        int wireVersion,
        int defaultPort,
        int defaultPerfPort,
        Host host,
        Limits limits,
        Memory memory,
        List<ProfileInfo> profiles,
        Ports ports,
        List<Link> interfaces,
        List<String> warnings) {

    /** The Java and the machine below. */
    record Host(
            String javaVersion,
            String vm,
            String os,
            int processors,
            long heapMaxBytes,
            boolean nativeAccess) {}

    /** Capacities of a device with default options. */
    record Limits(
            int contexts,
            int pathsPerLeaseMax,
            int sendingSockets,
            int payloadMtuMax,
            int openMessagesPerLease,
            int waitersMax,
            int waitersPerPeerMax,
            int connectionsMax,
            String exhaustionPolicy,
            long messageBytesMax,
            long leaseQuotaBytes,
            double leaseQuotaMs,
            int shortSlotsMax,
            long shortBytesMax,
            double reclaimDeadlineMs,
            double lingerMs,
            double giveUpMs) {}

    /** What receive contexts cost; none of it grows with the number of peers. */
    record Memory(long contextTableBytes, long contextTableBytesPerContext) {}

    /**
     * One profile.
     *
     * @param contextBytes bytes of one context in use with that many paths
     */
    record ProfileInfo(
            String name, String description, int paths, int contextBytes, long allContextsBytes) {}

    /** How packets reach the network. */
    record Ports(
            String sockets,
            boolean gso,
            boolean gro,
            boolean ecn,
            int receiveBufferBytes,
            int receiveBufferWantedBytes,
            String receiveBufferSysctl,
            int sendBufferBytes,
            int sendBufferWantedBytes,
            String sendBufferSysctl) {}

    /**
     * One interface that is up.
     *
     * @param payloadMtuIpv4 bytes per packet that fit it unfragmented over IPv4
     * @param payloadMtuIpv6 the same over IPv6
     */
    record Link(
            String name,
            int mtu,
            List<String> addresses,
            @Nullable Integer payloadMtuIpv4,
            @Nullable Integer payloadMtuIpv6) {}
}
