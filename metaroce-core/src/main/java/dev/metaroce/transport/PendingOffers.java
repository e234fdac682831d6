package dev.metaroce.transport;

import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.List;

/** Offers that applications have not answered yet; bounded. Owner: the engine thread. */
final class PendingOffers {
    /** So many may wait for their answers at once. */
    static final int MOST = 1024;

    /** So long the application may think. */
    static final long ANSWER_NS = 10_000_000_000L;

    /** A peer that waits and says nothing for so long has gone away. */
    private static final long SILENCE_NS = 2_000_000_000;

    /** How often that is looked at. */
    static final long PERIOD_NS = 100_000_000;

    private final List<LeaseOffer> waiting = new ArrayList<>();

    boolean isEmpty() {
        return waiting.isEmpty();
    }

    boolean isFull() {
        return waiting.size() == MOST;
    }

    void add(LeaseOffer offer) {
        waiting.add(offer);
    }

    /** False when it does not wait (any more). */
    boolean remove(LeaseOffer offer) {
        return waiting.remove(offer);
    }

    /** One whose peer fell silent or that nobody answered; null when there is none. */
    @Nullable LeaseOffer overdue(long nowNs) {
        for (LeaseOffer offer : waiting) {
            if (nowNs - offer.offeredNs >= ANSWER_NS || nowNs - offer.heardNs >= SILENCE_NS) {
                return offer;
            }
        }
        return null;
    }
}
