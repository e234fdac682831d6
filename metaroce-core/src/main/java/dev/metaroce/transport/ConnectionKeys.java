package dev.metaroce.transport;

import org.jspecify.annotations.Nullable;

/**
 * Connections by endpoint of the peer, connection id and who dialled: a table of references to
 * connections, which hold their keys, and nothing else. Owner: the engine thread.
 */
final class ConnectionKeys {
    private static final int FIRST_PLACES = 8;
    private static final long GOLDEN = 0x9E37_79B9_7F4A_7C15L;

    /** Peers choose keys; not knowing this they cannot choose them alike. */
    private final long secret;

    /** A power of two, at most half of them used; each run of used places holds no gap. */
    private @Nullable TransportConnection[] places = new TransportConnection[FIRST_PLACES];

    private int size;

    ConnectionKeys(long secret) {
        this.secret = secret;
    }

    @Nullable TransportConnection find(long endpointId, long connectionId, boolean dialedByUs) {
        int at = home(endpointId, connectionId, places.length);
        for (TransportConnection c = places[at]; c != null; c = places[at]) {
            if (c.peerEndpointId == endpointId
                    && c.connectionId == connectionId
                    && c.dialer == dialedByUs) {
                return c;
            }
            at = at + 1 & places.length - 1;
        }
        return null;
    }

    /** Adds a connection in place of one with the same key. */
    void put(TransportConnection c) {
        TransportConnection before = find(c.peerEndpointId, c.connectionId, c.dialer);
        if (before != null) {
            remove(before);
        }
        if (2 * ++size > places.length) {
            @Nullable TransportConnection[] old = places;
            places = new TransportConnection[2 * old.length];
            for (TransportConnection moved : old) {
                if (moved != null) {
                    place(moved);
                }
            }
        }
        place(c);
    }

    private void place(TransportConnection c) {
        int at = home(c.peerEndpointId, c.connectionId, places.length);
        while (places[at] != null) {
            at = at + 1 & places.length - 1;
        }
        places[at] = c;
    }

    /** Takes this very connection out, if it is there; its key must not have changed. */
    void remove(TransportConnection c) {
        int mask = places.length - 1;
        int at = home(c.peerEndpointId, c.connectionId, places.length);
        while (places[at] != c) {
            if (places[at] == null) {
                return;
            }
            at = at + 1 & mask;
        }
        size--;
        // Those behind move up, as far as their homes allow.
        int gap = at;
        for (int next = at + 1 & mask; ; next = next + 1 & mask) {
            TransportConnection moved = places[next];
            if (moved == null) {
                break;
            }
            int home = home(moved.peerEndpointId, moved.connectionId, places.length);
            if ((next - home & mask) >= (next - gap & mask)) {
                places[gap] = moved;
                gap = next;
            }
        }
        places[gap] = null;
    }

    private int home(long endpointId, long connectionId, int length) {
        long z = ((endpointId ^ secret) * GOLDEN ^ connectionId) * GOLDEN;
        return (int) (z >>> 32 ^ z >>> 48) & length - 1;
    }
}
