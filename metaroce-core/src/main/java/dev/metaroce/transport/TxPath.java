package dev.metaroce.transport;

import dev.metaroce.path.PathState;
import dev.metaroce.util.WindowBitmap;
import dev.metaroce.wire.CommonHeader;

import org.jspecify.annotations.Nullable;

/**
 * The sending end of a path: a sequence of PSNs and, for each one unacknowledged, which part of
 * which work request it carries, so that the packet can be made again at any time. The bytes
 * themselves stay in registered memory. Memory comes with the packets that were unacknowledged at
 * once, up to the window.
 *
 * <p>Owner: the engine thread.
 */
final class TxPath {
    static final int WINDOW = PathState.MAX_WINDOW_PACKETS;

    /** Acknowledged, or never used. */
    static final byte ACKED = 0;

    static final byte IN_FLIGHT = 1;

    /** To be sent again. */
    static final byte LOST = 2;

    /** Refused for want of a receive; to be sent again later. */
    static final byte DEFERRED = 3;

    /** What only a reply acknowledges: not known to have arrived, or known. */
    private static final byte ASKED = 1;

    private static final byte ASK_ARRIVED = 2;

    final PathState state;
    private final TxLease lease;
    private final TxSlots slots = new TxSlots();
    private final long[] lost = new long[WindowBitmap.WORDS];
    private final ReorderGuard guard = new ReorderGuard();

    private int lostCount;
    private int deferredCount;

    /** Of the packets in flight, requests that are known to have arrived. */
    private int waitingCount;

    private long deferredUntilNs;
    private int una;
    private long unaSinceNs;

    /** The oldest packet was set aside, and not sent since. */
    private boolean unaPaused;

    private int nextPsn;
    private int order;
    private int cePackets;

    /** What is in flight does not count for the limits of the lease. */
    private boolean uncounted;

    boolean probeWanted;
    private boolean probed;
    private int probeTime;

    /** Number of the sending that was to follow the last probe. */
    private int probedOrder;

    /** The first route of a path that is away is to be asked. */
    boolean homeWanted;

    TxPath(TxLease lease, PathState state) {
        this.lease = lease;
        this.state = state;
    }

    void reset(int initialPsn) {
        slots.clear();
        WindowBitmap.clear(lost, 0);
        lostCount = 0;
        deferredCount = 0;
        waitingCount = 0;
        una = initialPsn;
        nextPsn = initialPsn;
        unaPaused = false;
        order = 1;
        guard.reset();
        cePackets = 0;
        uncounted = false;
        probeWanted = false;
        homeWanted = false;
        probed = false;
        probedOrder = 0;
    }

    /** Oldest unacknowledged PSN. */
    int una() {
        return una;
    }

    int nextPsn() {
        return nextPsn;
    }

    boolean isAllAcked() {
        return una == nextPsn;
    }

    /** True when another PSN fits the SACK window. */
    boolean hasPsn() {
        return nextPsn - una < lease.psnSpan;
    }

    int lostCount() {
        return lostCount;
    }

    /**
     * Assigns the next PSN to a part of a work request.
     *
     * @param from where the part starts in the work request
     * @param partBytes bytes of the message that the packet carries, or asks for
     * @param messageNumber MSN of the message it belongs to
     * @param messageSlot slot of that message, {@code DataHeader.NO_SLOT} when this is all of it
     * @param asks the packet is done with its reply, not with its arrival
     */
    int assign(
            Stream owner,
            long workSeq,
            long from,
            int partBytes,
            int messageNumber,
            int messageSlot,
            boolean asks) {
        if (nextPsn - una > slots.mask()) {
            grow();
        }
        int at = slots.at(nextPsn);
        slots.stream[at] = owner;
        slots.seq[at] = workSeq;
        slots.offset[at] = from;
        slots.bytes[at] = partBytes;
        slots.pull[at] = asks ? ASKED : 0;
        slots.msn[at] = messageNumber;
        slots.slot[at] = (short) messageSlot;
        slots.resent[at] = false;
        slots.status[at] = ACKED;
        if (asks) {
            lease.onPull(partBytes);
        }
        return nextPsn++;
    }

    private void grow() {
        slots.grow();
        WindowBitmap.clear(lost, 0);
        for (int psn = una; psn != nextPsn; psn++) {
            int at = slots.at(psn);
            if (slots.status[at] == LOST) {
                WindowBitmap.set(lost, 0, at);
            }
        }
        for (int psn = nextPsn; psn - una <= slots.mask(); psn++) {
            slots.status[slots.at(psn)] = ACKED;
        }
    }

    /** The packet goes out now, {@code wholeBytes} long with headers and checksum. */
    void onSent(int psn, int wholeBytes, int txTime, long nowNs) {
        int at = slots.at(psn);
        slots.packetBytes[at] = wholeBytes;
        slots.sentOrder[at] = order++;
        slots.sentTime[at] = txTime;
        slots.status[at] = IN_FLIGHT;
        //= MR-4.5-12
        if (psn == una && (unaPaused || !slots.resent[at])) {
            unaSinceNs = nowNs;
            unaPaused = false;
        }
        state.onSent(nowNs);
        if (slots.pull[at] == ASK_ARRIVED) {
            waitingCount++;
        } else if (!uncounted) {
            lease.onSent(payload(at));
        }
    }

    private int payload(int at) {
        return slots.pull[at] == 0 ? slots.bytes[at] : 0;
    }

    private void leaveNetwork(int at) {
        state.onGone();
        if (slots.pull[at] == ASK_ARRIVED) {
            waitingCount--;
        } else if (!uncounted) {
            lease.onGone(payload(at));
        }
    }

    /** Whether what is in flight counts for the limits of the lease. */
    void count(boolean counts) {
        if (counts != uncounted) {
            return;
        }
        uncounted = !counts;
        for (int psn = una; psn != nextPsn; psn++) {
            int at = slots.at(psn);
            if (slots.status[at] == IN_FLIGHT && slots.pull[at] != ASK_ARRIVED) {
                if (counts) {
                    lease.onSent(payload(at));
                } else {
                    lease.onGone(payload(at));
                }
            }
        }
    }

    /**
     * Lost packets that may be sent now. A request that is at the target may wait there for just
     * such a packet, and must not keep it back.
     */
    int resendWindow() {
        //= MR-5.2-7
        return state.freeWindow() + waitingCount;
    }

    /** Takes the oldest lost packet out of the lost ones to be sent again; there must be one. */
    int takeLost() {
        int bit = WindowBitmap.nextSet(lost, 0, slots.at(una));
        if (bit < 0) {
            bit = WindowBitmap.nextSet(lost, 0, 0);
        }
        clearLost(bit);
        slots.resent[bit] = true;
        return una + ((bit - una) & slots.mask());
    }

    private void toLost(int at) {
        slots.status[at] = LOST;
        WindowBitmap.set(lost, 0, at);
        lostCount++;
    }

    private void clearLost(int at) {
        WindowBitmap.unset(lost, 0, at);
        lostCount--;
    }

    /** Null when the packet became a SKIP. */
    @Nullable Stream stream(int psn) {
        return slots.stream[slots.at(psn)];
    }

    long seq(int psn) {
        return slots.seq[slots.at(psn)];
    }

    /** Where the payload starts in its work request. */
    long offset(int psn) {
        return slots.offset[slots.at(psn)];
    }

    int msn(int psn) {
        return slots.msn[slots.at(psn)];
    }

    int slot(int psn) {
        return slots.slot[slots.at(psn)] & 0xFFFF;
    }

    /** Bytes of the message that the packet carries, or asks for. */
    int bytes(int psn) {
        return slots.bytes[slots.at(psn)];
    }

    /** Bytes that the packet carries. */
    int payloadBytes(int psn) {
        return payload(slots.at(psn));
    }

    /** True when only a reply acknowledges the packet; a flushed request wants none any more. */
    boolean awaitsReply(int psn) {
        int at = slots.at(psn);
        Stream asking = slots.stream[at];
        return slots.pull[at] != 0 && asking != null && !asking.inError();
    }

    /** True when a packet that waits for its reply is known to have arrived. */
    boolean hasArrived(int psn) {
        return slots.pull[slots.at(psn)] == ASK_ARRIVED;
    }

    /** Bytes of the whole packet when it was sent last; a SKIP is shorter than what it replaces. */
    int packetBytes(int psn) {
        return slots.packetBytes[slots.at(psn)];
    }

    byte status(int psn) {
        return slots.status[slots.at(psn)];
    }

    boolean isOutstanding(int psn) {
        return psn - una >= 0 && psn - nextPsn < 0 && slots.status[slots.at(psn)] != ACKED;
    }

    /**
     * The packet is done with: it arrived, or its reply came. Returns false when that was known.
     * Moves nothing but its own state.
     */
    boolean acknowledge(int psn, int echoTime) {
        int at = slots.at(psn);
        byte before = slots.status[at];
        if (before == ACKED) {
            return false;
        }
        slots.status[at] = ACKED;
        if (slots.pull[at] != 0) {
            lease.onAnswered(slots.bytes[at]);
        }
        switch (before) {
            case IN_FLIGHT -> {
                leaveNetwork(at);
                if (slots.pull[at] == 0 && isLatestCopy(at, echoTime)) {
                    guard.onDelivered(slots.sentOrder[at], slots.sentTime[at]);
                }
            }
            case LOST -> clearLost(at);
            default -> deferredCount--;
        }
        return true;
    }

    /** A request that waits for its reply is known to have arrived. */
    void reach(int psn, int echoTime) {
        int at = slots.at(psn);
        if (slots.status[at] == IN_FLIGHT) {
            if (!uncounted) {
                lease.onGone(payload(at));
            }
            waitingCount++;
            if (isLatestCopy(at, echoTime)) {
                guard.onDelivered(slots.sentOrder[at], slots.sentTime[at]);
            }
        }
        slots.pull[at] = ASK_ARRIVED;
    }

    /** The echo speaks of the packet as it was sent last. */
    private boolean isLatestCopy(int at, int echoTime) {
        //= MR-4.3-7
        return !slots.resent[at] || echoTime == slots.sentTime[at];
    }

    /** True when a reply to this packet may tell that others are missing. */
    boolean tellsOfOthers(int psn, int echoTime) {
        int at = slots.at(psn);
        return psn == una
                ? slots.resent[at] && echoTime == slots.sentTime[at]
                : isLatestCopy(at, echoTime);
    }

    /** True when the first copy arrived although the packet was sent again: it was not lost. */
    boolean isSpurious(int psn, int echoTime) {
        int at = slots.at(psn);
        return slots.status[at] == IN_FLIGHT
                && slots.resent[at]
                && echoTime - slots.sentTime[at] < 0;
    }

    /** Passes everything that is acknowledged. */
    void advance(long nowNs) {
        int before = una;
        while (una != nextPsn && slots.status[slots.at(una)] == ACKED) {
            una++;
        }
        if (una != before) {
            unaSinceNs = nowNs;
        }
    }

    /** A READ that waits behind a request without a receive is not stuck. */
    void excuse(Stream waiting, long behindSeq, long nowNs) {
        int at = slots.at(una);
        if (!isAllAcked()
                && slots.stream[at] == waiting
                && slots.pull[at] != 0
                && slots.seq[at] > behindSeq) {
            unaSinceNs = nowNs;
            unaPaused = false;
        }
    }

    /**
     * Since when the oldest unacknowledged packet is the oldest, or was last refused for want of a
     * receive; meaningful while there is one.
     */
    long unaSinceNs() {
        return unaSinceNs;
    }

    /** Newly congestion-marked packets, from the peer's cumulative count. */
    int newCePackets(int cumulative) {
        int fresh = cumulative - cePackets;
        if (fresh <= 0) {
            return 0;
        }
        cePackets = cumulative;
        return fresh;
    }

    // Loss

    /** The path delivered a packet late: judge loss more patiently for a while. */
    void onSpurious(int psn) {
        guard.onSpurious(slots.sentOrder[slots.at(psn)], order);
    }

    void onDelivered(int packets) {
        guard.onAcknowledged(packets);
    }

    /** When the oldest unacknowledged packet was sent last; now, when it is not in flight. */
    long waitingSinceNs(long nowNs) {
        int at = slots.at(una);
        if (isAllAcked() || slots.status[at] != IN_FLIGHT) {
            return nowNs;
        }
        int age = CommonHeader.toTxTime(nowNs) - slots.sentTime[at];
        return nowNs - Math.max(0, age) * (long) CommonHeader.TX_TIME_UNIT_NS;
    }

    /** True when the oldest packet is on the way, and is not known to have arrived. */
    boolean isWaiting() {
        int at = slots.at(una);
        return una != nextPsn && slots.status[at] == IN_FLIGHT && slots.pull[at] != ASK_ARRIVED;
    }

    /** When the oldest packet was sent last. */
    int unaSentTime() {
        return slots.sentTime[slots.at(una)];
    }

    /** True for a packet in flight when something that was sent later is known to have arrived. */
    boolean isOvertaken(int psn) {
        int at = slots.at(psn);
        return slots.status[at] == IN_FLIGHT
                && slots.pull[at] != ASK_ARRIVED
                && guard.isOvertaken(slots.sentOrder[at], slots.sentTime[at], state.rtt().srttNs());
    }

    /**
     * True for a packet in flight that was sent before something that is known to have arrived and
     * carried this TxTime.
     */
    boolean isOlderThan(int psn, int echoTime) {
        int at = slots.at(psn);
        return slots.status[at] == IN_FLIGHT
                && slots.pull[at] != ASK_ARRIVED
                && isBefore(at, echoTime);
    }

    private boolean isBefore(int at, int echoTime) {
        int age = echoTime - slots.sentTime[at];
        int patience = guard.patience(state.rtt().srttNs());
        // A probe may go in the same unit of time as what it follows.
        boolean followed = probed && echoTime == probeTime && slots.sentOrder[at] - probedOrder < 0;
        return age > patience || (followed && age == patience);
    }

    /**
     * True when the reply to one packet tells that the reply to another is lost: that one was asked
     * for before it and had to be executed before it.
     */
    boolean isUnanswered(int psn, int replied) {
        int at = slots.at(psn);
        int by = slots.at(replied);
        // What is answered now may have given later requests of its stream their turn.
        //= MR-4.6-6
        return isAskedInTurn(at)
                && guard.isOvertakenBy(
                        slots.sentOrder[by],
                        slots.sentTime[by],
                        slots.sentOrder[at],
                        slots.sentTime[at],
                        state.rtt().srttNs())
                && (slots.stream[at] != slots.stream[by] || slots.msn[at] - slots.msn[by] <= 0);
    }

    /** True when the answer to a probe of that time tells that the reply to a packet is lost. */
    boolean isUnansweredAt(int psn, int echoTime) {
        int at = slots.at(psn);
        return isAskedInTurn(at) && isBefore(at, echoTime);
    }

    /** In flight, waits for a reply, and the target has all earlier messages of its stream. */
    private boolean isAskedInTurn(int at) {
        Stream asking = slots.stream[at];
        return slots.status[at] == IN_FLIGHT
                && slots.pull[at] != 0
                && asking != null
                && asking.sent.ahead(slots.msn[at]) <= 0;
    }

    /** A packet in flight will not arrive. */
    void markLost(int psn) {
        int at = slots.at(psn);
        if (slots.status[at] == IN_FLIGHT) {
            leaveNetwork(at);
            toLost(at);
        }
    }

    /** The oldest packet, when its reply is overdue, is sent again: it asks better than a probe. */
    void askAgain() {
        //= MR-4.6-17
        if (una != nextPsn && isAskedInTurn(slots.at(una))) {
            markLost(una);
        }
    }

    /** Everything from {@code from} on is sent again; returns the packets that were in flight. */
    int markLostFrom(int from) {
        int count = 0;
        for (int psn = from; psn != nextPsn; psn++) {
            if (slots.status[slots.at(psn)] == IN_FLIGHT) {
                markLost(psn);
                count++;
            }
        }
        return count;
    }

    /** The target had no receive for it: leave it alone until {@code untilNs}. */
    void defer(int psn, long nowNs, long untilNs) {
        int at = slots.at(psn);
        if (psn == una) {
            unaSinceNs = nowNs;
        }
        if (slots.status[at] == IN_FLIGHT) {
            leaveNetwork(at);
        } else if (slots.status[at] == LOST) {
            clearLost(at);
        } else {
            return;
        }
        slots.status[at] = DEFERRED;
        if (deferredCount == 0 || untilNs - deferredUntilNs < 0) {
            deferredUntilNs = untilNs;
        }
        deferredCount++;
    }

    boolean hasDeferred() {
        return deferredCount > 0;
    }

    /** When the first pause of a stream with packets set aside may be over. */
    long deferredUntilNs() {
        return deferredUntilNs;
    }

    /** True when the oldest packet waits, or has just waited, for a receive of the target. */
    boolean isPaused() {
        return una != nextPsn && (unaPaused || slots.status[slots.at(una)] == DEFERRED);
    }

    /** True for the one packet that asks whether the target has a receive now. */
    boolean isAsking(int psn) {
        Stream from = slots.stream[slots.at(psn)];
        return from != null
                && from.notReadyCount > 0
                && from.notReadyPath == this
                && from.notReadyPsn == psn;
    }

    /** Profile S: true when nothing behind the oldest packet would be kept, but for luck. */
    boolean isHeldBack() {
        return una != nextPsn && isAsking(una);
    }

    /** The stream found a receive: all that it has set aside is to be sent again. */
    void resumeAll(Stream resumed) {
        for (int psn = una; psn != nextPsn && deferredCount > 0; psn++) {
            int at = slots.at(psn);
            if (slots.status[at] == DEFERRED && slots.stream[at] == resumed) {
                deferredToLost(psn);
            }
        }
    }

    /** A packet that asks, and whose pause is over, is to be sent again; all others wait for it. */
    void resumeDeferred(long nowNs) {
        long leftNs = Long.MAX_VALUE / 2;
        for (int psn = una; psn != nextPsn && deferredCount > 0; psn++) {
            Stream from = slots.stream[slots.at(psn)];
            if (from == null || slots.status[slots.at(psn)] != DEFERRED || !isAsking(psn)) {
                continue;
            }
            long pauseNs = from.pausedUntilNs - nowNs;
            if (pauseNs <= 0) {
                deferredToLost(psn);
            } else {
                leftNs = Math.min(leftNs, pauseNs);
            }
        }
        deferredUntilNs = nowNs + leftNs;
    }

    private void deferredToLost(int psn) {
        unaPaused |= psn == una;
        deferredCount--;
        toLost(slots.at(psn));
    }

    /** Packets of a stream, from one request on, turn into SKIPs that are sent at once. */
    void abandon(Stream failed, long fromSeq) {
        for (int psn = una; psn != nextPsn; psn++) {
            int at = slots.at(psn);
            if (slots.stream[at] == failed
                    && slots.seq[at] >= fromSeq
                    && slots.status[at] != ACKED) {
                slots.stream[at] = null;
                if (slots.status[at] == IN_FLIGHT) {
                    markLost(psn);
                } else if (slots.status[at] == DEFERRED) {
                    deferredToLost(psn);
                }
                if (slots.pull[at] != 0) {
                    slots.pull[at] = 0;
                    lease.onAnswered(slots.bytes[at]);
                    slots.bytes[at] = 0;
                }
            }
        }
    }

    // Probes

    void onProbeSent(int txTime) {
        probed = true;
        probeTime = txTime;
        probedOrder = order;
        probeWanted = false;
    }

    /** Nothing follows for now that would tell of the last packets: a probe is to do so. */
    void probeTail() {
        probeWanted |= state.inFlight() > 0 && order != probedOrder;
    }

    /** True when a probe went that an answer may be to. */
    boolean isProbed() {
        return probed;
    }

    /**
     * The time before which an answer to a probe tells all: it may echo what arrived right behind
     * the probe. Not only the latest probe counts: when the way has become much longer, every
     * answer is to an earlier one.
     */
    int toldUntil(int echoTime) {
        //= MR-4.3-11
        return echoTime - probeTime > 0 ? probeTime : echoTime;
    }

    @Override
    public String toString() {
        return (nextPsn - una)
                + " packets open, "
                + state.inFlight()
                + " in flight, "
                + lostCount
                + " lost, "
                + deferredCount
                + " deferred, "
                + state.timeouts()
                + " time-outs, route "
                + state.route();
    }
}
