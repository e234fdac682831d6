package dev.metaroce.net;

import java.net.InetSocketAddress;

/**
 * How to start a {@link FaultRelay}.
 *
 * @param listen where clients send to; port 0 takes any free one
 * @param target where their packets go
 * @param seed of all random decisions
 * @param toTarget faults on the way to the target
 * @param toClient faults on the way back
 * @param filter looks at every packet first
 * @param clientsMax client sockets known at a time, 1..4096; each costs a socket. A new client
 *     takes the place of the one silent for the longest time
 * @param clientIdleNs a client silent this long is forgotten
 * @param socketBufferBytes size asked for each socket buffer
 * @param storeBytesMax most bytes of packets delayed or held back; more are dropped and counted
 */
public record RelayOptions(
        InetSocketAddress listen,
        InetSocketAddress target,
        long seed,
        Faults toTarget,
        Faults toClient,
        PacketFilter filter,
        int clientsMax,
        long clientIdleNs,
        int socketBufferBytes,
        long storeBytesMax) {

    private static final int CLIENTS_DEFAULT = 512;
    private static final long IDLE_NS_DEFAULT = 60_000_000_000L;
    private static final long STORE_BYTES_DEFAULT = 256L << 20;

    public RelayOptions {
        if (target.isUnresolved() || target.getPort() == 0) {
            throw new IllegalArgumentException(
                    "RelayOptions: target " + target + " is not an address and port");
        }
        range("clientsMax", clientsMax, 1, 4096);
        range("clientIdleNs", clientIdleNs, 1, Long.MAX_VALUE / 4);
        range("socketBufferBytes", socketBufferBytes, 4096, 1 << 30);
        range("storeBytesMax", storeBytesMax, 65_536, 1L << 40);
    }

    /** A perfect link from {@code listen} to the target, with the usual bounds. */
    public static RelayOptions between(InetSocketAddress listen, InetSocketAddress target) {
        return new RelayOptions(
                listen,
                target,
                1,
                Faults.NONE,
                Faults.NONE,
                PacketFilter.NONE,
                CLIENTS_DEFAULT,
                IDLE_NS_DEFAULT,
                Port.WANTED_BUFFER_BYTES,
                STORE_BYTES_DEFAULT);
    }

    /** The same with other faults and another seed. */
    public RelayOptions withFaults(long newSeed, Faults newToTarget, Faults newToClient) {
        return new RelayOptions(
                listen,
                target,
                newSeed,
                newToTarget,
                newToClient,
                filter,
                clientsMax,
                clientIdleNs,
                socketBufferBytes,
                storeBytesMax);
    }

    /** The same with another filter. */
    public RelayOptions withFilter(PacketFilter newFilter) {
        return new RelayOptions(
                listen,
                target,
                seed,
                toTarget,
                toClient,
                newFilter,
                clientsMax,
                clientIdleNs,
                socketBufferBytes,
                storeBytesMax);
    }

    /** The same with other bounds on clients. */
    public RelayOptions withClients(int newClientsMax, long newClientIdleNs) {
        return new RelayOptions(
                listen,
                target,
                seed,
                toTarget,
                toClient,
                filter,
                newClientsMax,
                newClientIdleNs,
                socketBufferBytes,
                storeBytesMax);
    }

    private static void range(String field, long value, long min, long max) {
        if (value < min || value > max) {
            throw new IllegalArgumentException(
                    "RelayOptions: " + field + " " + value + " is not in " + min + ".." + max);
        }
    }
}
