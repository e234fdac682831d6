package dev.metaroce.net;

import dev.metaroce.wire.NetAddress;

import org.jspecify.annotations.Nullable;

/**
 * Engine addresses by their parts, so that a datagram from a known sender makes no object. Bounded:
 * a set of four entries per hash value, the oldest of which makes room. Owned by the port's thread.
 */
final class InternedAddresses {
    private static final int WAYS = 4;
    private static final int SETS = 1024;

    private final @Nullable NetAddress[] entries = new NetAddress[SETS * WAYS];
    private final byte[] nextVictim = new byte[SETS];
    private NetAddress last = new NetAddress(0, 0, 0, 0, 0);

    /** The address with these parts: the same object as long as it is kept. */
    NetAddress of(long high, long low, int port, int scopeId, int plane) {
        NetAddress before = last;
        if (matches(before, high, low, port, scopeId, plane)) {
            return before;
        }
        NetAddress found = find(high, low, port, scopeId, plane);
        last = found;
        return found;
    }

    private NetAddress find(long high, long low, int port, int scopeId, int plane) {
        long mixed = ((high * 31 + low) * 31 + port) * 0x9E37_79B9_7F4A_7C15L;
        int set = (int) (mixed >>> 40) & (SETS - 1);
        for (int i = set * WAYS; i < set * WAYS + WAYS; i++) {
            NetAddress known = entries[i];
            if (known != null && matches(known, high, low, port, scopeId, plane)) {
                return known;
            }
        }
        NetAddress fresh = new NetAddress(high, low, port, scopeId, plane);
        int way = nextVictim[set];
        nextVictim[set] = (byte) ((way + 1) % WAYS);
        entries[set * WAYS + way] = fresh;
        return fresh;
    }

    private static boolean matches(
            NetAddress a, long high, long low, int port, int scopeId, int plane) {
        return a.port() == port
                && a.low() == low
                && a.high() == high
                && a.scopeId() == scopeId
                && a.plane() == plane;
    }
}
