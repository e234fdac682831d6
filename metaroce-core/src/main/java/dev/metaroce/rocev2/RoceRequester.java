package dev.metaroce.rocev2;

import dev.metaroce.event.CounterId;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkQueue;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.Opcode;
import dev.metaroce.wire.PacketMemory;
import dev.metaroce.wire.TxBatch;
import dev.metaroce.wire.roce.AtomicEth;
import dev.metaroce.wire.roce.Bth;
import dev.metaroce.wire.roce.Icrc;
import dev.metaroce.wire.roce.Ieth;
import dev.metaroce.wire.roce.ImmDt;
import dev.metaroce.wire.roce.RcOpcode;
import dev.metaroce.wire.roce.Reth;
import dev.metaroce.wire.roce.RoceDoor;

/**
 * Makes the packets of posted work, first time or again, as window, rate and the patience that an
 * RNR asks for allow. Owner: the engine thread.
 */
final class RoceRequester {
    /** Payload that is sent from where it is, if the port can: less costs more than a copy. */
    static final int LENT_BYTES_MIN = 2048;

    private final RoceState device;
    private final boolean ecn;

    RoceRequester(RoceState device) {
        this.device = device;
        ecn = device.settings.dcqcn() != null;
    }

    /**
     * Appends packets of one queue pair.
     *
     * @return packets appended; fewer than the budget with room in the batch means that nothing
     *     more may be sent now
     */
    int pollTransmit(long nowNs, SendSide s, TxBatch batch, int budget) {
        int sent = 0;
        while (sent < budget
                && s.hasWork()
                && !isPaused(nowNs, s)
                && s.qp.mayByRate(nowNs)
                && batch.hasRoom(Icrc.MAX_PACKET_BYTES)) {
            emit(nowNs, s, batch);
            sent++;
        }
        if (sent > 0) {
            armAckTimer(nowNs, s);
        }
        if (s.asksInVain()) {
            s.refuse(s.sendSeq(), WcStatus.REMOTE_INVALID_REQUEST_ERROR);
        }
        return sent;
    }

    private boolean isPaused(long nowNs, SendSide s) {
        if (s.notReadyCount == 0 || s.pausedUntilNs - nowNs <= 0) {
            return false;
        }
        device.armBy(device.timer(s.qp, RoceState.WAKE_TIMER), s.pausedUntilNs);
        return true;
    }

    private void armAckTimer(long nowNs, SendSide s) {
        int timer = device.timer(s.qp, RoceState.ACK_TIMER);
        if (!device.timers.isArmed(timer) && device.ackTimeoutNs != Long.MAX_VALUE) {
            s.progressNs = nowNs;
            device.timers.set(timer, nowNs + device.ackTimeoutNs);
        }
    }

    private void emit(long nowNs, SendSide s, TxBatch batch) {
        long seq = s.sendSeq();
        Opcode opcode = s.opcode(seq);
        long offset = s.sendOffset();
        int bytes = opcode.isPull() ? 0 : (int) Math.min(s.qp.mtu, s.queue.length(seq) - offset);
        RcOpcode code = codeOf(opcode, offset == 0, offset + bytes == s.queue.length(seq));
        boolean repeat = s.isRepeat();
        int psn = s.sendPsn();
        long asked = Math.min(s.queue.length(seq) - offset, (long) s.nextPsns() * s.qp.mtu);
        boolean asks = s.advance(code.isLast());
        RcQueuePair qp = s.qp;
        int packetBytes = RoceDoor.packetBytes(code, bytes);
        int at = append(qp, batch, ecn, packetBytes);
        PacketMemory m = batch.memory();
        Bth.encode(m, at, code, Bth.MIGRATED, bytes, pKey(), qp.remoteQpn, asks, psn);
        encodeHeaders(m, at, code, s.queue, seq, offset, asked);
        if (!putPayload(qp, batch, at, code.headerBytes(), seq, offset, bytes)) {
            s.refuse(seq, WcStatus.LOCAL_PROTECTION_ERROR);
        }
        qp.onSent(nowNs, packetBytes);
        device.count(repeat ? CounterId.DATA_RESENT : CounterId.DATA_SENT);
        if (repeat) {
            device.counters.add(CounterId.RESENT_BYTES, bytes);
        }
    }

    private int pKey() {
        return device.settings.pKey();
    }

    /** The code of a packet of an operation, by its place in the message. */
    private static RcOpcode codeOf(Opcode opcode, boolean first, boolean last) {
        return switch (opcode) {
            case SEND -> RcOpcode.send(first, last);
            case SEND_IMM -> RcOpcode.sendImm(first, last);
            case SEND_INV -> RcOpcode.sendInv(first, last);
            case WRITE_IMM -> RcOpcode.writeImm(first, last);
            case READ_REQ -> RcOpcode.READ_REQUEST;
            case CMP_SWAP -> RcOpcode.CMP_SWAP;
            case FETCH_ADD -> RcOpcode.FETCH_ADD;
            case WRITE, READ_DATA, ATOMIC_REPLY, SKIP -> RcOpcode.write(first, last);
        };
    }

    /** Room for a packet of a queue pair that is connected, with the flow of its ICRC set. */
    static int append(RcQueuePair qp, TxBatch batch, boolean ect, int bytes) {
        NetAddress to = qp.remote();
        qp.device.sentIcrc.flow(qp.source(), to);
        return batch.append(to, qp.route, ect, bytes);
    }

    /**
     * @param offset where the packet starts in its message
     * @param asked bytes that a READ request asks for
     */
    private static void encodeHeaders(
            PacketMemory m,
            int at,
            RcOpcode code,
            WorkQueue queue,
            long seq,
            long offset,
            long asked) {
        if (code.isAtomic()) {
            AtomicEth.encode(
                    m,
                    at,
                    queue.remoteAddress(seq),
                    queue.rkey(seq),
                    queue.swapOrAdd(seq),
                    queue.compare(seq));
        }
        if (code.hasReth()) {
            long va = queue.remoteAddress(seq) + offset;
            long length = code == RcOpcode.READ_REQUEST ? asked : queue.length(seq);
            Reth.encode(m, at, va, queue.rkey(seq), length);
        }
        if (code.hasIeth()) {
            Ieth.encode(m, at, queue.immediate(seq));
        }
        if (code.hasImmediate()) {
            ImmDt.encode(m, at, code, queue.immediate(seq));
        }
    }

    /**
     * Puts payload, pad and ICRC behind the headers of the packet appended last.
     *
     * @return false when the memory is out of reach: the region was closed, or is virtual and this
     *     port copies. The packet then goes out blank and without an ICRC, and nobody takes it
     */
    private boolean putPayload(
            RcQueuePair qp, TxBatch batch, int at, int header, long seq, long offset, int bytes) {
        PacketMemory m = batch.memory();
        WorkQueue queue = qp.sendQueue();
        Icrc icrc = device.sentIcrc;
        long lent =
                batch.gathers()
                        ? queue.lend(seq, offset, icrc, m, at, header, bytes, LENT_BYTES_MIN)
                        : WorkQueue.NOT_LENT;
        if (lent != WorkQueue.NOT_LENT) {
            batch.lend(header, lent, bytes);
            return true;
        }
        if (queue.gather(seq, offset, m, at + header, bytes)) {
            icrc.seal(m, at, header, bytes);
            return true;
        }
        blank(m, at + header, bytes);
        return false;
    }

    /** Zeros in place of payload, pad and ICRC. */
    static void blank(PacketMemory m, int at, int bytes) {
        m.segment().asSlice(at, bytes + Bth.padBytes(bytes) + Icrc.BYTES).fill((byte) 0);
    }
}
