package dev.metaroce.rocev2;

import dev.metaroce.ring.CompletionRing;
import dev.metaroce.ring.SharedReceives;
import dev.metaroce.ring.WcOpcode;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkQueue;
import dev.metaroce.util.ReadyList;
import dev.metaroce.wire.roce.Psn24;
import dev.metaroce.wire.roce.Syndrome;

import org.jspecify.annotations.Nullable;

/**
 * The responder of a queue pair: the PSN it expects, the message that is arriving, and the answers
 * it owes. Owner: the engine thread.
 */
final class ReceiveSide extends ReadyList.Item<ReceiveSide> {
    /** What is arriving. */
    enum Message {
        NONE,
        SEND,
        WRITE
    }

    final RcQueuePair qp;
    final WorkQueue queue;

    /** READs and atomics served; made with the first. */
    private @Nullable ServedPulls pulls;

    int expectedPsn;

    /** Messages completed, modulo 2^24. */
    int msn;

    /** The oldest receive that is not completed. */
    private long headSeq;

    private WcStatus spoilt = WcStatus.SUCCESS;

    // The message of which packets are still to come
    Message message = Message.NONE;
    long messageOffset;

    /** Of a WRITE: where it goes. */
    long writeVa;

    int writeRkey;
    long writeLength;

    // The gap
    /** A NAK or RNR for the expected PSN was sent, which did not arrive since. */
    boolean inGap;

    /** The last packet that was ahead, meaningful in a gap. */
    int lastAheadPsn;

    // Answers owed
    boolean ackOwed;

    /** Syndrome of the NAK or RNR that is owed, or 0. */
    int nakOwed;

    int nakPsn;

    /** Syndrome of the NAK that ended the queue pair, or 0. */
    int refusal;

    /** When the next notice may be sent, if one was. */
    private long nextNoticeNs;

    private boolean noticeSent;

    ReceiveSide(RcQueuePair qp) {
        this.qp = qp;
        queue = qp.receiveQueue();
    }

    /** The other end will start with this PSN. */
    void start(int psn) {
        expectedPsn = psn;
    }

    ServedPulls pulls() {
        ServedPulls there = pulls;
        if (there == null) {
            there = new ServedPulls(qp.device.settings.maxReadAtomic());
            pulls = there;
        }
        return there;
    }

    /** True when responses of READs or atomics wait to be sent. */
    boolean hasPulls() {
        ServedPulls there = pulls;
        return there != null && there.hasPending();
    }

    /** True when there is anything to send. */
    boolean owes() {
        return ackOwed || nakOwed != 0 || hasPulls();
    }

    /** The expected packet was taken. */
    void takePacket(int psns) {
        expectedPsn = Psn24.add(expectedPsn, psns);
        inGap = false;
        nakOwed = 0;
    }

    /** A NAK or RNR is to be sent, in place of what else is owed. */
    void owe(int syndrome, int psn) {
        nakOwed = syndrome;
        nakPsn = psn;
        ackOwed = false;
    }

    /** True when no congestion notice was sent lately. */
    boolean mayNotice(long nowNs) {
        return !noticeSent || nowNs - nextNoticeNs >= 0;
    }

    /** A congestion notice is sent. */
    void noticeSent(long nowNs, long intervalNs) {
        noticeSent = true;
        nextNoticeNs = nowNs + intervalNs;
    }

    // Receives

    /** True when there is a receive for the message that comes next, or is arriving. */
    boolean hasReceive() {
        SharedReceives shared = qp.settings().shared();
        return headSeq < queue.tail() || (shared != null && shared.take(queue, headSeq));
    }

    /**
     * The syndrome of an ACK: with as many credits as there are receives that no message has
     * completed, and without any where other queue pairs may take the same receives.
     */
    int ack() {
        return qp.settings().shared() != null
                ? Syndrome.ACK_NO_CREDITS
                : Syndrome.ackWithCredits((int) (queue.tail() - headSeq));
    }

    /** The receive that {@link #hasReceive} found. */
    long receive() {
        return headSeq;
    }

    /** The message of the receive is complete. */
    void completeReceive(WcOpcode opcode, long bytes, int value, CompletionRing.Extra extra) {
        report(WcStatus.SUCCESS, opcode, bytes, value, extra);
    }

    /** The receive cannot take its message: with its report the queue pair is to fail. */
    void spoilReceive(WcStatus status) {
        spoilt = status;
        report(status, WcOpcode.RECEIVE, 0, 0, CompletionRing.Extra.NONE);
    }

    private void report(
            WcStatus status, WcOpcode opcode, long bytes, int value, CompletionRing.Extra extra) {
        qp.receiveRoom()
                .ring()
                .push(queue, headSeq, queue.wrId(headSeq), status, opcode, bytes, value, extra);
        headSeq++;
    }

    /** How a receive ended that could not take its message; SUCCESS for none. */
    WcStatus spoiltStatus() {
        return spoilt;
    }

    /** All receives are reported as flushed. */
    void flush() {
        long tail = queue.tail();
        while (headSeq < tail) {
            report(WcStatus.WR_FLUSH_ERROR, WcOpcode.RECEIVE, 0, 0, CompletionRing.Extra.NONE);
        }
        message = Message.NONE;
        ServedPulls there = pulls;
        if (there != null) {
            there.clear();
        }
        ackOwed = false;
    }
}
