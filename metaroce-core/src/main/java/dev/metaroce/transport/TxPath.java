package dev.metaroce.transport;

import dev.metaroce.path.PathState;
import dev.metaroce.util.WindowBitmap;
import dev.metaroce.wire.CommonHeader;

import org.jspecify.annotations.Nullable;

import java.util.Arrays;

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

    /** Packets that a new path can have unacknowledged without growing. */
    private static final int FIRST_SLOTS = 8;

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
    // By PSN modulo their length, a power of two.
    private @Nullable Stream[] stream = new Stream[FIRST_SLOTS];
    private long[] seq = new long[FIRST_SLOTS];
    private long[] offset = new long[FIRST_SLOTS];
    private int[] bytes = new int[FIRST_SLOTS];
    private int[] msn = new int[FIRST_SLOTS];
    private short[] slot = new short[FIRST_SLOTS];
    private int[] packetBytes = new int[FIRST_SLOTS];
    private int[] sentOrder = new int[FIRST_SLOTS];
    private int[] sentTime = new int[FIRST_SLOTS];
    private boolean[] resent = new boolean[FIRST_SLOTS];
    private byte[] pull = new byte[FIRST_SLOTS];
    private byte[] status = new byte[FIRST_SLOTS];
    private final long[] lost = new long[WindowBitmap.WORDS];

    /** Length of the arrays, less one. */
    private int mask = FIRST_SLOTS - 1;

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
    private int deliveredOrder;
    private int guardPackets;
    private int quietPackets;
    private int cePackets;

    /** What is in flight does not count for the limits of the lease. */
    private boolean uncounted;

    boolean probeWanted;

    /** The first route of a path that is away is to be asked. */
    boolean homeWanted;

    TxPath(TxLease lease, PathState state) {
        this.lease = lease;
        this.state = state;
    }

    void reset(int initialPsn) {
        Arrays.fill(stream, null);
        Arrays.fill(status, ACKED);
        WindowBitmap.clear(lost, 0);
        lostCount = 0;
        deferredCount = 0;
        waitingCount = 0;
        una = initialPsn;
        nextPsn = initialPsn;
        unaPaused = false;
        order = 1;
        deliveredOrder = 0;
        guardPackets = 0;
        quietPackets = 0;
        cePackets = 0;
        uncounted = false;
        probeWanted = false;
        homeWanted = false;
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
        return nextPsn - una < WINDOW;
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
        if (nextPsn - una > mask) {
            grow();
        }
        int at = nextPsn & mask;
        stream[at] = owner;
        seq[at] = workSeq;
        offset[at] = from;
        bytes[at] = partBytes;
        pull[at] = asks ? ASKED : 0;
        msn[at] = messageNumber;
        slot[at] = (short) messageSlot;
        resent[at] = false;
        status[at] = ACKED;
        if (asks) {
            lease.onPull(partBytes);
        }
        return nextPsn++;
    }

    /** Twice the slots. Whichever half a packet's slot is in from now on, it finds itself there. */
    private void grow() {
        int slots = mask + 1;
        stream = twice(stream, new Stream[2 * slots], slots);
        seq = twice(seq, new long[2 * slots], slots);
        offset = twice(offset, new long[2 * slots], slots);
        bytes = twice(bytes, new int[2 * slots], slots);
        msn = twice(msn, new int[2 * slots], slots);
        slot = twice(slot, new short[2 * slots], slots);
        packetBytes = twice(packetBytes, new int[2 * slots], slots);
        sentOrder = twice(sentOrder, new int[2 * slots], slots);
        sentTime = twice(sentTime, new int[2 * slots], slots);
        resent = twice(resent, new boolean[2 * slots], slots);
        pull = twice(pull, new byte[2 * slots], slots);
        byte[] before = status;
        status = new byte[2 * slots];
        mask = status.length - 1;
        WindowBitmap.clear(lost, 0);
        for (int psn = una; psn != nextPsn; psn++) {
            int at = psn & mask;
            status[at] = before[psn & (slots - 1)];
            if (status[at] == LOST) {
                WindowBitmap.set(lost, 0, at);
            }
        }
    }

    private static <T> T twice(T from, T to, int slots) {
        System.arraycopy(from, 0, to, 0, slots);
        System.arraycopy(from, 0, to, slots, slots);
        return to;
    }

    /** The packet goes out now, {@code wholeBytes} long with headers and checksum. */
    void onSent(int psn, int wholeBytes, int txTime, long nowNs) {
        int at = psn & mask;
        packetBytes[at] = wholeBytes;
        sentOrder[at] = order++;
        sentTime[at] = txTime;
        status[at] = IN_FLIGHT;
        //= MR-4.5-12
        if (psn == una && (unaPaused || !resent[at])) {
            unaSinceNs = nowNs;
            unaPaused = false;
        }
        state.onSent(nowNs);
        if (pull[at] == ASK_ARRIVED) {
            waitingCount++;
        } else if (!uncounted) {
            lease.onSent(payload(at));
        }
    }

    private int payload(int at) {
        return pull[at] == 0 ? bytes[at] : 0;
    }

    private void leaveNetwork(int at) {
        state.onGone();
        if (pull[at] == ASK_ARRIVED) {
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
            int at = psn & mask;
            if (status[at] == IN_FLIGHT && pull[at] != ASK_ARRIVED) {
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
        int bit = WindowBitmap.nextSet(lost, 0, una & mask);
        if (bit < 0) {
            bit = WindowBitmap.nextSet(lost, 0, 0);
        }
        clearLost(bit);
        resent[bit] = true;
        return una + ((bit - una) & mask);
    }

    private void toLost(int at) {
        status[at] = LOST;
        WindowBitmap.set(lost, 0, at);
        lostCount++;
    }

    private void clearLost(int at) {
        WindowBitmap.unset(lost, 0, at);
        lostCount--;
    }

    /** Null when the packet became a SKIP. */
    @Nullable Stream stream(int psn) {
        return stream[psn & mask];
    }

    long seq(int psn) {
        return seq[psn & mask];
    }

    /** Where the payload starts in its work request. */
    long offset(int psn) {
        return offset[psn & mask];
    }

    int msn(int psn) {
        return msn[psn & mask];
    }

    int slot(int psn) {
        return slot[psn & mask] & 0xFFFF;
    }

    /** Bytes of the message that the packet carries, or asks for. */
    int bytes(int psn) {
        return bytes[psn & mask];
    }

    /** Bytes that the packet carries. */
    int payloadBytes(int psn) {
        return payload(psn & mask);
    }

    /** True when only a reply acknowledges the packet; a flushed request wants none any more. */
    boolean awaitsReply(int psn) {
        int at = psn & mask;
        Stream asking = stream[at];
        return pull[at] != 0 && asking != null && !asking.inError();
    }

    /** True when a packet that waits for its reply is known to have arrived. */
    boolean hasArrived(int psn) {
        return pull[psn & mask] == ASK_ARRIVED;
    }

    /** Bytes of the whole packet when it was sent last; a SKIP is shorter than what it replaces. */
    int packetBytes(int psn) {
        return packetBytes[psn & mask];
    }

    byte status(int psn) {
        return status[psn & mask];
    }

    boolean isOutstanding(int psn) {
        return psn - una >= 0 && psn - nextPsn < 0 && status[psn & mask] != ACKED;
    }

    /**
     * The packet is done with: it arrived, or its reply came. Returns false when that was known.
     * Moves nothing but its own state.
     */
    boolean acknowledge(int psn, int echoTime) {
        int at = psn & mask;
        byte before = status[at];
        if (before == ACKED) {
            return false;
        }
        status[at] = ACKED;
        if (pull[at] != 0) {
            lease.onAnswered(bytes[at]);
        }
        switch (before) {
            case IN_FLIGHT -> {
                leaveNetwork(at);
                if (pull[at] == 0 && isLatestCopy(at, echoTime)) {
                    noteDelivered(sentOrder[at]);
                }
            }
            case LOST -> clearLost(at);
            default -> deferredCount--;
        }
        return true;
    }

    /** A request that waits for its reply is known to have arrived. */
    void reach(int psn, int echoTime) {
        int at = psn & mask;
        if (status[at] == IN_FLIGHT) {
            if (!uncounted) {
                lease.onGone(payload(at));
            }
            waitingCount++;
            if (isLatestCopy(at, echoTime)) {
                noteDelivered(sentOrder[at]);
            }
        }
        pull[at] = ASK_ARRIVED;
    }

    /** The echo speaks of the packet as it was sent last. */
    private boolean isLatestCopy(int at, int echoTime) {
        //= MR-4.3-7
        return !resent[at] || echoTime == sentTime[at];
    }

    /** True when a reply to this packet may tell that others are missing. */
    boolean tellsOfOthers(int psn, int echoTime) {
        int at = psn & mask;
        return psn == una ? resent[at] && echoTime == sentTime[at] : isLatestCopy(at, echoTime);
    }

    /** True when the first copy arrived although the packet was sent again: it was not lost. */
    boolean isSpurious(int psn, int echoTime) {
        int at = psn & mask;
        return status[at] == IN_FLIGHT && resent[at] && echoTime - sentTime[at] < 0;
    }

    private void noteDelivered(int sent) {
        if (sent - deliveredOrder > 0) {
            deliveredOrder = sent;
        }
    }

    /** Passes everything that is acknowledged. */
    void advance(long nowNs) {
        int before = una;
        while (una != nextPsn && status[una & mask] == ACKED) {
            una++;
        }
        if (una != before) {
            unaSinceNs = nowNs;
        }
    }

    /** A READ that waits behind a request without a receive is not stuck. */
    void excuse(Stream waiting, long behindSeq, long nowNs) {
        int at = una & mask;
        if (!isAllAcked() && stream[at] == waiting && pull[at] != 0 && seq[at] > behindSeq) {
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

    /** The path delivered out of order: judge loss more patiently for a while. */
    void onSpurious() {
        //= MR-4.3-6
        guardPackets = 3;
        quietPackets = 0;
    }

    void onDelivered(int packets) {
        quietPackets += packets;
        if (guardPackets > 0 && quietPackets > 4096) {
            guardPackets = 0;
        }
    }

    /** When the oldest unacknowledged packet was sent last; now, when it is not in flight. */
    long waitingSinceNs(long nowNs) {
        int at = una & mask;
        if (isAllAcked() || status[at] != IN_FLIGHT) {
            return nowNs;
        }
        int age = CommonHeader.toTxTime(nowNs) - sentTime[at];
        return nowNs - Math.max(0, age) * (long) CommonHeader.TX_TIME_UNIT_NS;
    }

    /** True when the oldest packet is on the way, and is not known to have arrived. */
    boolean isWaiting() {
        int at = una & mask;
        return una != nextPsn && status[at] == IN_FLIGHT && pull[at] != ASK_ARRIVED;
    }

    /** When the oldest packet was sent last. */
    int unaSentTime() {
        return sentTime[una & mask];
    }

    /** True for a packet in flight when something that was sent later is known to have arrived. */
    boolean isOvertaken(int psn) {
        int at = psn & mask;
        return status[at] == IN_FLIGHT && pull[at] != ASK_ARRIVED && isBefore(at, deliveredOrder);
    }

    /**
     * True when the reply to one packet tells that the reply to another is lost: that one was asked
     * for before it and had to be executed before it.
     */
    boolean isUnanswered(int psn, int replied) {
        int at = psn & mask;
        int by = replied & mask;
        // What is answered now may have given later requests of its stream their turn.
        //= MR-4.6-6
        return isAskedInTurn(at)
                && isBefore(at, sentOrder[by])
                && (stream[at] != stream[by] || msn[at] - msn[by] <= 0);
    }

    /** True when the answer to a probe of that time tells that the reply to a packet is lost. */
    boolean isUnansweredAt(int psn, int echoTime) {
        int at = psn & mask;
        return isAskedInTurn(at) && sentTime[at] - echoTime < 0;
    }

    private boolean isBefore(int at, int highest) {
        return sentOrder[at] - (highest - guardPackets) < 0;
    }

    /** In flight, waits for a reply, and the target has all earlier messages of its stream. */
    private boolean isAskedInTurn(int at) {
        Stream asking = stream[at];
        return status[at] == IN_FLIGHT
                && pull[at] != 0
                && asking != null
                && asking.sent.ahead(msn[at]) <= 0;
    }

    /** A packet in flight will not arrive. */
    void markLost(int psn) {
        int at = psn & mask;
        if (status[at] == IN_FLIGHT) {
            leaveNetwork(at);
            toLost(at);
        }
    }

    /** The oldest packet, when its reply is overdue, is sent again: it asks better than a probe. */
    void askAgain() {
        //= MR-4.6-17
        if (una != nextPsn && isAskedInTurn(una & mask)) {
            markLost(una);
        }
    }

    /** Everything from {@code from} on is sent again; returns the packets that were in flight. */
    int markLostFrom(int from) {
        int count = 0;
        for (int psn = from; psn != nextPsn; psn++) {
            if (status[psn & mask] == IN_FLIGHT) {
                markLost(psn);
                count++;
            }
        }
        return count;
    }

    /** The target had no receive for it: leave it alone until {@code untilNs}. */
    void defer(int psn, long nowNs, long untilNs) {
        int at = psn & mask;
        if (psn == una) {
            unaSinceNs = nowNs;
        }
        if (status[at] == IN_FLIGHT) {
            leaveNetwork(at);
        } else if (status[at] == LOST) {
            clearLost(at);
        } else {
            return;
        }
        status[at] = DEFERRED;
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
        return una != nextPsn && (unaPaused || status[una & mask] == DEFERRED);
    }

    /** True for the one packet that asks whether the target has a receive now. */
    boolean isAsking(int psn) {
        Stream from = stream[psn & mask];
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
            int at = psn & mask;
            if (status[at] == DEFERRED && stream[at] == resumed) {
                deferredToLost(psn);
            }
        }
    }

    /** A packet that asks, and whose pause is over, is to be sent again; all others wait for it. */
    void resumeDeferred(long nowNs) {
        long leftNs = Long.MAX_VALUE / 2;
        for (int psn = una; psn != nextPsn && deferredCount > 0; psn++) {
            Stream from = stream[psn & mask];
            if (from == null || status[psn & mask] != DEFERRED || !isAsking(psn)) {
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
        toLost(psn & mask);
    }

    /** Packets of a stream, from one request on, turn into SKIPs that are sent at once. */
    void abandon(Stream failed, long fromSeq) {
        for (int psn = una; psn != nextPsn; psn++) {
            int at = psn & mask;
            if (stream[at] == failed && seq[at] >= fromSeq && status[at] != ACKED) {
                stream[at] = null;
                if (status[at] == IN_FLIGHT) {
                    markLost(psn);
                } else if (status[at] == DEFERRED) {
                    deferredToLost(psn);
                }
                if (pull[at] != 0) {
                    pull[at] = 0;
                    lease.onAnswered(bytes[at]);
                    bytes[at] = 0;
                }
            }
        }
    }

    // Probes

    /**
     * An answer to a probe, or to what arrived right behind it: everything sent before that and not
     * acknowledged is lost. Not only the latest probe counts: when the way has become much longer,
     * every answer is to an earlier one.
     */
    void onProbeReply(int echoTime) {
        boolean any = false;
        int newest = 0;
        for (int psn = una; psn != nextPsn; psn++) {
            int at = psn & mask;
            boolean before = status[at] == IN_FLIGHT && sentTime[at] - echoTime < 0;
            if (before && (!any || sentOrder[at] - newest > 0)) {
                any = true;
                newest = sentOrder[at];
            }
        }
        //= MR-4.3-8
        if (any) {
            noteDelivered(newest + 1 + guardPackets);
        }
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
