package dev.metaroce.rocev2;

import dev.metaroce.util.NumberPool;

import org.jspecify.annotations.Nullable;

import java.util.Arrays;

/**
 * The queue pairs of a device, and the connected ones by number. The low bits of a number are the
 * place in the table, those above change with each use of the place, so that late packets for the
 * queue pair before find nobody. Numbers are taken by any thread, all else belongs to the engine
 * thread.
 */
final class QpTable {
    private static final int QPN_BITS = 24;

    /** Queue pairs 0 and 1 are for management; the number of ones only is for multicast. */
    private static final int FIRST_PLACE = 2;

    private static final int FIRST_SIZE = 16;

    private final int maxQps;
    private final NumberPool numbers;
    private @Nullable RcQueuePair[] connected = new RcQueuePair[FIRST_SIZE];

    /**
     * @param firstUse a random number, for what is above the place in the first numbers
     */
    QpTable(int maxQps, int firstUse) {
        this.maxQps = maxQps;
        numbers = new NumberPool(QPN_BITS, FIRST_PLACE, maxQps, firstUse);
    }

    /**
     * Any thread: a number for a new queue pair.
     *
     * @throws IllegalStateException when there are as many as may be
     */
    int takeNumber() {
        int qpn = numbers.take();
        if (qpn < 0) {
            throw new IllegalStateException(
                    "the device holds " + maxQps + " queue pairs, its limit maxQps");
        }
        return qpn;
    }

    /** Any thread: gives a number back. */
    void giveBack(int qpn) {
        numbers.giveBack(qpn);
    }

    /** From now on packets for the queue pair find it. */
    void put(RcQueuePair qp) {
        int place = place(qp);
        if (place >= connected.length) {
            connected = Arrays.copyOf(connected, Math.max(place + 1, 2 * connected.length));
        }
        connected[place] = qp;
    }

    /** From now on nobody finds it. */
    void remove(RcQueuePair qp) {
        if (find(qp.qpn()) == qp) {
            connected[place(qp)] = null;
        }
    }

    /** The queue pair with this number, or null. */
    @Nullable RcQueuePair find(int qpn) {
        RcQueuePair qp = at(numbers.place(qpn));
        return qp != null && qp.qpn() == qpn ? qp : null;
    }

    /** The queue pair at this place, or null. */
    @Nullable RcQueuePair at(int place) {
        return place < connected.length ? connected[place] : null;
    }

    /** The place of a queue pair, a small number. */
    int place(RcQueuePair qp) {
        return numbers.place(qp.qpn());
    }

    /** Queue pairs that were made and have not ended. */
    int inUse() {
        return numbers.inUse();
    }

    /** Bytes of the table when it is as large as it gets. */
    long mostBytes() {
        return (long) (maxQps + FIRST_PLACE) * (Integer.BYTES + Integer.BYTES);
    }
}
