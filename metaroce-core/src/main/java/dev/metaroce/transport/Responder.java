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
import dev.metaroce.wire.EarlyMessage;
import dev.metaroce.wire.Ecn;
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
    private final PullServer pulls;
    private final PullRequest pull = new PullRequest();

    // Set by check(), read by accept()
    private @Nullable Stream stream;
    private long receiveSeq;
    private @Nullable MemoryRegion region;
    private long placeAt;
    private @Nullable MemoryRegion invalidated;

    Responder(DeviceState device, LeaseServer leases, AckBuilder acks) {
        this.device = device;
        this.leases = leases;
        this.acks = acks;
        counters = device.counters;
        contexts = leases.contexts();
        pulls = new PullServer(device, contexts, acks);
    }

    void onData(long nowNs, PacketMemory m, int at, int bytes, NetAddress source, Ecn ecn) {
        int ctx = CommonHeader.ctx(m, at);
        int cid = CommonHeader.cid(ctx);
        int path = CommonHeader.path(m, at);
        int psn = CommonHeader.psn(m, at);
        Verdict verdict = checkSequence(ctx, path, psn, source);
        int payloadAt = DataHeader.payloadOffset(m, at);
        int payload = at + bytes - CommonHeader.TRAILER_BYTES - payloadAt;
        if (verdict == Verdict.ACCEPTED) {
            verdict = checkMessage(nowNs, cid, m, at, payload);
        }
        if (verdict == Verdict.ACCEPTED) {
            verdict = place(m, at, payloadAt, payload);
        }
        //= MR-3.2-7
        switch (verdict) {
            case ACCEPTED -> accept(nowNs, cid, path, psn, m, at, payload, ecn);
            case DUPLICATE -> {
                counters.increment(CounterId.DUPLICATES);
                leases.heard(nowNs, cid);
                contexts.set(cid, RxContexts.ANSWERS_MISSED);
                acks.oweNow(cid, path);
                repeatPull(nowNs, cid, m, at);
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
            case ACCESS, MISALIGNED -> {
                counters.increment(CounterId.ACCESS_REFUSED);
                refuse(codeOf(verdict), cid, ctx, m, at);
            }
            case TOO_LONG -> {
                refuse(NakCode.LENGTH, cid, ctx, m, at);
                spoil(cid, DataHeader.msn(m, at), WcStatus.LOCAL_LENGTH_ERROR);
            }
            case LOCAL_FAULT -> {
                refuse(NakCode.REMOTE_OPERATION, cid, ctx, m, at);
                spoil(cid, DataHeader.msn(m, at), WcStatus.LOCAL_PROTECTION_ERROR);
            }
            case INVALID -> refuse(NakCode.INVALID_REQUEST, cid, ctx, m, at);
        }
    }

    /** What tells an initiator that this region or address is refused. */
    static NakCode codeOf(Verdict verdict) {
        return verdict == Verdict.MISALIGNED ? NakCode.MISALIGNED_ATOMIC : NakCode.REMOTE_ACCESS;
    }

    /**
     * The message that rode in a REQUEST of {@code bytes}, which got a context at once: executed as
     * the first packet of path 0, or left to come as DATA, when it will get its answer.
     */
    void onEarly(long nowNs, int cid, PacketMemory m, int at, int bytes) {
        int image = at + EarlyMessage.AT;
        int payloadAt = DataHeader.payloadOffset(m, image);
        int payload = at + bytes - CommonHeader.TRAILER_BYTES - payloadAt;
        Verdict verdict = checkMessage(nowNs, cid, m, image, payload);
        Stream s = stream;
        //= MR-3.7-6
        if (verdict != Verdict.ACCEPTED
                || s == null
                || place(m, image, payloadAt, payload) != Verdict.ACCEPTED) {
            return;
        }
        contexts.mark(cid, 0, 0);
        contexts.addPayload(cid, payload);
        leases.onEarly(nowNs, cid);
        counters.increment(CounterId.EARLY_ACCEPTED);
        counters.add(CounterId.PAYLOAD_BYTES, payload);
        countMessage(cid, s, m, image, payload);
    }

    /** Copies payload to where {@link #checkMessage} found that it goes. */
    private Verdict place(PacketMemory m, int at, int payloadAt, int payload) {
        if (payload == 0) {
            return Verdict.ACCEPTED;
        }
        //= MR-4.1-1, MR-4.9-1
        MemoryRegion to = region;
        if (to != null) {
            return MemoryRegion.place(m, payloadAt, to, placeAt, payload)
                    ? Verdict.ACCEPTED
                    : Verdict.ACCESS;
        }
        Stream s = stream;
        long offset = DataHeader.msgOffset(m, at);
        return s != null && s.receiveQueue().scatter(receiveSeq, offset, m, payloadAt, payload)
                ? Verdict.ACCEPTED
                : Verdict.LOCAL_FAULT;
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
        if (connection == null || !connection.isPeer(source)) {
            return Verdict.WRONG_SOURCE;
        }
        //= MR-2.2-4
        if (path >= contexts.paths(cid)) {
            return Verdict.OUT_OF_WINDOW;
        }
        connection.hear(path, source);
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
    private Verdict checkMessage(long nowNs, int cid, PacketMemory m, int at, int payload) {
        stream = null;
        region = null;
        invalidated = null;
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
                || !s.received.isOpen(DataHeader.msn(m, at))
                || (slot != DataHeader.NO_SLOT && !contexts.isMessageSlot(slot))) {
            return Verdict.INVALID;
        }
        stream = s;
        if (opcode.consumesReceive()) {
            receiveSeq = s.postedReceive(DataHeader.recvSeq(m, at, opcode));
            if (receiveSeq < 0) {
                return Verdict.NOT_READY;
            }
        }
        if (opcode.isPull()) {
            pull.read(opcode, m, at, CommonHeader.toTxTime(nowNs));
            return pulls.check(s, pull);
        }
        if (opcode.hasReth()) {
            return checkRemoteAccess(s, m, at);
        }
        //= MR-4.1-3
        if (DataHeader.length(m, at) > s.receiveQueue().length(receiveSeq)) {
            return Verdict.TOO_LONG;
        }
        return opcode.invalidates() ? checkInvalidate(s, m, at) : Verdict.ACCEPTED;
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

    private Verdict checkInvalidate(Stream s, PacketMemory m, int at) {
        MemoryRegion target = device.regions.lookup(DataHeader.invalidatedKey(m, at));
        //= MR-4.9-5
        if (target == null
                || RegionTable.check(target, 0, s.domain(), target.address(), 0)
                        != AccessVerdict.OK) {
            return Verdict.ACCESS;
        }
        invalidated = target;
        return Verdict.ACCEPTED;
    }

    private void accept(
            long nowNs, int cid, int path, int psn, PacketMemory m, int at, int payload, Ecn ecn) {
        int ahead = psn - contexts.cumPsn(cid, path);
        boolean ce = ecn == Ecn.CE;
        boolean holeBefore = contexts.hasHole(cid, path);
        contexts.mark(cid, path, ahead);
        contexts.unset(cid, RxContexts.NAK_SENT);
        contexts.arrived(cid, path, CommonHeader.txTime(m, at), CommonHeader.toTxTime(nowNs), ce);
        leases.onAccepted(nowNs, cid);
        device.noteEcn(nowNs, contexts.connection(cid), ecn);
        counters.increment(CounterId.DATA_ACCEPTED);
        counters.add(CounterId.PAYLOAD_BYTES, payload);
        if (ahead > 0) {
            counters.increment(CounterId.OUT_OF_ORDER);
        }
        Stream s = stream;
        boolean late = s != null && countMessage(cid, s, m, at, payload);
        boolean ceEdge = contexts.notePathCe(cid, path, ce);
        int flags = CommonHeader.flags(m, at);
        if ((flags & Flags.RETX) == 0) {
            int txTime = CommonHeader.txTime(m, at);
            acks.hints().onPacket(nowNs, cid, txTime, (flags & Flags.MORE) != 0);
        }
        boolean asked = (flags & Flags.ACK_REQ) != 0;
        long unacked = contexts.addPayload(cid, payload);
        //= MR-4.2-5
        if (asked
                || late
                || ceEdge
                || holeBefore
                || ahead > 0
                || unacked >= device.limits.ackBytes()) {
            acks.oweNow(cid, path);
        } else {
            acks.oweLater(nowNs, cid, path);
        }
    }

    /**
     * Returns true when the packet completes a message of several whose last one came before it.
     */
    private boolean countMessage(int cid, Stream s, PacketMemory m, int at, int payload) {
        int slot = DataHeader.slot(m, at);
        int msn = DataHeader.msn(m, at);
        long length = DataHeader.length(m, at);
        Opcode opcode = Opcode.ofValid(CommonHeader.opcode(m, at));
        if (opcode.consumesReceive() && (CommonHeader.flags(m, at) & Flags.IMM) != 0) {
            s.filled().immediate(receiveSeq, DataHeader.immediate(m, at, opcode));
        }
        if (opcode.isPull()) {
            if (pulls.accept(s, pull)) {
                messageDone(cid, s, msn);
            }
            return false;
        }
        if (slot != DataHeader.NO_SLOT) {
            long counted = contexts.countMessage(cid, slot, s.id(), msn, payload);
            if (counted < length) {
                return false;
            }
            contexts.closeMessage(cid, slot);
        }
        boolean late = slot != DataHeader.NO_SLOT && (CommonHeader.flags(m, at) & Flags.LAST) == 0;
        if (opcode.consumesReceive()) {
            s.filled().fill(receiveSeq, opcode, msn, length);
            MemoryRegion target = invalidated;
            if (target != null) {
                s.filled().invalidates(receiveSeq, target);
            }
        }
        messageDone(cid, s, msn);
        return late;
    }

    /** A message is complete; READs and atomics right behind it have their turn. */
    private void messageDone(int cid, Stream s, int msn) {
        //= MR-4.2-4
        boolean ended = s.messageDone(msn);
        while (!ended && pulls.executeDeferred(s)) {
            ended = s.messageDone(s.received.oldest());
        }
        if (ended) {
            endOwnWork(cid, s);
        }
    }

    /** A request that was received before wants its reply again. */
    private void repeatPull(long nowNs, int cid, PacketMemory m, int at) {
        Opcode opcode = Opcode.ofValid(CommonHeader.opcode(m, at));
        TransportConnection connection = contexts.connection(cid);
        Stream s = connection == null ? null : connection.stream(CommonHeader.stream(m, at));
        if (connection == null || s == null || !opcode.isPull() || s.inError()) {
            return;
        }
        s.enterRxLease(connection.rxLease);
        pull.read(opcode, m, at, CommonHeader.toTxTime(nowNs));
        if (pulls.repeat(s, pull)) {
            messageDone(cid, s, pull.msn);
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

    /** The stream whose receive cannot take its message ends in error. */
    private void spoil(int cid, int msn, WcStatus status) {
        Stream s = stream;
        if (s != null && s.receiveSpoilt(receiveSeq, msn, status)) {
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
                code == NakCode.RECEIVER_NOT_READY ? retryAfterUs() : 0);
    }

    /** What the queue pair without a receive tells; one that is not there yet has no say. */
    private int retryAfterUs() {
        Stream s = stream;
        return s == null ? StreamSettings.DEFAULT_RNR_TIMER_US : s.settings().minRnrTimerUs();
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
        if (connection == null || !connection.isPeer(source) || path >= contexts.paths(cid)) {
            counters.increment(CounterId.WRONG_SOURCE);
            return;
        }
        leases.heard(nowNs, cid);
        connection.hear(path, source);
        contexts.arrived(
                cid, path, CommonHeader.txTime(m, at), CommonHeader.toTxTime(nowNs), false);
        contexts.notePathProbe(cid, path);
        contexts.set(cid, RxContexts.ANSWERS_MISSED);
        acks.oweNow(cid, path);
    }
}
