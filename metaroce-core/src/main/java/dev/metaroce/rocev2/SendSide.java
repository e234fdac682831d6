package dev.metaroce.rocev2;

import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkQueue;
import dev.metaroce.util.ReadyList;
import dev.metaroce.wire.Opcode;
import dev.metaroce.wire.roce.Psn24;
import dev.metaroce.wire.roce.Syndrome;

/**
 * The requester of a queue pair: which request has which PSNs, what is acknowledged, and what goes
 * next. Going back is a matter of three numbers, as nothing is remembered of single packets.
 *
 * <pre>
 *   headSeq                  sendSeq                     requests, in post order
 *      |  una      sendPsn      |            maxPsn
 *   ---+---+---------+----------+---------------+------> PSNs
 *   acknowledged     sent again        sent once
 * </pre>
 *
 * <p>A request takes one PSN for each packet; a READ takes those of its responses. A READ longer
 * than half the window is asked for in parts of that size, so that a target never sends more than
 * the window; parts that are asked for again end where they ended before. Owner: the engine thread.
 */
final class SendSide extends ReadyList.Item<SendSide> {
    private static final long NONE = -1;

    final RcQueuePair qp;
    final WorkQueue queue;

    /** By slot: the first PSN of a request that was begun. */
    private final int[] firstPsn;

    private long headSeq;
    private long sendSeq;
    private int unaPsn;
    private int sendPsn;
    private int maxPsn;

    /** The request {@link #sendSeq} has its PSNs. */
    private boolean begun;

    /** Parts of READs, and atomics, sent since it went back last and not answered. */
    private int openPulls;

    /** Packets since the last one that asks for an acknowledgement. */
    private int unasked;

    private long refusedSeq = NONE;
    private WcStatus refusedStatus = WcStatus.SUCCESS;

    // Retries
    /** How often it went back since anything was acknowledged. */
    int retries;

    /** When anything was acknowledged, or sent again, last. */
    long progressNs;

    /** A response was missed and asked for again, and nothing was acknowledged since. */
    boolean awaitsMissed;

    /** The last response that came out of sequence, meaningful while {@link #awaitsMissed}. */
    int lastAheadPsn;

    /** Not before this time may it send: the other end had no receive. */
    long pausedUntilNs;

    /** How often in a row, and since when, the other end had no receive for the oldest packet. */
    int notReadyCount;

    long notReadySinceNs;

    // Credits: requests that take a receive of the other end, counted modulo 2^32
    /** Those finished. */
    private int finishedTakes;

    /** Those before {@link #sendSeq}. */
    private int sentTakes;

    /** The other end told how many receives it has. */
    private boolean credited;

    /** Those that it has receives for, meaningful while {@link #credited}. */
    private int creditedTakes;

    SendSide(RcQueuePair qp, int psn) {
        this.qp = qp;
        queue = qp.sendQueue();
        firstPsn = new int[queue.slots()];
        start(psn);
    }

    /** Nothing was sent yet: the first packet is to have this PSN. */
    final void start(int psn) {
        unaPsn = psn;
        sendPsn = psn;
        maxPsn = psn;
    }

    private static int steps(int from, int to) {
        return (to - from) & Psn24.MASK;
    }

    Opcode opcode(long seq) {
        return Opcode.ofValid(queue.opcode(seq));
    }

    // What to send

    /** PSNs sent and not acknowledged. */
    int outstanding() {
        return steps(unaPsn, maxPsn);
    }

    /** True when a packet could be sent now, whatever its rate and an RNR say. */
    boolean hasWork() {
        if (qp.state() != QpState.RTS || sendSeq >= end()) {
            return false;
        }
        int onTheWay = steps(unaPsn, sendPsn);
        // Who has no receive is asked with one packet, not with all of the window each time.
        if (onTheWay >= (mayNotBeReady() ? 1 : qp.device.settings.windowPackets())) {
            return false;
        }
        if (!opcode(sendSeq).isPull()) {
            return !isFencedOff();
        }
        boolean fits = onTheWay + nextPsns() <= qp.device.settings.windowPackets();
        return (fits || onTheWay == 0) && openPulls < qp.reads && !isFencedOff();
    }

    /** True when the next request is a READ or an atomic, and the other end serves none. */
    boolean asksInVain() {
        return qp.state() == QpState.RTS
                && qp.reads == 0
                && sendSeq < end()
                && opcode(sendSeq).isPull();
    }

    /** True when the next packet is one of a request that found no receive, or has no credit. */
    private boolean mayNotBeReady() {
        boolean beyond = credited && sentTakes - creditedTakes >= 0;
        return notReadyCount > 0 || (beyond && opcode(sendSeq).consumesReceive());
    }

    /**
     * All that is acknowledged was done when the other end had so many receives left, that of a
     * message which has begun to arrive included.
     *
     * @param receives or {@link Syndrome#UNLIMITED}: it does not tell
     */
    void credit(int receives) {
        credited = receives != Syndrome.UNLIMITED;
        creditedTakes = finishedTakes + receives;
    }

    private boolean isFencedOff() {
        return openPulls > 0 && isAtStart() && queue.fenced(sendSeq);
    }

    /** The request before which to stop. */
    private long end() {
        return refusedSeq == NONE ? queue.tail() : refusedSeq;
    }

    /** True when everything posted is finished, or flushed. */
    boolean isFinished() {
        return headSeq == queue.tail();
    }

    /** The request to send from. */
    long sendSeq() {
        return sendSeq;
    }

    int sendPsn() {
        return sendPsn;
    }

    /** True when nothing of the request was sent, or all that was is sent again. */
    private boolean isAtStart() {
        return !begun || sendPsn == firstPsn[queue.index(sendSeq)];
    }

    /** Where the next packet starts in its message, in bytes. */
    long sendOffset() {
        return begun ? (long) steps(firstPsn[queue.index(sendSeq)], sendPsn) * qp.mtu : 0;
    }

    /** True when the next packet was sent before. */
    boolean isRepeat() {
        return sendPsn != maxPsn;
    }

    private int packets(long seq) {
        long length = opcode(seq).isAtomic() ? 0 : queue.length(seq);
        return (int) Math.max(1, (length + qp.mtu - 1) / qp.mtu);
    }

    /** PSNs that the next packet takes: those of its responses, if it asks for any. */
    int nextPsns() {
        if (!opcode(sendSeq).isPull()) {
            return 1;
        }
        int done = begun ? steps(firstPsn[queue.index(sendSeq)], sendPsn) : 0;
        int part = qp.device.partPackets;
        return Math.min(packets(sendSeq) - done, part - done % part);
    }

    /** True when a part of a READ ends before this PSN of the oldest request. */
    private boolean endsPart(int psn) {
        int first = firstPsn[queue.index(headSeq)];
        return steps(first, psn) % qp.device.partPackets == 0;
    }

    /**
     * The next packet is sent.
     *
     * @param asks it ends its message, and so asks for an acknowledgement anyway
     * @return true when it asks for one
     */
    boolean advance(boolean asks) {
        if (!begun) {
            firstPsn[queue.index(sendSeq)] = sendPsn;
            begun = true;
        }
        boolean tries = mayNotBeReady();
        int taken = nextPsns();
        int last = Psn24.add(firstPsn[queue.index(sendSeq)], packets(sendSeq));
        boolean repeat = isRepeat();
        openPulls += opcode(sendSeq).isPull() ? 1 : 0;
        sendPsn = Psn24.add(sendPsn, taken);
        maxPsn = repeat ? maxPsn : sendPsn;
        if (sendPsn == last) {
            sentTakes += opcode(sendSeq).consumesReceive() ? 1 : 0;
            sendSeq++;
            begun = false;
        }
        unasked++;
        boolean asked = asks || tries || unasked == qp.device.packetsPerAck;
        unasked = asked ? 0 : unasked;
        return asked;
    }

    /** Everything from the oldest PSN that is not acknowledged on is sent again. */
    void goBack() {
        awaitsMissed = false;
        if (outstanding() > 0) {
            sendFromOldest();
        }
    }

    private void sendFromOldest() {
        sendSeq = headSeq;
        sentTakes = finishedTakes;
        sendPsn = unaPsn;
        begun = unaPsn != maxPsn;
        openPulls = 0;
        unasked = 0;
    }

    // What was answered

    /** True when this PSN was sent and is not acknowledged. */
    boolean isOpen(int psn) {
        return steps(unaPsn, psn) < outstanding();
    }

    /**
     * All PSNs before {@code limit}, which is open or the next to be sent, were taken. Completes
     * SENDs and WRITEs; a READ or an atomic is complete with its response only.
     *
     * @return false when such a one is before the limit: its response got lost
     */
    boolean acknowledgeBefore(int limit) {
        boolean whole = true;
        while (unaPsn != limit && whole) {
            whole = !opcode(headSeq).isPull();
            if (whole) {
                takeOldest(Math.min(leftOfHead(), steps(unaPsn, limit)));
            }
        }
        return whole;
    }

    /** PSNs of the oldest request that are not acknowledged. */
    private int leftOfHead() {
        int first = firstPsn[queue.index(headSeq)];
        return packets(headSeq) - steps(first, unaPsn);
    }

    private void takeOldest(int psns) {
        boolean whole = psns == leftOfHead();
        boolean behind = steps(unaPsn, sendPsn) < psns;
        unaPsn = Psn24.add(unaPsn, psns);
        openPulls -= opcode(headSeq).isPull() && (whole || endsPart(unaPsn)) ? 1 : 0;
        if (whole) {
            finishedTakes += opcode(headSeq).consumesReceive() ? 1 : 0;
            qp.sendRoom().ring().pushSend(queue, headSeq, WcStatus.SUCCESS);
            headSeq++;
        }
        if (behind) {
            sendFromOldest();
        }
        retries = 0;
        notReadyCount = 0;
        awaitsMissed = false;
    }

    /** The request that the oldest open PSN belongs to. */
    long headSeq() {
        return headSeq;
    }

    int unaPsn() {
        return unaPsn;
    }

    /** Where the oldest open packet, or its response, is in its message, in bytes. */
    long headOffset() {
        return (long) steps(firstPsn[queue.index(headSeq)], unaPsn) * qp.mtu;
    }

    /** The oldest open PSN, of a READ or an atomic, was answered. */
    void takeResponse() {
        takeOldest(1);
        endIfRefused();
    }

    /**
     * A request cannot be sent. It ends with {@code status} when all before it are finished;
     * nothing from it on is sent any more.
     */
    void refuse(long seq, WcStatus status) {
        if (refusedSeq == NONE || seq < refusedSeq) {
            refusedSeq = seq;
            refusedStatus = status;
            endIfRefused();
        }
    }

    /** To be called when requests may have been finished. */
    void endIfRefused() {
        if (headSeq == refusedSeq) {
            qp.fail(refusedStatus);
        }
    }

    /** The oldest request ends with {@code oldest}, all others that were posted are flushed. */
    void flush(WcStatus oldest) {
        WcStatus status = oldest;
        for (long tail = queue.tail(); headSeq < tail; headSeq++) {
            qp.sendRoom().ring().pushSend(queue, headSeq, status);
            status = WcStatus.WR_FLUSH_ERROR;
        }
        sendSeq = headSeq;
        begun = false;
        unaPsn = maxPsn;
        sendPsn = maxPsn;
    }

    // Reports

    /** Bytes of a request that are not acknowledged, 0 when there is none of that number. */
    long unacknowledgedBytes(long wrId) {
        for (long seq = headSeq; seq < queue.tail(); seq++) {
            if (queue.wrId(seq) == wrId) {
                long taken = seq == headSeq && outstanding() > 0 ? headOffset() : 0;
                return Math.max(0, queue.length(seq) - taken);
            }
        }
        return 0;
    }

    String stateText() {
        return "PSN 0x%06x, %d packets not acknowledged, %d requests not finished"
                .formatted(sendPsn, outstanding(), queue.tail() - headSeq);
    }
}
