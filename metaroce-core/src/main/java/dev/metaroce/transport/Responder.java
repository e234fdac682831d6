package dev.metaroce.transport;

import dev.metaroce.event.CounterId;
import dev.metaroce.event.Counters;
import dev.metaroce.memory.Access;
import dev.metaroce.memory.AccessVerdict;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.memory.RegionTable;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.wire.CommonHeader;
import dev.metaroce.wire.DataHeader;
import dev.metaroce.wire.Flags;
import dev.metaroce.wire.NakCode;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.Opcode;
import dev.metaroce.wire.PacketMemory;

import org.jspecify.annotations.Nullable;

/**
 * The target's data path: a pipeline of named checks, then placement at the final address, whatever
 * the order of arrival. A packet is counted once, by its PSN. Owner: the engine thread.
 */
final class Responder {
    private final DeviceState device;
    private final Counters counters;
    private final LeaseServer leases;
    private final RxContexts contexts;
    private final AckBuilder acks;

    // Set by check(), read by accept()
    private @Nullable Stream stream;
    private long receiveSeq;
    private @Nullable MemoryRegion region;
    private long placeAt;

    Responder(DeviceState device, LeaseServer leases, AckBuilder acks) {
        this.device = device;
        this.leases = leases;
        this.acks = acks;
        counters = device.counters;
        contexts = leases.contexts();
    }

    void onData(long nowNs, PacketMemory m, int at, int bytes, NetAddress source, boolean ce) {
        int ctx = CommonHeader.ctx(m, at);
        int cid = CommonHeader.cid(ctx);
        int path = CommonHeader.path(m, at);
        int psn = CommonHeader.psn(m, at);
        Verdict verdict = checkSequence(ctx, path, psn, source);
        int payloadAt = DataHeader.payloadOffset(m, at);
        int payload = at + bytes - CommonHeader.TRAILER_BYTES - payloadAt;
        if (verdict == Verdict.ACCEPTED) {
            verdict = checkMessage(cid, m, at, payload);
        }
        if (verdict == Verdict.ACCEPTED && payload > 0) {
            //= MR-4.1-1
            MemoryRegion to = region;
            if (to == null || !MemoryRegion.place(m, payloadAt, to, placeAt, payload)) {
                verdict = Verdict.ACCESS;
            }
        }
        //= MR-3.2-7
        switch (verdict) {
            case ACCEPTED -> accept(nowNs, cid, path, psn, m, at, payload, ce);
            case DUPLICATE -> {
                counters.increment(CounterId.DUPLICATES);
                leases.heard(nowNs, cid);
                contexts.set(cid, RxContexts.ANSWERS_MISSED);
                acks.oweNow(cid, path);
            }
            case STALE_CONTEXT -> {
                counters.increment(CounterId.STALE_CONTEXT);
                leases.stale().reset(nowNs, m, at, source);
            }
            case WRONG_SOURCE -> counters.increment(CounterId.WRONG_SOURCE);
            case OUT_OF_WINDOW -> counters.increment(CounterId.OUT_OF_WINDOW);
            case OUT_OF_SEQUENCE -> outOfSequence(nowNs, cid, ctx, path, m, at);
            case NOT_READY -> {
                counters.increment(CounterId.RECEIVER_NOT_READY);
                leases.heard(nowNs, cid);
                refuse(NakCode.RECEIVER_NOT_READY, cid, ctx, m, at);
            }
            case ACCESS -> {
                counters.increment(CounterId.ACCESS_REFUSED);
                refuse(NakCode.REMOTE_ACCESS, cid, ctx, m, at);
            }
            case TOO_LONG -> {
                refuse(NakCode.LENGTH, cid, ctx, m, at);
                tooLong(cid, DataHeader.msn(m, at));
            }
            case INVALID -> refuse(NakCode.INVALID_REQUEST, cid, ctx, m, at);
        }
    }

    /** Context, epoch, source, window, duplicate: everything before the message is looked at. */
    private Verdict checkSequence(int ctx, int path, int psn, NetAddress source) {
        int cid = CommonHeader.cid(ctx);
        //= MR-3.2-1
        if (!leases.holds(cid, CommonHeader.epoch(ctx))) {
            return Verdict.STALE_CONTEXT;
        }
        TransportConnection connection = contexts.connection(cid);
        //= MR-3.2-2
        if (connection == null || !source.sameHost(connection.peer)) {
            return Verdict.WRONG_SOURCE;
        }
        //= MR-2.2-4
        if (path >= contexts.paths(cid)) {
            return Verdict.OUT_OF_WINDOW;
        }
        int ahead = psn - contexts.cumPsn(cid, path);
        if (ahead < 0) {
            //= MR-3.2-3
            return ahead >= -TxPath.WINDOW ? Verdict.DUPLICATE : Verdict.OUT_OF_WINDOW;
        }
        if (!contexts.selective(cid)) {
            //= MR-4.4-1
            if (ahead == 0) {
                return Verdict.ACCEPTED;
            }
            return ahead <= TxPath.WINDOW ? Verdict.OUT_OF_SEQUENCE : Verdict.OUT_OF_WINDOW;
        }
        if (ahead > TxPath.WINDOW) {
            return Verdict.OUT_OF_WINDOW;
        }
        return ahead > 0 && contexts.received(cid, path, ahead)
                ? Verdict.DUPLICATE
                : Verdict.ACCEPTED;
    }

    /** Finds where the payload goes and whether it may; nothing is touched yet. */
    private Verdict checkMessage(int cid, PacketMemory m, int at, int payload) {
        stream = null;
        region = null;
        Opcode opcode = Opcode.of(CommonHeader.opcode(m, at));
        if (opcode == null) {
            return Verdict.INVALID;
        }
        //= MR-4.5-4
        if (opcode == Opcode.SKIP) {
            return Verdict.ACCEPTED;
        }
        TransportConnection connection = contexts.connection(cid);
        Stream s = connection == null ? null : connection.stream(CommonHeader.stream(m, at));
        //= MR-3.6-6
        if (connection == null || s == null) {
            return Verdict.NOT_READY;
        }
        if (s.inError()) {
            return Verdict.INVALID;
        }
        s.enterRxLease(connection.rxLease);
        int slot = DataHeader.slot(m, at);
        //= MR-2.3-11, MR-4.2-2
        if (payload > device.limits.payloadMtu()
                || !s.isOpenMessage(DataHeader.msn(m, at))
                || (slot != DataHeader.NO_SLOT && !contexts.isMessageSlot(slot))) {
            return Verdict.INVALID;
        }
        if (opcode.consumesReceive()) {
            receiveSeq =
                    s.postedReceive(
                            opcode.hasReth()
                                    ? DataHeader.writeRecvSeq(m, at)
                                    : DataHeader.sendRecvSeq(m, at));
            if (receiveSeq < 0) {
                return Verdict.NOT_READY;
            }
        }
        stream = s;
        return opcode.hasReth() ? checkRemoteAccess(s, m, at) : checkReceive(s, m, at);
    }

    private Verdict checkRemoteAccess(Stream s, PacketMemory m, int at) {
        long length = DataHeader.length(m, at);
        if (length == 0) {
            //= MR-4.1-4
            return Verdict.ACCEPTED;
        }
        long va = DataHeader.va(m, at);
        MemoryRegion target = device.regions.lookup(DataHeader.rkey(m, at));
        //= MR-4.1-2
        AccessVerdict access =
                RegionTable.check(target, Access.REMOTE_WRITE, s.domain(), va, length);
        region = target;
        placeAt = va + DataHeader.msgOffset(m, at);
        return access == AccessVerdict.OK ? Verdict.ACCEPTED : Verdict.ACCESS;
    }

    private Verdict checkReceive(Stream s, PacketMemory m, int at) {
        //= MR-4.1-3
        if (DataHeader.length(m, at) > s.receiveQueue().length(receiveSeq)) {
            return Verdict.TOO_LONG;
        }
        MemoryRegion local = s.receiveQueue().region(receiveSeq);
        region = local;
        if (local != null) {
            placeAt =
                    local.address()
                            + s.receiveQueue().localOffset(receiveSeq)
                            + DataHeader.msgOffset(m, at);
        }
        return Verdict.ACCEPTED;
    }

    private void accept(
            long nowNs,
            int cid,
            int path,
            int psn,
            PacketMemory m,
            int at,
            int payload,
            boolean ce) {
        int ahead = psn - contexts.cumPsn(cid, path);
        boolean holeBefore = contexts.hasHole(cid, path);
        contexts.mark(cid, path, ahead);
        contexts.unset(cid, RxContexts.NAK_SENT);
        contexts.arrived(cid, path, CommonHeader.txTime(m, at), CommonHeader.toTxTime(nowNs), ce);
        leases.onAccepted(nowNs, cid);
        counters.increment(CounterId.DATA_ACCEPTED);
        counters.add(CounterId.PAYLOAD_BYTES, payload);
        if (ahead > 0) {
            counters.increment(CounterId.OUT_OF_ORDER);
        }
        if (ce) {
            counters.increment(CounterId.CE_PACKETS);
        }
        Stream s = stream;
        if (s != null) {
            countMessage(cid, s, m, at, payload);
        }
        boolean ceEdge = contexts.notePathCe(cid, path, ce);
        int flags = CommonHeader.flags(m, at);
        if ((flags & Flags.RETX) == 0) {
            contexts.note(cid, RxContexts.WANTS_MORE, (flags & Flags.MORE) != 0);
        }
        boolean asked = (flags & Flags.ACK_REQ) != 0;
        long unacked = contexts.addPayload(cid, payload);
        //= MR-4.2-5
        if (asked || ceEdge || holeBefore || ahead > 0 || unacked >= device.limits.ackBytes()) {
            acks.oweNow(cid, path);
        } else {
            acks.oweLater(nowNs, cid, path);
        }
    }

    private void countMessage(int cid, Stream s, PacketMemory m, int at, int payload) {
        int slot = DataHeader.slot(m, at);
        int msn = DataHeader.msn(m, at);
        long length = DataHeader.length(m, at);
        Opcode opcode = Stream.opcodeOf(CommonHeader.opcode(m, at));
        if (opcode.consumesReceive() && (CommonHeader.flags(m, at) & Flags.IMM) != 0) {
            s.immediateArrived(receiveSeq, DataHeader.immediate(m, at, opcode));
        }
        if (slot != DataHeader.NO_SLOT) {
            long counted = contexts.countMessage(cid, slot, s.id(), msn, payload);
            if (counted < length) {
                return;
            }
            contexts.closeMessage(cid, slot);
        }
        if (opcode.consumesReceive()) {
            s.receiveFilled(receiveSeq, opcode, msn, length);
        }
        //= MR-4.2-4
        if (s.messageDone(msn)) {
            endOwnWork(cid, s);
        }
    }

    /** Profile S: one NAK per gap; the initiator's probe asks again when that was lost. */
    private void outOfSequence(long nowNs, int cid, int ctx, int path, PacketMemory m, int at) {
        counters.increment(CounterId.OUT_OF_SEQUENCE);
        leases.heard(nowNs, cid);
        //= MR-4.4-2
        if (!contexts.has(cid, RxContexts.NAK_SENT)) {
            contexts.set(cid, RxContexts.NAK_SENT);
            acks.nak(
                    NakCode.SEQUENCE,
                    cid,
                    ctx,
                    path,
                    CommonHeader.stream(m, at),
                    contexts.cumPsn(cid, path),
                    0,
                    0,
                    0);
        }
    }

    /** The stream that was to receive a message too long for its buffer ends in error. */
    private void tooLong(int cid, int msn) {
        Stream s = stream;
        if (s != null && s.receiveTooShort(receiveSeq, msn)) {
            endOwnWork(cid, s);
        }
    }

    /** The stream failed as target: what it has on the way as initiator is abandoned. */
    private void endOwnWork(int cid, Stream s) {
        TransportConnection connection = contexts.connection(cid);
        if (connection != null) {
            connection.noteLocalFault(s, 0, WcStatus.WR_FLUSH_ERROR);
            device.ready.add(connection);
        }
    }

    private void refuse(NakCode code, int cid, int ctx, PacketMemory m, int at) {
        Opcode opcode = Opcode.of(CommonHeader.opcode(m, at));
        boolean message = opcode != null && opcode != Opcode.SKIP;
        //= MR-2.5-1, MR-2.5-5
        acks.nak(
                code,
                cid,
                ctx,
                CommonHeader.path(m, at),
                CommonHeader.stream(m, at),
                CommonHeader.psn(m, at),
                message ? DataHeader.msn(m, at) : 0,
                0,
                code == NakCode.RECEIVER_NOT_READY ? AckBuilder.RETRY_AFTER_US : 0);
    }

    void onProbe(long nowNs, PacketMemory m, int at, NetAddress source) {
        int ctx = CommonHeader.ctx(m, at);
        int cid = CommonHeader.cid(ctx);
        int path = CommonHeader.path(m, at);
        if (!leases.holds(cid, CommonHeader.epoch(ctx))) {
            counters.increment(CounterId.STALE_CONTEXT);
            leases.stale().reset(nowNs, m, at, source);
            return;
        }
        TransportConnection connection = contexts.connection(cid);
        if (connection == null
                || !source.sameHost(connection.peer)
                || path >= contexts.paths(cid)) {
            counters.increment(CounterId.WRONG_SOURCE);
            return;
        }
        leases.heard(nowNs, cid);
        contexts.arrived(
                cid, path, CommonHeader.txTime(m, at), CommonHeader.toTxTime(nowNs), false);
        contexts.notePathProbe(cid, path);
        contexts.set(cid, RxContexts.ANSWERS_MISSED);
        acks.oweNow(cid, path);
    }
}
