package dev.metaroce.transport;

import dev.metaroce.wire.NetAddress;

import org.jspecify.annotations.Nullable;

/**
 * What a target remembers of endpoints that asked for contexts: enough to tell a late copy of a
 * request from a new one. Fixed size: sets of eight entries, the longest unused entry without a
 * lease gives way. Owner: the engine thread.
 */
final class PeerTable {
    private static final int WAYS = 8;
    private static final int SETS = 512;
    private static final int ENTRIES = WAYS * SETS;
    private static final int NONCE_WINDOW = 64;
    private static final int MAX_PATIENCE = 6;

    private long[] endpointId = {};
    private long[] newestNonce = {};
    private long[] seenNonces = {};
    private int[] incarnation = {};
    private int[] holds = {};
    private int[] usedAt = {};
    private byte[] patience = {};
    private boolean[] known = {};
    private @Nullable NetAddress[] address = {};
    private int clock;
    private int newest = -1;

    /** Bytes of the table once it is in use. */
    static long bytes() {
        return ENTRIES * (3L * Long.BYTES + 4L * Integer.BYTES + 2);
    }

    /**
     * The entry of an endpoint, made when it is new. An endpoint that restarted starts its nonces
     * anew; an older incarnation than the one known changes nothing.
     *
     * @return its number, or -1 when every entry it could take is in use
     */
    int enter(long id, int newIncarnation, NetAddress from) {
        if (known.length == 0) {
            endpointId = new long[ENTRIES];
            newestNonce = new long[ENTRIES];
            seenNonces = new long[ENTRIES];
            incarnation = new int[ENTRIES];
            holds = new int[ENTRIES];
            usedAt = new int[ENTRIES];
            patience = new byte[ENTRIES];
            known = new boolean[ENTRIES];
            address = new NetAddress[ENTRIES];
        }
        int first = (int) (mix(id) & SETS - 1) * WAYS;
        int place = -1;
        for (int at = first; at < first + WAYS; at++) {
            if (known[at] && endpointId[at] == id) {
                usedAt[at] = ++clock;
                int younger = newIncarnation - incarnation[at];
                newest = younger > 0 ? at : -1;
                if (younger > 0) {
                    newestNonce[at] = 0;
                    seenNonces[at] = 0;
                    incarnation[at] = newIncarnation;
                }
                if (younger >= 0) {
                    address[at] = from;
                }
                return at;
            }
            //= MR-3.4-14
            boolean free = !known[at] || holds[at] == 0;
            if (free && (place < 0 || isOlder(at, place))) {
                place = at;
            }
        }
        if (place >= 0) {
            endpointId[place] = id;
            newestNonce[place] = 0;
            seenNonces[place] = 0;
            incarnation[place] = newIncarnation;
            holds[place] = 0;
            usedAt[place] = ++clock;
            patience[place] = 0;
            address[place] = from;
            known[place] = true;
            newest = place;
        }
        return place;
    }

    private boolean isOlder(int at, int than) {
        if (!known[at] || !known[than]) {
            return !known[at] && known[than];
        }
        return usedAt[at] - usedAt[than] < 0;
    }

    private static long mix(long value) {
        long z = value * 0x9E37_79B9_7F4A_7C15L;
        return z ^ z >>> 32;
    }

    /** True when the nonce was not used before and is not older than the window of 64 remembers. */
    boolean isFresh(int peer, long nonce) {
        if (newestNonce[peer] == 0) {
            return true;
        }
        long behind = newestNonce[peer] - nonce;
        if (behind < 0) {
            return true;
        }
        //= MR-3.4-2
        return behind < NONCE_WINDOW && (seenNonces[peer] >> behind & 1) == 0;
    }

    /** The nonce was decided on; it will not be again. */
    void use(int peer, long nonce) {
        long ahead = nonce - newestNonce[peer];
        if (newestNonce[peer] == 0 || ahead >= NONCE_WINDOW) {
            newestNonce[peer] = nonce;
            seenNonces[peer] = 1;
        } else if (ahead > 0) {
            newestNonce[peer] = nonce;
            seenNonces[peer] = seenNonces[peer] << ahead | 1;
        } else if (-ahead < NONCE_WINDOW) {
            seenNonces[peer] |= 1L << -ahead;
        }
    }

    /** Counts leases and places in the line; an entry with any stays. */
    void hold(int peer, int change) {
        holds[peer] += change;
    }

    /** How long a grant of this endpoint may stay unused, when that is so long for any other. */
    long patienceNs(int peer, long commonNs, long mostNs) {
        return Math.max(commonNs, Math.min(commonNs << patience[peer], mostNs));
    }

    /** A grant was taken back before any packet of it came: the next one is given longer. */
    void cameLate(int peer) {
        patience[peer] = (byte) Math.min(patience[peer] + 1, MAX_PATIENCE);
    }

    /** Packets come long before the patience ends: a little less will do. */
    void cameEarly(int peer) {
        patience[peer] = (byte) Math.max(patience[peer] - 1, 0);
    }

    long endpointId(int peer) {
        return endpointId[peer];
    }

    int incarnation(int peer) {
        return incarnation[peer];
    }

    /** True when the last {@link #enter} made this entry, or found that its endpoint restarted. */
    boolean isNew(int peer) {
        return peer == newest;
    }

    /** Where the endpoint was heard last; null for entry -1. */
    @Nullable NetAddress address(int peer) {
        return peer < 0 ? null : address[peer];
    }
}
