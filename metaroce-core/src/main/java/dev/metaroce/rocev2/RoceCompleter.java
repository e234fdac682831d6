package dev.metaroce.rocev2;

import dev.metaroce.event.AsyncEventType;
import dev.metaroce.event.CounterId;
import dev.metaroce.event.EventId;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.transport.StreamSettings;
import dev.metaroce.wire.Opcode;
import dev.metaroce.wire.PacketMemory;
import dev.metaroce.wire.roce.Aeth;
import dev.metaroce.wire.roce.AtomicAckEth;
import dev.metaroce.wire.roce.Bth;
import dev.metaroce.wire.roce.Psn24;
import dev.metaroce.wire.roce.RcOpcode;
import dev.metaroce.wire.roce.RnrTimer;
import dev.metaroce.wire.roce.RoceDoor;
import dev.metaroce.wire.roce.RoceNak;
import dev.metaroce.wire.roce.Syndrome;

/**
 * What becomes of requests: acknowledgements, responses, refusals and silence. Owner: the engine
 * thread.
 */
final class RoceCompleter {
    private final RoceState device;

    RoceCompleter(RoceState device) {
        this.device = device;
    }

    /** A response for a queue pair that is connected. */
    void onResponse(
            long nowNs, RcQueuePair qp, RcOpcode opcode, PacketMemory m, int at, int bytes) {
        SendSide s = qp.sending;
        int psn = Bth.psn(m, at);
        device.count(
                opcode == RcOpcode.ACKNOWLEDGE
                        ? CounterId.ACKS_RECEIVED
                        : CounterId.REPLIES_RECEIVED);
        if (qp.inError() || !s.isOpen(psn)) {
            device.count(CounterId.ACKS_STALE);
            return;
        }
        if (opcode == RcOpcode.ACKNOWLEDGE) {
            onAcknowledge(nowNs, s, Aeth.syndrome(m, at), psn);
        } else if (acknowledgeBefore(nowNs, s, psn, psn)) {
            onPullResponse(nowNs, s, opcode, m, at, bytes);
        }
        s.endIfRefused();
        device.sending.add(s);
    }

    private void onAcknowledge(long nowNs, SendSide s, int syndrome, int psn) {
        switch (Syndrome.kind(syndrome)) {
            case ACK -> {
                if (acknowledgeBefore(nowNs, s, Psn24.add(psn, 1), psn)) {
                    s.credit(Syndrome.credits(syndrome));
                }
            }
            case RNR -> {
                device.count(CounterId.RNR_NAKS_RECEIVED);
                if (acknowledgeBefore(nowNs, s, psn, psn)) {
                    onNotReady(nowNs, s, RnrTimer.ns(Syndrome.rnrTimer(syndrome)));
                }
            }
            case NAK -> {
                device.count(CounterId.NAKS_RECEIVED);
                RoceNak nak = RoceNak.of(syndrome);
                if (nak != null && acknowledgeBefore(nowNs, s, psn, psn)) {
                    onNak(s, nak);
                }
            }
            case RESERVED -> device.count(CounterId.MALFORMED);
        }
    }

    /**
     * Takes all before a PSN as acknowledged.
     *
     * @param seenPsn what tells of it
     * @return false when a READ or an atomic before it is not answered, which is asked for again
     */
    private boolean acknowledgeBefore(long nowNs, SendSide s, int limit, int seenPsn) {
        int before = s.unaPsn();
        boolean whole = s.acknowledgeBefore(limit);
        noteProgress(nowNs, s, before);
        if (!whole) {
            onMissedResponse(s, seenPsn);
        }
        return whole;
    }

    private void noteProgress(long nowNs, SendSide s, int before) {
        if (s.unaPsn() == before) {
            return;
        }
        s.progressNs = nowNs;
        if (s.outstanding() == 0) {
            stopAckTimer(s);
        }
    }

    /** The oldest READ or atomic is not answered, and a later response is there: once per gap. */
    private void onMissedResponse(SendSide s, int seenPsn) {
        boolean again =
                device.settings.trigger() == GoBackN.REPAIRED
                        && Psn24.distance(s.lastAheadPsn, seenPsn) <= 0;
        if (!s.awaitsMissed || again) {
            goBack(s);
            s.awaitsMissed = true;
        }
        s.lastAheadPsn = seenPsn;
    }

    private void onNak(SendSide s, RoceNak nak) {
        switch (nak) {
            case PSN_SEQUENCE -> {
                device.count(CounterId.SEQUENCE_NAKS_RECEIVED);
                goBack(s);
            }
            case INVALID_REQUEST -> s.refuse(s.headSeq(), WcStatus.REMOTE_INVALID_REQUEST_ERROR);
            case REMOTE_ACCESS -> s.refuse(s.headSeq(), WcStatus.REMOTE_ACCESS_ERROR);
            case REMOTE_OPERATIONAL -> s.refuse(s.headSeq(), WcStatus.REMOTE_OPERATION_ERROR);
        }
    }

    /** The other end has no receive for the oldest packet. */
    private void onNotReady(long nowNs, SendSide s, long waitNs) {
        if (s.notReadyCount == 0) {
            s.notReadySinceNs = nowNs;
        }
        int tries = s.qp.settings().rnrRetry();
        boolean over =
                switch (tries) {
                    case StreamSettings.FOR_EVER -> false;
                    case StreamSettings.UNTIL_GIVE_UP ->
                            nowNs - s.notReadySinceNs >= device.limits.giveUpNs();
                    default -> s.notReadyCount >= tries;
                };
        if (over) {
            s.refuse(s.headSeq(), WcStatus.RNR_RETRY_EXCEEDED_ERROR);
            return;
        }
        s.notReadyCount = s.notReadyCount == Integer.MAX_VALUE ? 1 : s.notReadyCount + 1;
        s.pausedUntilNs = nowNs + waitNs;
        stopAckTimer(s);
        goBack(s);
    }

    /**
     * Sends again from the oldest PSN on. The ACK timer goes on meanwhile: that the peer asks for
     * something again and again is no progress.
     */
    private void goBack(SendSide s) {
        s.goBack();
        device.sending.add(s);
    }

    private void stopAckTimer(SendSide s) {
        device.timers.cancel(device.timer(s.qp, RoceState.ACK_TIMER));
    }

    private void giveUp(long nowNs, SendSide s) {
        String why =
                "%s: no answer to PSN 0x%06x, sent %d times, nothing acknowledged for %.1f ms"
                        .formatted(s.qp, s.unaPsn(), s.retries + 1, (nowNs - s.progressNs) / 1e6);
        s.qp.connection.fail(nowNs, AsyncEventType.FAILED, why);
    }

    /** The ACK timer expired; it is set anew when anything was acknowledged meanwhile. */
    void onAckTimer(long nowNs, RcQueuePair qp) {
        SendSide s = qp.sending;
        if (s.outstanding() == 0) {
            return;
        }
        long dueNs = s.progressNs + device.ackTimeoutNs;
        if (dueNs - nowNs > 0) {
            device.timers.set(device.timer(qp, RoceState.ACK_TIMER), dueNs);
            return;
        }
        device.count(CounterId.RTO_FIRED);
        device.event(nowNs, EventId.PACKET_LOST, qp.qpn(), s.unaPsn(), 0);
        if (s.retries == device.settings.retryCount()) {
            giveUp(nowNs, s);
        } else {
            s.retries++;
            goBack(s);
        }
    }

    // Responses of READs and atomics

    private void onPullResponse(
            long nowNs, SendSide s, RcOpcode opcode, PacketMemory m, int at, int bytes) {
        Opcode asked = s.opcode(s.headSeq());
        boolean suits =
                opcode.isReadResponse()
                        ? asked == Opcode.READ_REQ && takeRead(s, opcode, m, at, bytes)
                        : asked.isAtomic() && takeAtomic(s, m, at);
        if (!suits) {
            device.count(CounterId.MALFORMED);
            return;
        }
        int before = s.unaPsn();
        s.takeResponse();
        noteProgress(nowNs, s, before);
        if (opcode.hasAeth()) {
            s.credit(Syndrome.credits(Aeth.syndrome(m, at)));
        }
    }

    /** Places a part of what was read; false when it is not of the length that it has to be. */
    private boolean takeRead(SendSide s, RcOpcode opcode, PacketMemory m, int at, int bytes) {
        long seq = s.headSeq();
        long offset = s.headOffset();
        int payload = RoceDoor.payloadBytes(m, at, opcode, bytes);
        if (payload != Math.min(s.qp.mtu, s.queue.length(seq) - offset)) {
            return false;
        }
        device.counters.add(CounterId.PAYLOAD_BYTES, payload);
        place(s, seq, offset, m, at + opcode.headerBytes(), payload);
        return true;
    }

    private boolean takeAtomic(SendSide s, PacketMemory m, int at) {
        int value = at + AtomicAckEth.VALUE_AT;
        m.toNative64(value);
        place(s, s.headSeq(), 0, m, value, Long.BYTES);
        return true;
    }

    /** Memory that is out of reach ends the request with an error, instead of success. */
    private static void place(
            SendSide s, long seq, long offset, PacketMemory m, int at, int bytes) {
        if (!s.queue.scatter(seq, offset, m, at, bytes)) {
            s.refuse(seq, WcStatus.LOCAL_PROTECTION_ERROR);
        }
    }
}
