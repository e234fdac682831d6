package dev.metaroce.verbs;

import dev.metaroce.ring.WorkQueue;
import dev.metaroce.ring.WorkRequest;
import dev.metaroce.transport.StreamSettings;

import org.jspecify.annotations.Nullable;

/**
 * What a queue pair is to be like (as {@code ibv_qp_init_attr} and the attributes of {@code
 * ibv_modify_qp}). Start with {@link #of}.
 *
 * <pre>{@code
 * QueuePairOptions options = QueuePairOptions.of(cq, cq).sendDepth(16).maxSendSge(2).build();
 * QueuePair qp = connection.createQueuePair(domain, options);
 * }</pre>
 *
 * @param sendQueue where sends complete
 * @param receiveQueue where receives complete; may be the same
 * @param sendDepth work requests outstanding in the send queue, 1..32768; default 128
 * @param receiveDepth the same for the receive queue
 * @param maxSendSge pieces of memory of a send, 1..16; default 4
 * @param maxReceiveSge pieces of memory of a receive, 1..16; default 4
 * @param maxInline bytes of payload that a send can have copied, 0..4096; default 128
 * @param signalAll every send has a completion, whatever it asks for; default false
 * @param rnrRetry how often a message is sent again for which the peer had no receive, 0..6, or 7
 *     for ever, as InfiniBand has it; default {@link #UNTIL_GIVE_UP}
 * @param minRnrTimerUs how long a peer has to wait that found no receive here, 1..655,360 us;
 *     default 200
 * @param sharedReceiveQueue where receives are posted and taken from, of the same protection
 *     domain; {@code receiveDepth} and {@code maxReceiveSge} mean nothing then. Default null: the
 *     queue pair has a receive queue of its own
 */
public record QueuePairOptions(
        CompletionQueue sendQueue,
        CompletionQueue receiveQueue,
        int sendDepth,
        int receiveDepth,
        int maxSendSge,
        int maxReceiveSge,
        int maxInline,
        boolean signalAll,
        int rnrRetry,
        int minRnrTimerUs,
        @Nullable SharedReceiveQueue sharedReceiveQueue) {
    /**
     * Value of {@code rnrRetry}: a message for which there is no receive is sent again, after
     * pauses that grow to 10 ms, until the device's give-up time is over.
     */
    public static final int UNTIL_GIVE_UP = StreamSettings.UNTIL_GIVE_UP;

    /** Value of {@code rnrRetry}: again and again for ever. */
    public static final int FOR_EVER = StreamSettings.FOR_EVER;

    public QueuePairOptions {
        range("sendDepth", sendDepth, 1, WorkQueue.MAX_DEPTH);
        range("receiveDepth", receiveDepth, 1, WorkQueue.MAX_DEPTH);
        range("maxSendSge", maxSendSge, 1, WorkRequest.MAX_SGE);
        range("maxReceiveSge", maxReceiveSge, 1, WorkRequest.MAX_SGE);
        range("maxInline", maxInline, 0, WorkQueue.MAX_INLINE);
        range("rnrRetry", rnrRetry, UNTIL_GIVE_UP, FOR_EVER);
        range("minRnrTimerUs", minRnrTimerUs, 1, StreamSettings.MAX_RNR_TIMER_US);
    }

    private static void range(String field, int value, int min, int max) {
        if (value < min || value > max) {
            throw new IllegalArgumentException(
                    "QueuePairOptions: %s %d is not in %d..%d".formatted(field, value, min, max));
        }
    }

    /** A builder with the defaults. */
    public static Builder of(CompletionQueue sendQueue, CompletionQueue receiveQueue) {
        return new Builder(sendQueue, receiveQueue);
    }

    /** Collects what differs from the defaults; {@link #build} validates it. */
    public static final class Builder {
        private final CompletionQueue sendQueue;
        private final CompletionQueue receiveQueue;
        private int sendDepth = 128;
        private int receiveDepth = 128;
        private int maxSendSge = 4;
        private int maxReceiveSge = 4;
        private int maxInline = 128;
        private boolean signalAll;
        private int rnrRetry = UNTIL_GIVE_UP;
        private int minRnrTimerUs = StreamSettings.DEFAULT_RNR_TIMER_US;
        private @Nullable SharedReceiveQueue sharedReceiveQueue;

        private Builder(CompletionQueue sendQueue, CompletionQueue receiveQueue) {
            this.sendQueue = sendQueue;
            this.receiveQueue = receiveQueue;
        }

        public Builder sendDepth(int value) {
            sendDepth = value;
            return this;
        }

        public Builder receiveDepth(int value) {
            receiveDepth = value;
            return this;
        }

        public Builder maxSendSge(int value) {
            maxSendSge = value;
            return this;
        }

        public Builder maxReceiveSge(int value) {
            maxReceiveSge = value;
            return this;
        }

        public Builder maxInline(int value) {
            maxInline = value;
            return this;
        }

        public Builder signalAll(boolean value) {
            signalAll = value;
            return this;
        }

        public Builder rnrRetry(int value) {
            rnrRetry = value;
            return this;
        }

        public Builder minRnrTimerUs(int value) {
            minRnrTimerUs = value;
            return this;
        }

        public Builder sharedReceiveQueue(SharedReceiveQueue value) {
            sharedReceiveQueue = value;
            return this;
        }

        public QueuePairOptions build() {
            return new QueuePairOptions(
                    sendQueue,
                    receiveQueue,
                    sendDepth,
                    receiveDepth,
                    maxSendSge,
                    maxReceiveSge,
                    maxInline,
                    signalAll,
                    rnrRetry,
                    minRnrTimerUs,
                    sharedReceiveQueue);
        }
    }
}
