package dev.metaroce.rocev2;

import dev.metaroce.util.IntRing;

import org.jspecify.annotations.Nullable;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Arrays;

/**
 * The queue pairs of a device by number. The low bits of a number are the place in the table, those
 * above change with each use of the place, so that late packets for the queue pair before find
 * nobody; a place rests while others were given back after it.
 *
 * <p>Any thread adds and removes, under a lock; the engine thread looks up without one.
 */
final class QpTable {
    private static final VarHandle PLACE = MethodHandles.arrayElementVarHandle(RcQueuePair[].class);

    /** Queue pairs 0 and 1 are for management. */
    private static final int FIRST_PLACE = 2;

    /** Places that were given back and are not used while there are others. */
    private static final int RESTING = 256;

    private static final int QPN_BITS = 24;
    private static final int FIRST_SIZE = 16;

    private final int maxQps;
    private final int placeMask;
    private final int firstUse;
    private volatile @Nullable RcQueuePair[] places = new RcQueuePair[FIRST_SIZE];

    /** By place: the number that it has next. */
    private int[] nextQpn = new int[FIRST_SIZE];

    private final IntRing free = new IntRing();
    private int usedPlaces = FIRST_PLACE;
    private volatile int inUse;

    /**
     * @param firstUse a random number, for what is above the place in the first numbers
     */
    QpTable(int maxQps, int firstUse) {
        this.maxQps = maxQps;
        // One place more than is ever used: number 0xFFFFFF is for multicast.
        int placeBits = Integer.SIZE - Integer.numberOfLeadingZeros(maxQps + FIRST_PLACE);
        placeMask = (1 << placeBits) - 1;
        this.firstUse = firstUse << placeBits;
    }

    /**
     * A number for a new queue pair, which is to be {@link #put} there.
     *
     * @throws IllegalStateException when there are as many as may be
     */
    synchronized int reserve() {
        if (inUse == maxQps) {
            throw new IllegalStateException(
                    "the device holds " + maxQps + " queue pairs, its limit maxQps");
        }
        inUse++;
        boolean fresh = usedPlaces < maxQps + FIRST_PLACE;
        return free.size() > (fresh ? RESTING : 0) ? nextQpn[free.poll()] : newPlace();
    }

    private int newPlace() {
        int place = usedPlaces++;
        if (place == places.length) {
            places = Arrays.copyOf(places, 2 * place);
            nextQpn = Arrays.copyOf(nextQpn, 2 * place);
        }
        nextQpn[place] = (firstUse | place) & (1 << QPN_BITS) - 1;
        return nextQpn[place];
    }

    /** From now on packets for the queue pair find it. */
    synchronized void put(RcQueuePair qp) {
        PLACE.setRelease(places, qp.qpn() & placeMask, qp);
    }

    /** Gives the number back. */
    synchronized void remove(RcQueuePair qp) {
        int place = qp.qpn() & placeMask;
        PLACE.setRelease(places, place, (RcQueuePair) null);
        nextQpn[place] = (qp.qpn() + placeMask + 1) & (1 << QPN_BITS) - 1;
        free.add(place);
        inUse--;
    }

    /** The queue pair with this number, or null; engine thread. */
    @Nullable RcQueuePair find(int qpn) {
        RcQueuePair qp = at(qpn & placeMask);
        return qp != null && qp.qpn() == qpn ? qp : null;
    }

    /** The queue pair at this place, or null; engine thread. */
    @Nullable RcQueuePair at(int place) {
        @Nullable RcQueuePair[] now = places;
        return place < now.length ? (RcQueuePair) PLACE.getAcquire(now, place) : null;
    }

    /** The place of a queue pair, a small number. */
    int place(RcQueuePair qp) {
        return qp.qpn() & placeMask;
    }

    /** Places that ever were in use, and those before them. */
    synchronized int places() {
        return usedPlaces;
    }

    int inUse() {
        return inUse;
    }

    /** Bytes of the table itself. */
    synchronized long bytes() {
        return (long) places.length * (Integer.BYTES + Integer.BYTES);
    }
}
