package dev.metaroce.transport;

import dev.metaroce.ring.SharedReceives;
import dev.metaroce.ring.WorkQueue;

import org.jspecify.annotations.Nullable;

/**
 * What streams are made with, many of them alike; ranges are those of {@code QueuePairOptions}.
 *
 * @param domain id of the protection domain
 * @param sendDepth work requests outstanding in the send queue
 * @param receiveDepth work requests outstanding in the receive queue
 * @param maxSendSge pieces of memory of a send
 * @param maxReceiveSge pieces of memory of a receive
 * @param maxInline bytes of inline payload
 * @param signalAll every send has a completion
 * @param rnrRetry tries again of a message that found no receive: 0..6, FOR_EVER, UNTIL_GIVE_UP
 * @param minRnrTimerUs RetryAfter told to a peer that found no receive, microseconds
 * @param shared where receives come from; null for the stream's own receive queue
 */
public record StreamSettings(
        int domain,
        int sendDepth,
        int receiveDepth,
        int maxSendSge,
        int maxReceiveSge,
        int maxInline,
        boolean signalAll,
        int rnrRetry,
        int minRnrTimerUs,
        @Nullable SharedReceives shared) {
    /** A send queue made with these. */
    public WorkQueue sendQueue(Object owner) {
        return WorkQueue.sends(owner, domain, sendDepth, maxSendSge, maxInline, signalAll);
    }

    /** A receive queue made with these, or what takes receives from the shared one. */
    public WorkQueue receiveQueue(Object owner) {
        return shared == null
                ? WorkQueue.receives(owner, domain, receiveDepth, maxReceiveSge)
                : shared.taker(owner);
    }

    /** Value of {@code rnrRetry}: no count, but the give-up time of the device. */
    public static final int UNTIL_GIVE_UP = -1;

    /** Value of {@code rnrRetry}: no count and no time. */
    public static final int FOR_EVER = 7;

    /** RetryAfter of those who do not care, microseconds. */
    public static final int DEFAULT_RNR_TIMER_US = 200;

    /** Longest RetryAfter, microseconds: that of InfiniBand. */
    public static final int MAX_RNR_TIMER_US = 655_360;
}
