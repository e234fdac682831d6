package dev.metaroce.net;

import dev.metaroce.wire.NetAddress;

import org.jspecify.annotations.Nullable;

import java.net.InetSocketAddress;

/**
 * Pairs of socket addresses and engine addresses, found without allocating. Bounded: a set of four
 * entries per hash value, the oldest of which makes room, so that strangers can push entries out
 * but cannot make it grow.
 *
 * <p>Owned by the port's thread. Use one cache for one direction of look-up: each hashes by its own
 * side of the pair.
 */
final class AddressCache {
    private static final int WAYS = 4;

    private final int plane;
    private final int setMask;
    private final @Nullable InetSocketAddress[] sockets;
    private final @Nullable NetAddress[] addresses;
    private final byte[] nextVictim;
    private long misses;

    /**
     * @param entries a power of two, at least {@value #WAYS}
     * @param plane of the engine addresses
     */
    AddressCache(int entries, int plane) {
        this.plane = plane;
        setMask = entries / WAYS - 1;
        sockets = new InetSocketAddress[entries];
        addresses = new NetAddress[entries];
        nextVictim = new byte[entries / WAYS];
    }

    /** Look-ups that had to make a new pair. */
    long misses() {
        return misses;
    }

    /** The engine address of {@code socket}: the same object as long as the pair is kept. */
    NetAddress addressOf(InetSocketAddress socket) {
        int set = spread(socket.hashCode()) & setMask;
        for (int i = set * WAYS; i < set * WAYS + WAYS; i++) {
            InetSocketAddress known = sockets[i];
            NetAddress address = addresses[i];
            // Zones do not count in the equality of socket addresses, but they do for us.
            if (known != null
                    && address != null
                    && known.equals(socket)
                    && address.scopeId() == Addresses.scopeOf(socket.getAddress())) {
                return address;
            }
        }
        NetAddress address = Addresses.toNetAddress(socket).onPlane(plane);
        put(set, socket, address);
        return address;
    }

    /** The socket address of {@code address}. */
    InetSocketAddress socketOf(NetAddress address) {
        int set = spread(hash(address)) & setMask;
        for (int i = set * WAYS; i < set * WAYS + WAYS; i++) {
            NetAddress known = addresses[i];
            InetSocketAddress socket = sockets[i];
            if (known != null && socket != null && known.equals(address)) {
                return socket;
            }
        }
        InetSocketAddress socket = Addresses.toSocketAddress(address);
        put(set, socket, address);
        return socket;
    }

    private void put(int set, InetSocketAddress socket, NetAddress address) {
        misses++;
        int way = nextVictim[set];
        nextVictim[set] = (byte) ((way + 1) % WAYS);
        sockets[set * WAYS + way] = socket;
        addresses[set * WAYS + way] = address;
    }

    private static int hash(NetAddress address) {
        long mixed = (address.high() * 31 + address.low()) * 31 + address.port();
        return (int) (mixed ^ (mixed >>> 32));
    }

    private static int spread(int hash) {
        int mixed = hash * 0x9E37_79B9;
        return mixed ^ (mixed >>> 16);
    }
}
