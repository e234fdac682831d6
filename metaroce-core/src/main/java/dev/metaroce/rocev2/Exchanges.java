package dev.metaroce.rocev2;

import dev.metaroce.util.IntRing;
import dev.metaroce.wire.NetAddress;

import org.jspecify.annotations.Nullable;

import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The exchanges of a device, by our number and by the peer's. The low bits of our number are a
 * place in the table, those above change with each use of the place. Owner: the engine thread.
 */
final class Exchanges {
    private static final int PLACE_BITS = 21;
    private static final int PLACE = (1 << PLACE_BITS) - 1;
    private static final int FIRST_SIZE = 16;

    /** A number that a peer gave, which is unique for that peer only. */
    private record PeerId(long high, long low, int id) {
        static PeerId of(NetAddress peer, int id) {
            return new PeerId(peer.high(), peer.low(), id);
        }
    }

    private final int most;
    private int use;
    private @Nullable Exchange[] places = new Exchange[FIRST_SIZE];
    private final IntRing free = new IntRing();
    private int usedPlaces = 1;
    private int inUse;
    private final Map<PeerId, Exchange> asked = new LinkedHashMap<>();

    /** Of connections that ended for a reason that the connector did not know. */
    final ArrayDeque<Exchange> dropped = new ArrayDeque<>();

    /**
     * @param most exchanges at once, 1..2^20
     * @param firstUse a random number, so that numbers of the process before are not ours
     */
    Exchanges(int most, int firstUse) {
        this.most = most;
        use = firstUse;
    }

    /** A new exchange, or null when there are as many as may be. */
    @Nullable Exchange open(RcConnection connection, int stream, NetAddress peer, long nowNs) {
        if (inUse == most) {
            return null;
        }
        inUse++;
        int place = free.isEmpty() ? usedPlaces++ : free.poll();
        if (place == places.length) {
            places = Arrays.copyOf(places, 2 * place);
        }
        int localId = (use++ << PLACE_BITS) | place;
        Exchange opened = new Exchange(connection, stream, peer, localId, nowNs);
        places[place] = opened;
        return opened;
    }

    /** From now on the exchange is found by the number that the peer asked with. */
    void remember(Exchange e) {
        asked.put(PeerId.of(e.peer, e.remoteId), e);
    }

    /** Forgets the exchange. */
    void close(Exchange e) {
        int place = place(e);
        if (places[place] == e) {
            places[place] = null;
            asked.remove(PeerId.of(e.peer, e.remoteId), e);
            free.add(place);
            inUse--;
        }
    }

    /** The exchange with our number and this peer, or null. */
    @Nullable Exchange find(int localId, NetAddress from) {
        Exchange e = at(localId & PLACE);
        return e != null && e.localId == localId && e.peer.sameHost(from) ? e : null;
    }

    /** The exchange that this peer asked for with its number, or null. */
    @Nullable Exchange findAsked(int remoteId, NetAddress from) {
        return asked.get(PeerId.of(from, remoteId));
    }

    @Nullable Exchange at(int place) {
        return place < places.length ? places[place] : null;
    }

    /** A small number for the exchange. */
    static int place(Exchange e) {
        return e.localId & PLACE;
    }
}
