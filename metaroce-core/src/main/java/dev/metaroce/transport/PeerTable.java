package dev.metaroce.transport;

import dev.metaroce.wire.NetAddress;

import org.jspecify.annotations.Nullable;

import java.util.Arrays;

/**
 * What a target remembers of endpoints that asked for contexts: enough to tell a late copy of a
 * request from a new one. At most 4,096 entries in sets of eight, where the longest unused entry
 * without a lease gives way; memory comes with the endpoints. Owner: the engine thread.
 */
final class PeerTable {
    private static final int WAYS = 8;
    private static final int MOST_SETS = 512;
    private static final int MOST_ENTRIES = WAYS * MOST_SETS;
    private static final int FIRST_ENTRIES = 4;
    private static final int NONCE_WINDOW = 64;
    private static final int MAX_PATIENCE = 6;

    /**
     * Sets of places, each filled from its start with numbers of entries plus one; there are more
     * sets, a power of two, when one is full.
     */
    private short[] places = new short[WAYS];

    // By number of the entry, which never changes
    private long[] endpointId = {};
    private long[] newestNonce = {};
    private long[] seenNonces = {};
    private int[] incarnation = {};
    private int[] holds = {};
    private int[] usedAt = {};
    private byte[] patience = {};
    private @Nullable NetAddress[] address = {};
    private int used;
    private int clock;
    private int newest = -1;

    /** Bytes of the table when it is full. */
    static long bytes() {
        return MOST_ENTRIES * (3L * Long.BYTES + 4L * Integer.BYTES + Short.BYTES + 1);
    }

    /**
     * The entry of an endpoint, made when it is new. An endpoint that restarted starts its nonces
     * anew; an older incarnation than the one known changes nothing.
     *
     * @return its number, or -1 when every entry it could take is in use
     */
    int enter(long id, int newIncarnation, NetAddress from) {
        int first = firstPlace(id);
        int oldest = -1;
        for (int place = first; place < first + WAYS; place++) {
            int at = places[place] - 1;
            if (at < 0) {
                places[place] = (short) (addEntry() + 1);
                return make(places[place] - 1, id, newIncarnation, from);
            }
            if (endpointId[at] == id) {
                return meet(at, newIncarnation, from);
            }
            //= MR-3.4-14
            if (holds[at] == 0 && (oldest < 0 || usedAt[at] - usedAt[oldest] < 0)) {
                oldest = at;
            }
        }
        if (places.length < MOST_ENTRIES) {
            doubleSets();
            return enter(id, newIncarnation, from);
        }
        return oldest < 0 ? -1 : make(oldest, id, newIncarnation, from);
    }

    /** The endpoint of an entry was heard. */
    private int meet(int at, int newIncarnation, NetAddress from) {
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

    private int make(int at, long id, int firstIncarnation, NetAddress from) {
        endpointId[at] = id;
        newestNonce[at] = 0;
        seenNonces[at] = 0;
        incarnation[at] = firstIncarnation;
        holds[at] = 0;
        usedAt[at] = ++clock;
        patience[at] = 0;
        address[at] = from;
        newest = at;
        return at;
    }

    private int addEntry() {
        if (used == endpointId.length) {
            int entries = Math.min(MOST_ENTRIES, Math.max(FIRST_ENTRIES, 2 * used));
            endpointId = Arrays.copyOf(endpointId, entries);
            newestNonce = Arrays.copyOf(newestNonce, entries);
            seenNonces = Arrays.copyOf(seenNonces, entries);
            incarnation = Arrays.copyOf(incarnation, entries);
            holds = Arrays.copyOf(holds, entries);
            usedAt = Arrays.copyOf(usedAt, entries);
            patience = Arrays.copyOf(patience, entries);
            address = Arrays.copyOf(address, entries);
        }
        return used++;
    }

    /** Twice as many sets: each one's entries are spread over two. */
    private void doubleSets() {
        places = new short[2 * places.length];
        for (int at = 0; at < used; at++) {
            int place = firstPlace(endpointId[at]);
            while (places[place] != 0) {
                place++;
            }
            places[place] = (short) (at + 1);
        }
    }

    private int firstPlace(long id) {
        return (int) (mix(id) & (places.length / WAYS - 1)) * WAYS;
    }

    private static long mix(long value) {
        long z = value * 0x9E37_79B9_7F4A_7C15L;
        return z ^ z >>> 32;
    }

    /** True when more than half of all entries there may be were made. */
    boolean isCrowded() {
        return used > MOST_ENTRIES / 2;
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
