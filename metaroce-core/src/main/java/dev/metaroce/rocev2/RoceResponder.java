package dev.metaroce.rocev2;

import dev.metaroce.event.CounterId;
import dev.metaroce.memory.Access;
import dev.metaroce.memory.AccessVerdict;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.memory.RegionTable;
import dev.metaroce.ring.CompletionRing.Extra;
import dev.metaroce.ring.WcOpcode;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkRequest;
import dev.metaroce.wire.Ecn;
import dev.metaroce.wire.PacketMemory;
import dev.metaroce.wire.TxBatch;
import dev.metaroce.wire.roce.AtomicEth;
import dev.metaroce.wire.roce.Bth;
import dev.metaroce.wire.roce.Ieth;
import dev.metaroce.wire.roce.ImmDt;
import dev.metaroce.wire.roce.Psn24;
import dev.metaroce.wire.roce.RcOpcode;
import dev.metaroce.wire.roce.Reth;
import dev.metaroce.wire.roce.RnrTimer;
import dev.metaroce.wire.roce.RoceDoor;
import dev.metaroce.wire.roce.RoceNak;
import dev.metaroce.wire.roce.Syndrome;

import org.jspecify.annotations.Nullable;

/**
 * What a target does with requests: the order of PSNs first, then a row of named checks, then the
 * deed. Nothing is touched before all checks passed. Owner: the engine thread.
 */
final class RoceResponder {
    /** What the checks found. */
    private enum Verdict {
        ACCEPTED,
        /** No receive is posted. */
        NOT_READY,
        /** An operation or a length that cannot be. */
        INVALID,
        /** Key, range, rights or protection domain. */
        ACCESS,
        /** Longer than its receive. */
        TOO_LONG,
        /** The memory of the receive is gone. */
        LOCAL_FAULT
    }

    private final RoceState device;
    private final RoceAnswers answers;
    private final long[] old = new long[1];

    RoceResponder(RoceState device) {
        this.device = device;
        answers = new RoceAnswers(device);
    }

    /**
     * A packet for a queue pair came with this. Data of a peer that has congestion control as we
     * have are to be ECN-capable.
     */
    void noteEcn(long nowNs, RcQueuePair qp, RcOpcode opcode, Ecn ecn) {
        if (ecn == Ecn.CE) {
            device.count(CounterId.CE_PACKETS);
        }
        if (device.settings.dcqcn() == null) {
            return;
        }
        if (ecn == Ecn.CE) {
            if (qp.receiving.mayNotice(nowNs)) {
                device.noticing.add(qp);
            }
        } else if (ecn == Ecn.NOT_ECT && (opcode.isRequest() || opcode.isReadResponse())) {
            device.count(CounterId.NOT_ECT_PACKETS);
            qp.connection.noteMissingEcn();
        }
    }

    private void answerLater(ReceiveSide r) {
        if (r.owes()) {
            device.answering.add(r);
        }
    }

    int pollNotices(long nowNs, TxBatch batch) {
        return answers.pollNotices(nowNs, batch);
    }

    int pollTransmit(long nowNs, ReceiveSide r, TxBatch batch, int budget) {
        return answers.pollTransmit(nowNs, r, batch, budget);
    }

    /** A request for a queue pair that is connected, or failed. */
    void onRequest(long nowNs, RcQueuePair qp, RcOpcode opcode, PacketMemory m, int at, int bytes) {
        ReceiveSide r = qp.receiving;
        int psn = Bth.psn(m, at);
        int ahead = Psn24.distance(r.expectedPsn, psn);
        if (qp.inError()) {
            // The NAK that says why may be lost.
            r.nakOwed = ahead >= 0 ? r.refusal : 0;
        } else if (ahead > 0) {
            onAhead(r, psn);
        } else if (ahead < 0) {
            onDuplicate(r, opcode, m, at);
        } else {
            onExpected(r, opcode, m, at, bytes);
        }
        answerLater(r);
    }

    // Out of order

    /** A packet is missing: it is asked for once, and this one is dropped. */
    private void onAhead(ReceiveSide r, int psn) {
        device.count(CounterId.OUT_OF_SEQUENCE);
        boolean again =
                device.settings.trigger() == GoBackN.REPAIRED
                        && Psn24.distance(r.lastAheadPsn, psn) <= 0;
        if (!r.inGap || again) {
            r.inGap = true;
            r.owe(RoceNak.PSN_SEQUENCE.syndrome(), r.expectedPsn);
        }
        r.lastAheadPsn = psn;
    }

    /** Done before: acknowledged again, read again, or answered as the first time. */
    private void onDuplicate(ReceiveSide r, RcOpcode opcode, PacketMemory m, int at) {
        device.count(CounterId.DUPLICATES);
        if (opcode == RcOpcode.READ_REQUEST) {
            readAgain(r, m, at);
        } else if (opcode.isAtomic()) {
            int psn = Bth.psn(m, at);
            ServedPulls.Pull pull = r.pulls().find(psn);
            if (pull != null && pull.atomic) {
                r.pulls().ask(pull, psn);
            }
        } else if (r.nakOwed == 0) {
            r.ackOwed = true;
        }
    }

    private void readAgain(ReceiveSide r, PacketMemory m, int at) {
        int psn = Bth.psn(m, at);
        ServedPulls.Pull pull = r.pulls().find(psn);
        long length = Reth.length(m, at);
        if (pull == null
                || pull.atomic
                || length > pull.length
                || ((psn - pull.firstPsn) & Psn24.MASK) + packets(r, length) > pull.psns) {
            return;
        }
        r.pulls().ask(pull, psn);
        pull.va = Reth.va(m, at);
        pull.rkey = Reth.rkey(m, at);
        pull.length = length;
    }

    private static int packets(ReceiveSide r, long length) {
        return (int) Math.max(1, (length + r.qp.mtu - 1) / r.qp.mtu);
    }

    // In order

    private void onExpected(ReceiveSide r, RcOpcode opcode, PacketMemory m, int at, int bytes) {
        int payload = RoceDoor.payloadBytes(m, at, opcode, bytes);
        Verdict verdict = Verdict.INVALID;
        if (suitsMessage(r, opcode, payload)) {
            if (opcode == RcOpcode.READ_REQUEST) {
                verdict = read(r, m, at);
            } else if (opcode.isAtomic()) {
                verdict = atomic(r, opcode, m, at);
            } else if (opcode.isSend()) {
                verdict = send(r, opcode, m, at, payload);
            } else {
                verdict = write(r, opcode, m, at, payload);
            }
        }
        if (verdict == Verdict.ACCEPTED) {
            device.count(CounterId.DATA_ACCEPTED);
            device.counters.add(CounterId.PAYLOAD_BYTES, payload);
        } else {
            refuse(r, verdict);
        }
    }

    /** True when the packet may follow the one before, and is as long as its place says. */
    private static boolean suitsMessage(ReceiveSide r, RcOpcode opcode, int payload) {
        ReceiveSide.Message before = r.message;
        boolean follows =
                opcode.isFirst()
                        ? before == ReceiveSide.Message.NONE
                        : before
                                == (opcode.isSend()
                                        ? ReceiveSide.Message.SEND
                                        : ReceiveSide.Message.WRITE);
        int most = r.qp.mtu;
        int least = opcode.isLast() ? opcode.isFirst() ? 0 : 1 : most;
        return follows && payload >= least && payload <= most;
    }

    private Verdict send(ReceiveSide r, RcOpcode opcode, PacketMemory m, int at, int payload) {
        if (!r.hasReceive()) {
            return Verdict.NOT_READY;
        }
        long offset = opcode.isFirst() ? 0 : r.messageOffset;
        long seq = r.receive();
        if (offset + payload > r.queue.length(seq)) {
            return Verdict.TOO_LONG;
        }
        MemoryRegion invalidated = null;
        if (opcode.hasIeth()) {
            invalidated = invalidated(r, Ieth.rkey(m, at));
            if (invalidated == null) {
                return Verdict.ACCESS;
            }
        }
        if (!r.queue.scatter(seq, offset, m, at + opcode.headerBytes(), payload)) {
            return Verdict.LOCAL_FAULT;
        }
        take(r, opcode, m, at, offset + payload);
        if (opcode.isLast()) {
            finishSend(r, opcode, m, at, offset + payload, invalidated);
        }
        return Verdict.ACCEPTED;
    }

    private static void finishSend(
            ReceiveSide r,
            RcOpcode opcode,
            PacketMemory m,
            int at,
            long length,
            @Nullable MemoryRegion invalidated) {
        if (invalidated != null) {
            invalidated.revoke();
            r.completeReceive(WcOpcode.RECEIVE, length, invalidated.rkey(), Extra.INVALIDATED);
        } else if (opcode.hasImmediate()) {
            int value = ImmDt.value(m, at, opcode);
            r.completeReceive(WcOpcode.RECEIVE, length, value, Extra.IMMEDIATE);
        } else {
            r.completeReceive(WcOpcode.RECEIVE, length, 0, Extra.NONE);
        }
    }

    private @Nullable MemoryRegion invalidated(ReceiveSide r, int rkey) {
        MemoryRegion target = device.regions.lookup(rkey);
        boolean mine =
                target != null
                        && RegionTable.check(target, 0, domain(r), target.address(), 0)
                                == AccessVerdict.OK;
        return mine ? target : null;
    }

    private static int domain(ReceiveSide r) {
        return r.qp.settings().domain();
    }

    private Verdict write(ReceiveSide r, RcOpcode opcode, PacketMemory m, int at, int payload) {
        boolean first = opcode.isFirst();
        long va = first ? Reth.va(m, at) : r.writeVa;
        int rkey = first ? Reth.rkey(m, at) : r.writeRkey;
        long length = first ? Reth.length(m, at) : r.writeLength;
        long offset = first ? 0 : r.messageOffset;
        long end = offset + payload;
        if (length > WorkRequest.MAX_MESSAGE_BYTES
                || (opcode.isLast() ? end != length : end >= length)) {
            return Verdict.INVALID;
        }
        // The key of an empty message is not looked at.
        if (length > 0) {
            MemoryRegion target = device.regions.lookup(rkey);
            if (RegionTable.check(target, Access.REMOTE_WRITE, domain(r), va, length)
                    != AccessVerdict.OK) {
                return Verdict.ACCESS;
            }
            if (opcode.endsReceive() && !r.hasReceive()) {
                return Verdict.NOT_READY;
            }
            if (target == null
                    || !MemoryRegion.place(
                            m, at + opcode.headerBytes(), target, va + offset, payload)) {
                return Verdict.ACCESS;
            }
        } else if (opcode.endsReceive() && !r.hasReceive()) {
            return Verdict.NOT_READY;
        }
        r.writeVa = va;
        r.writeRkey = rkey;
        r.writeLength = length;
        take(r, opcode, m, at, end);
        if (opcode.endsReceive()) {
            int value = ImmDt.value(m, at, opcode);
            r.completeReceive(WcOpcode.RECEIVE_RDMA_WITH_IMMEDIATE, length, value, Extra.IMMEDIATE);
        }
        return Verdict.ACCEPTED;
    }

    /** A packet of a SEND or WRITE was placed. */
    private static void take(ReceiveSide r, RcOpcode opcode, PacketMemory m, int at, long end) {
        r.takePacket(1);
        r.messageOffset = end;
        r.ackOwed |= Bth.ackReq(m, at);
        if (opcode.isLast()) {
            r.message = ReceiveSide.Message.NONE;
            r.msn = Psn24.add(r.msn, 1);
        } else {
            r.message = opcode.isSend() ? ReceiveSide.Message.SEND : ReceiveSide.Message.WRITE;
        }
    }

    private Verdict read(ReceiveSide r, PacketMemory m, int at) {
        long length = Reth.length(m, at);
        long va = Reth.va(m, at);
        int rkey = Reth.rkey(m, at);
        if (length > WorkRequest.MAX_MESSAGE_BYTES || r.pulls().isFull()) {
            return Verdict.INVALID;
        }
        if (length > 0
                && RegionTable.check(
                                device.regions.lookup(rkey),
                                Access.REMOTE_READ,
                                domain(r),
                                va,
                                length)
                        != AccessVerdict.OK) {
            return Verdict.ACCESS;
        }
        ServedPulls.Pull pull = takePull(r, Bth.psn(m, at), packets(r, length));
        pull.atomic = false;
        pull.va = va;
        pull.rkey = rkey;
        pull.length = length;
        return Verdict.ACCEPTED;
    }

    /** A READ or an atomic was taken; its response acknowledges what came before. */
    private static ServedPulls.Pull takePull(ReceiveSide r, int psn, int psns) {
        r.takePacket(psns);
        r.ackOwed = false;
        r.msn = Psn24.add(r.msn, 1);
        ServedPulls.Pull pull = r.pulls().add(psn, psns);
        pull.msn = r.msn;
        return pull;
    }

    private Verdict atomic(ReceiveSide r, RcOpcode opcode, PacketMemory m, int at) {
        long va = AtomicEth.va(m, at);
        if ((va & (Long.BYTES - 1)) != 0 || r.pulls().isFull()) {
            return Verdict.INVALID;
        }
        MemoryRegion target = device.regions.lookup(AtomicEth.rkey(m, at));
        if (target == null
                || RegionTable.check(target, Access.REMOTE_ATOMIC, domain(r), va, Long.BYTES)
                        != AccessVerdict.OK
                || !MemoryRegion.atomic(
                        target,
                        va,
                        opcode == RcOpcode.CMP_SWAP,
                        AtomicEth.swapOrAdd(m, at),
                        AtomicEth.compare(m, at),
                        old,
                        0)) {
            return Verdict.ACCESS;
        }
        device.count(CounterId.ATOMICS_EXECUTED);
        ServedPulls.Pull pull = takePull(r, Bth.psn(m, at), 1);
        pull.atomic = true;
        pull.result = old[0];
        return Verdict.ACCEPTED;
    }

    // Refusals

    private void refuse(ReceiveSide r, Verdict verdict) {
        switch (verdict) {
            case NOT_READY -> {
                device.count(CounterId.RECEIVER_NOT_READY);
                long waitNs = r.qp.settings().minRnrTimerUs() * 1_000L;
                r.inGap = true;
                r.lastAheadPsn = r.expectedPsn;
                r.owe(Syndrome.rnr(RnrTimer.code(waitNs)), r.expectedPsn);
            }
            case ACCESS -> {
                device.count(CounterId.ACCESS_REFUSED);
                answers.refuse(r, RoceNak.REMOTE_ACCESS, r.expectedPsn);
            }
            case TOO_LONG -> {
                r.spoilReceive(WcStatus.LOCAL_LENGTH_ERROR);
                answers.refuse(r, RoceNak.INVALID_REQUEST, r.expectedPsn);
            }
            case LOCAL_FAULT -> {
                r.spoilReceive(WcStatus.LOCAL_PROTECTION_ERROR);
                answers.refuse(r, RoceNak.REMOTE_OPERATIONAL, r.expectedPsn);
            }
            case INVALID, ACCEPTED -> answers.refuse(r, RoceNak.INVALID_REQUEST, r.expectedPsn);
        }
    }
}
