package dev.metaroce.transport;

import dev.metaroce.event.CounterId;
import dev.metaroce.event.Counters;
import dev.metaroce.event.EventId;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.util.WindowBitmap;
import dev.metaroce.wire.AckHeader;
import dev.metaroce.wire.CommonHeader;
import dev.metaroce.wire.DataHeader;
import dev.metaroce.wire.Ecn;
import dev.metaroce.wire.NakCode;
import dev.metaroce.wire.NakHeader;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.Opcode;
import dev.metaroce.wire.PacketMemory;
import dev.metaroce.wire.ReplyHeader;

import org.jspecify.annotations.Nullable;

/**
 * The initiator's receiving end: what an ACK or NAK says of packets sent, and what that finishes.
 * Owner: the engine thread.
 */
final class Completer {
    private static final long MAX_PAUSE_NS = 10_000_000;

    private final DeviceState device;
    private final Counters counters;
    private final LeaseClient leases;
    private final PathWatch watch;
    private final long[] sack = new long[WindowBitmap.WORDS];
    private final long[] found = new long[WindowBitmap.WORDS];

    Completer(DeviceState device, LeaseClient leases) {
        this.device = device;
        this.leases = leases;
        watch = new PathWatch(device);
        counters = device.counters;
    }

    /** The connection whose open lease this answer names, or null when it is stale. */
    private @Nullable TransportConnection holder(
            int srcCtx, int cid, int epoch, NetAddress source) {
        TransportConnection c = device.sources.holder(srcCtx);
        TxLease lease = c == null ? null : c.lease;
        //= MR-2.4-3, MR-2.5-4, MR-3.2-5
        if (c == null
                || lease == null
                || lease.cid != cid
                || lease.epoch != epoch
                || !c.isPeer(source)) {
            counters.increment(CounterId.ACKS_STALE);
            return null;
        }
        c.hear(source);
        return c;
    }

    void onAck(long nowNs, PacketMemory m, int at, NetAddress source) {
        TransportConnection c =
                holder(
                        CommonHeader.ctx(m, at),
                        AckHeader.cid(m, at),
                        AckHeader.epoch(m, at),
                        source);
        TxLease lease = c == null ? null : c.lease;
        if (c == null || lease == null) {
            return;
        }
        counters.increment(CounterId.ACKS_RECEIVED);
        c.heardNs = nowNs;
        lease.allow(
                nowNs,
                AckHeader.window(m, at),
                AckHeader.rateHint(m, at),
                AckHeader.hintSeq(m, at));
        lease.poolLoad = AckHeader.poolLoad(m, at);
        int count = AckHeader.count(m, at);
        int record = AckHeader.firstRecord(at);
        for (int i = 0; i < count; i++) {
            onRecord(nowNs, c, lease, m, record);
            record = AckHeader.nextRecord(m, record);
        }
        watch.look(nowNs, c, lease);
        leases.afterProgress(nowNs, c);
    }

    private void onRecord(
            long nowNs, TransportConnection c, TxLease lease, PacketMemory m, int record) {
        int pathId = AckHeader.path(m, record);
        int cum = AckHeader.cumPsn(m, record);
        TxPath path = pathId < lease.pathCount ? lease.paths[pathId] : null;
        //= MR-4.3-5
        if (path == null || cum - path.una() < 0 || cum - path.nextPsn() > 0) {
            counters.increment(CounterId.ACKS_STALE);
            return;
        }
        int echo = AckHeader.echoTime(m, record);
        int acked = ackThrough(nowNs, c, lease, path, cum, echo);
        boolean holes = AckHeader.hasSack(m, record);
        boolean bits = holes && lease.sackBits > 0;
        if (bits) {
            acked += ackSelected(c, lease, path, m, record, cum, echo);
        }
        boolean answersProbe =
                (AckHeader.recordFlags(m, record) & AckHeader.RFLAG_PROBE_REPLY) != 0;
        //= MR-4.3-11, MR-4.3-23
        boolean probed = answersProbe && !watch.isHomeAnswer(path.state, echo) && path.isProbed();
        int delay = AckHeader.ackDelay(m, record);
        //= MR-4.3-14
        long rttNs = delay < AckHeader.ACK_DELAY_MAX ? rttNs(nowNs, echo, delay) : 0;
        if (acked > 0 || probed) {
            path.state.rtt().onSample(rttNs);
        }
        if (acked > 0) {
            path.onDelivered(acked);
            device.noteAcknowledged(acked);
            int ce = path.newCePackets(AckHeader.cePackets(m, record));
            path.state.congestion().onAck(nowNs, acked, Math.min(ce, acked), rttNs);
            lease.selector.onAck(pathId, acked, Math.min(ce, acked));
            if (rttNs > 0) {
                lease.onRoundTrip(rttNs);
            }
        }
        if (lease.sackBits > 0 && (holes || probed)) {
            lose(nowNs, lease, path, pathId, LossDetector.overtaken(path, found));
        }
        if (probed || holes != bits) {
            onTold(nowNs, lease, path, pathId, probed ? path.toldUntil(echo) : echo, probed);
        }
        if (path.state.timeouts() > 1 && (acked > 0 || probed) && path.lostCount() == 0) {
            // All had arrived: answers were lost, or late.
            //= MR-5.3-5
            path.state.congestion().onSpuriousTimeout();
            device.noteLoss();
        }
        if (acked > 0 || probed) {
            watch.onArrival(nowNs, lease, echo);
            watch.onProgress(nowNs, path);
        }
    }

    /** Something that was sent at {@code time} arrived, and this answer tells of all before. */
    private void onTold(
            long nowNs, TxLease lease, TxPath path, int pathId, int time, boolean probed) {
        //= MR-4.3-8
        int lost =
                lease.sackBits > 0
                        ? LossDetector.olderThan(path, time, found)
                        : LossDetector.oldestOlderThan(path, time, found);
        lose(nowNs, lease, path, pathId, lost);
        if (probed) {
            lose(nowNs, lease, path, pathId, LossDetector.unansweredAt(path, time, found));
        }
    }

    /** Round-trip time of the packet that caused the answer, without the wait at the target. */
    private static long rttNs(long nowNs, int echo, int ackDelay) {
        //= MR-5.1-1
        int units = CommonHeader.toTxTime(nowNs) - echo - ackDelay;
        return Math.max(1, units) * (long) CommonHeader.TX_TIME_UNIT_NS;
    }

    private int ackThrough(
            long nowNs, TransportConnection c, TxLease lease, TxPath path, int cum, int echo) {
        int acked = 0;
        for (int psn = path.una(); psn != cum; psn++) {
            acked += ackOne(c, lease, path, psn, echo);
        }
        path.advance(nowNs);
        return acked;
    }

    private int ackSelected(
            TransportConnection c,
            TxLease lease,
            TxPath path,
            PacketMemory m,
            int record,
            int cum,
            int echo) {
        AckHeader.readSack(m, AckHeader.sackAt(record), sack, 0);
        int first = cum + 1;
        int limit = path.nextPsn() - first;
        int acked = 0;
        for (int bit = WindowBitmap.nextSet(sack, 0, 0);
                bit >= 0 && bit < limit;
                bit = WindowBitmap.nextSet(sack, 0, bit + 1)) {
            acked += ackOne(c, lease, path, first + bit, echo);
        }
        return acked;
    }

    /** The target has this packet; returns 1 when that acknowledges it. */
    private int ackOne(TransportConnection c, TxLease lease, TxPath path, int psn, int echo) {
        //= MR-4.6-5
        Stream stream = path.stream(psn);
        if (stream != null && path.awaitsReply(psn)) {
            if (path.isOutstanding(psn) && !path.hasArrived(psn)) {
                lease.onArrived(path.packetBytes(psn));
                arrived(lease, stream, path, psn);
                path.reach(psn, echo);
                if (stream.endsWait(path.seq(psn))) {
                    resume(c, lease, stream);
                }
            }
            return 0;
        }
        return acknowledge(c, lease, path, psn, echo) ? 1 : 0;
    }

    /** A packet is done with; returns false when that was known. */
    private boolean acknowledge(
            TransportConnection c, TxLease lease, TxPath path, int psn, int echo) {
        //= MR-4.3-7
        boolean spurious = lease.selective && path.isSpurious(psn, echo);
        if (!path.acknowledge(psn, echo)) {
            return false;
        }
        lease.onArrived(path.packetBytes(psn));
        if (spurious) {
            counters.increment(CounterId.SPURIOUS_RESENDS);
            path.onSpurious(psn);
            path.state.congestion().onSpuriousLoss(1);
        }
        Stream stream = path.stream(psn);
        if (stream != null) {
            arrived(lease, stream, path, psn);
            finished(c, lease, stream, path, psn);
            if (stream.onPacketAcked(path.seq(psn))) {
                //= MR-4.2-8
                stream.completeFinished();
            }
            if (stream.endsWait(path.seq(psn))) {
                resume(c, lease, stream);
            }
        }
        return true;
    }

    /** A reply to a READ or an atomic operation: the payload is placed, the request answered. */
    void onReply(long nowNs, PacketMemory m, int at, int bytes, NetAddress source, Ecn ecn) {
        TransportConnection c =
                holder(
                        CommonHeader.ctx(m, at),
                        ReplyHeader.cid(m, at),
                        ReplyHeader.epoch(m, at),
                        source);
        TxLease lease = c == null ? null : c.lease;
        int pathId = CommonHeader.path(m, at);
        if (c == null || lease == null) {
            return;
        }
        c.heardNs = nowNs;
        TxPath path = pathId < lease.pathCount ? lease.paths[pathId] : null;
        int psn = CommonHeader.psn(m, at);
        int payload = bytes - ReplyHeader.BYTES - CommonHeader.TRAILER_BYTES;
        if (path == null || !isAwaited(c, lease, path, psn, m, at, payload)) {
            counters.increment(CounterId.ACKS_STALE);
            return;
        }
        Stream stream = path.stream(psn);
        if (stream == null) {
            return;
        }
        long seq = path.seq(psn);
        int payloadAt = at + ReplyHeader.BYTES;
        if (CommonHeader.opcode(m, at) == Opcode.ATOMIC_REPLY.code()) {
            //= MR-4.7-3
            m.toNative64(payloadAt);
        }
        //= MR-4.6-4
        if (!stream.sendQueue().scatter(seq, path.offset(psn), m, payloadAt, payload)) {
            //= MR-4.6-10
            c.noteLocalFault(stream, seq, WcStatus.LOCAL_PROTECTION_ERROR);
            device.ready.add(c);
            return;
        }
        counters.increment(CounterId.REPLIES_RECEIVED);
        device.noteEcn(nowNs, c, ecn);
        answered(nowNs, c, lease, path, pathId, psn, m, at, ecn == Ecn.CE);
    }

    /** True when the reply is to a packet that waits for it, and fits. */
    private static boolean isAwaited(
            TransportConnection c,
            TxLease lease,
            TxPath path,
            int psn,
            PacketMemory m,
            int at,
            int payload) {
        Stream stream = c.stream(CommonHeader.stream(m, at));
        if (stream == null
                || !path.isOutstanding(psn)
                || !path.awaitsReply(psn)
                || path.stream(psn) != stream) {
            return false;
        }
        long seq = path.seq(psn);
        boolean atomic = CommonHeader.opcode(m, at) == Opcode.ATOMIC_REPLY.code();
        //= MR-4.6-3
        return stream.opcode(seq).isAtomic() == atomic
                && path.msn(psn) == ReplyHeader.msn(m, at)
                && path.offset(psn) - startOfMessage(lease, path, psn)
                        == ReplyHeader.msgOffset(m, at)
                && path.bytes(psn) == payload;
    }

    /** Where the message of a packet starts in its work request. */
    private static long startOfMessage(TxLease lease, TxPath path, int psn) {
        int slot = path.slot(psn);
        return slot == DataHeader.NO_SLOT ? path.offset(psn) : lease.messages.start(slot);
    }

    private void answered(
            long nowNs,
            TransportConnection c,
            TxLease lease,
            TxPath path,
            int pathId,
            int psn,
            PacketMemory m,
            int at,
            boolean ce) {
        int echo = ReplyHeader.echoTime(m, at);
        int delay = ReplyHeader.ackDelay(m, at);
        if (path.tellsOfOthers(psn, echo)) {
            lose(nowNs, lease, path, pathId, LossDetector.unanswered(path, psn, found));
        }
        acknowledge(c, lease, path, psn, echo);
        path.advance(nowNs);
        long rttNs = path.state.rtt().srttNs();
        // A request that waited for its turn for long tells nothing of the way.
        //= MR-4.6-7
        if (delay < AckHeader.ACK_DELAY_MAX) {
            rttNs = rttNs(nowNs, echo, delay);
            path.state.rtt().onSample(rttNs);
            lease.onRoundTrip(rttNs);
        }
        path.onDelivered(1);
        path.state.congestion().onAck(nowNs, 1, ce ? 1 : 0, rttNs);
        lease.selector.onAck(pathId, 1, ce ? 1 : 0);
        watch.onProgress(nowNs, path);
        if (lease.pullWanted) {
            lease.pullWanted = false;
            c.readyAll();
        }
        leases.afterProgress(nowNs, c);
    }

    /** A packet is known to have arrived; with the last of its message, later ones have turns. */
    private static void arrived(TxLease lease, Stream stream, TxPath path, int psn) {
        int slot = path.slot(psn);
        if (!path.hasArrived(psn)
                && (slot == DataHeader.NO_SLOT || lease.messages.arrive(slot, path.bytes(psn)))) {
            stream.sent.complete(path.msn(psn));
        }
    }

    /**
     * A packet is done with: when it was the last one of its message, there is room for another.
     */
    private void finished(
            TransportConnection c, TxLease lease, Stream stream, TxPath path, int psn) {
        int slot = path.slot(psn);
        if (slot != DataHeader.NO_SLOT && !lease.messages.acknowledge(slot, path.bytes(psn))) {
            return;
        }
        if (stream.hasUnsent()) {
            c.wish().readyStreams.add(stream);
        }
        if (slot != DataHeader.NO_SLOT && lease.slotWanted) {
            lease.slotWanted = false;
            c.readyAll();
        }
    }

    /** Takes what was found for lost. */
    private void lose(long nowNs, TxLease lease, TxPath path, int pathId, int lost) {
        if (lost == 0) {
            return;
        }
        int sent = path.state.inFlight();
        int una = path.una();
        if (WindowBitmap.get(found, 0, 0)) {
            lease.onOldestLost(path.packetBytes(una));
        }
        //= MR-4.3-1
        for (int bit = WindowBitmap.nextSet(found, 0, 0);
                bit >= 0;
                bit = WindowBitmap.nextSet(found, 0, bit + 1)) {
            path.markLost(una + bit);
            device.event(nowNs, EventId.PACKET_LOST, pathId, una + bit, 0);
        }
        counters.add(CounterId.LOSSES_DETECTED, lost);
        device.noteLoss();
        path.state.congestion().onLoss(nowNs, lost, sent);
        lease.selector.onLoss(pathId);
    }

    void onNak(long nowNs, PacketMemory m, int at, NetAddress source) {
        TransportConnection c =
                holder(
                        CommonHeader.ctx(m, at),
                        NakHeader.cid(m, at),
                        NakHeader.epoch(m, at),
                        source);
        TxLease lease = c == null ? null : c.lease;
        int pathId = CommonHeader.path(m, at);
        NakCode code = NakCode.of(CommonHeader.opcode(m, at));
        if (c == null || lease == null || code == null || pathId >= lease.pathCount) {
            return;
        }
        counters.increment(CounterId.NAKS_RECEIVED);
        c.heardNs = nowNs;
        TxPath path = lease.paths[pathId];
        int psn = CommonHeader.psn(m, at);
        Stream stream = c.stream(CommonHeader.stream(m, at));
        if (code != NakCode.SEQUENCE && path.isOutstanding(psn)) {
            lease.onArrived(path.packetBytes(psn));
        }
        switch (code) {
            case SEQUENCE -> rewind(nowNs, c, lease, path, pathId, psn);
            case RECEIVER_NOT_READY ->
                    notReady(nowNs, c, lease, stream, path, psn, NakHeader.retryAfterUs(m, at));
            case INVALID_REQUEST, LENGTH, MISALIGNED_ATOMIC ->
                    refused(c, stream, path, psn, WcStatus.REMOTE_INVALID_REQUEST_ERROR);
            case REMOTE_ACCESS -> refused(c, stream, path, psn, WcStatus.REMOTE_ACCESS_ERROR);
            case REMOTE_OPERATION -> refused(c, stream, path, psn, WcStatus.REMOTE_OPERATION_ERROR);
        }
        leases.afterProgress(nowNs, c);
    }

    /** Profile S: everything before {@code expected} arrived, all else is sent again. */
    private void rewind(
            long nowNs,
            TransportConnection c,
            TxLease lease,
            TxPath path,
            int pathId,
            int expected) {
        if (lease.selective || expected - path.una() < 0 || expected - path.nextPsn() > 0) {
            counters.increment(CounterId.ACKS_STALE);
            return;
        }
        //= MR-4.4-3
        ackThrough(nowNs, c, lease, path, expected, 0);
        int sent = path.state.inFlight();
        if (path.status(expected) == TxPath.IN_FLIGHT) {
            lease.onOldestLost(path.packetBytes(expected));
        }
        int lost = path.markLostFrom(expected);
        watch.onProgress(nowNs, path);
        counters.add(CounterId.LOSSES_DETECTED, lost);
        device.event(nowNs, EventId.PACKET_LOST, pathId, expected, lost);
        // Go-Back-N counts one loss: the rest was thrown away by the receiver, not by the network.
        //= MR-4.4-4
        path.state.congestion().onLoss(nowNs, 1, sent);
        lease.selector.onLoss(pathId);
    }

    private void notReady(
            long nowNs,
            TransportConnection c,
            TxLease lease,
            @Nullable Stream stream,
            TxPath path,
            int psn,
            long retryAfterUs) {
        if (stream == null || !path.isOutstanding(psn) || path.stream(psn) != stream) {
            return;
        }
        boolean first = stream.notReadyCount == 0;
        boolean again = path.isAsking(psn) && path.status(psn) != TxPath.DEFERRED;
        if (first) {
            stream.notReadySinceNs = nowNs;
        }
        if (first || path.seq(psn) < stream.notReadySeq) {
            stream.notReadySeq = path.seq(psn);
            stream.notReadyPath = path;
            stream.notReadyPsn = psn;
        }
        if (first || again) {
            stream.notReadyCount++;
        }
        if (isPatienceOver(nowNs, stream)) {
            fail(c, stream, path.seq(psn), WcStatus.RNR_RETRY_EXCEEDED_ERROR);
            return;
        }
        if (first || again) {
            stream.pausedUntilNs = nowNs + pauseNs(stream, retryAfterUs);
        }
        for (int i = 0; i < lease.pathCount; i++) {
            //= MR-4.6-11
            lease.paths[i].excuse(stream, stream.notReadySeq, nowNs);
        }
        //= MR-4.5-8
        path.defer(psn, nowNs, stream.pausedUntilNs);
        watch.onProgress(nowNs, path);
        device.armBy(
                DeviceState.timer(c.index, DeviceState.CONNECTION_TIMER), stream.pausedUntilNs);
    }

    /** The oldest request that was refused has a receive: all that waited for it goes on. */
    private static void resume(TransportConnection c, TxLease lease, Stream stream) {
        for (int i = 0; i < lease.pathCount; i++) {
            lease.paths[i].resumeAll(stream);
        }
        c.wish().readyStreams.add(stream);
    }

    /** True when the stream waits no longer for a receive. */
    private boolean isPatienceOver(long nowNs, Stream stream) {
        int retries = stream.settings().rnrRetry();
        if (retries == StreamSettings.UNTIL_GIVE_UP) {
            //= MR-4.5-10
            return nowNs - stream.notReadySinceNs >= device.limits.giveUpNs();
        }
        //= MR-4.5-9
        return retries != StreamSettings.FOR_EVER && stream.notReadyCount > retries;
    }

    private static long pauseNs(Stream stream, long retryAfterUs) {
        //= MR-4.5-11
        long askedNs = Math.min(retryAfterUs, StreamSettings.MAX_RNR_TIMER_US) * 1_000;
        if (stream.settings().rnrRetry() != StreamSettings.UNTIL_GIVE_UP) {
            return askedNs;
        }
        long patientNs = askedNs << Math.min(stream.notReadyCount - 1, 6);
        return Math.min(patientNs, Math.max(askedNs, MAX_PAUSE_NS));
    }

    private void refused(
            TransportConnection c, @Nullable Stream stream, TxPath path, int psn, WcStatus status) {
        //= MR-4.5-6
        if (stream != null && path.isOutstanding(psn) && path.stream(psn) == stream) {
            fail(c, stream, path.seq(psn), status);
        }
    }

    /**
     * One request failed: its stream ends in error when those before it are finished, other streams
     * go on, the lease starts anew.
     */
    void fail(TransportConnection c, Stream stream, long seq, WcStatus status) {
        stream.refuse(seq, status);
        TxLease lease = c.lease;
        if (lease != null) {
            //= MR-4.5-3
            for (int i = 0; i < lease.pathCount; i++) {
                lease.paths[i].abandon(stream, seq);
            }
            c.readyAll();
        }
        //= MR-4.5-5
        c.reclaimed = true;
        device.ready.add(c);
    }
}
