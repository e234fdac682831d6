package dev.metaroce.transport;

import dev.metaroce.event.CounterId;
import dev.metaroce.util.IntRing;
import dev.metaroce.wire.AckHeader;
import dev.metaroce.wire.CommonHeader;
import dev.metaroce.wire.NakCode;
import dev.metaroce.wire.NakHeader;
import dev.metaroce.wire.PacketMemory;
import dev.metaroce.wire.PacketType;
import dev.metaroce.wire.TxBatch;

/**
 * The target's answers: which contexts owe an acknowledgement and when, and the packets themselves.
 * One ACK carries every path that has news. Owner: the engine thread.
 */
final class AckBuilder {
    private static final int MAX_NAKS = 256;
    private static final int NAK_INTS = 8;

    /** Paths that one ACK tells of; more go into another. */
    private static final int RECORDS_MAX = 16;

    private static final int MAX_ACK_BYTES =
            AckHeader.firstRecord(0)
                    + RECORDS_MAX * (AckHeader.RECORD_BYTES + AckHeader.SACK_BYTES)
                    + CommonHeader.TRAILER_BYTES;

    private final DeviceState device;
    private final RxContexts contexts;
    private final ReceiverShares shares;
    private final CidPool pool;
    private int turn;

    /** Contexts that owe an acknowledgement now. */
    private final IntRing due = new IntRing();

    /**
     * NAKs waiting to be sent, each a row of ints; when there are too many the newest is dropped,
     * its packet will be sent again.
     */
    private final IntRing naks = new IntRing();

    private final ReplyQueue replies;

    AckBuilder(DeviceState device, RxContexts contexts, ReceiverShares shares, CidPool pool) {
        this.device = device;
        this.contexts = contexts;
        this.shares = shares;
        this.pool = pool;
        replies = new ReplyQueue(device, contexts, pool);
    }

    ReplyQueue replies() {
        return replies;
    }

    /** The path has news that is to be told in this turn. */
    void oweNow(int cid, int path) {
        contexts.owePathAck(cid, path);
        listDue(cid);
    }

    /** The path has news that may wait for more, up to the acknowledgement delay. */
    void oweLater(long nowNs, int cid, int path) {
        contexts.owePathAck(cid, path);
        int timer = DeviceState.timer(cid, DeviceState.ACK_TIMER);
        if (!contexts.has(cid, RxContexts.ACK_LISTED) && !device.timers.isArmed(timer)) {
            device.timers.set(timer, nowNs + device.limits.ackDelayNs());
        }
    }

    /** The acknowledgement delay of a context ended. */
    void onDelayOver(int cid) {
        if (contexts.connection(cid) != null && contexts.ackMask(cid) != 0) {
            listDue(cid);
        }
    }

    RateHints hints() {
        return shares.hints();
    }

    /** Hints that did not go with an answer since go alone. */
    private void listHints() {
        IntRing untold = shares.hints().untold();
        while (!untold.isEmpty()) {
            int cid = untold.poll();
            if (contexts.connection(cid) != null && contexts.has(cid, RxContexts.HINT_OWED)) {
                listDue(cid);
            }
        }
    }

    private void listDue(int cid) {
        if (!contexts.has(cid, RxContexts.ACK_LISTED)) {
            contexts.set(cid, RxContexts.ACK_LISTED);
            due.add(cid);
        }
    }

    void nak(
            NakCode code,
            int cid,
            int ctx,
            int path,
            int stream,
            int psn,
            int msn,
            int recvSeq,
            int retryAfterUs) {
        if (naks.size() == MAX_NAKS * NAK_INTS) {
            return;
        }
        naks.add(ctx);
        naks.add(path);
        naks.add(code.code());
        naks.add(stream);
        naks.add(psn);
        naks.add(msn);
        naks.add(recvSeq);
        naks.add(retryAfterUs);
    }

    /** A READ or an atomic operation is refused. */
    void refuse(NakCode code, PullRequest request) {
        int cid = request.cid();
        int ctx = request.ctx;
        nak(code, cid, ctx, request.path, request.stream, request.psn, request.msn, 0, 0);
    }

    /** True when answers are waiting to be sent. */
    boolean isOwing() {
        return !naks.isEmpty()
                || !due.isEmpty()
                || !replies.isEmpty()
                || !shares.hints().untold().isEmpty();
    }

    /** Appends owed answers while the batch has room; returns the packets appended. */
    int pollTransmit(long nowNs, TxBatch batch) {
        int sent = 0;
        while (!naks.isEmpty() && batch.hasRoom(NakHeader.PACKET_BYTES)) {
            sent += sendNak(nowNs, batch);
        }
        sent += replies.pollTransmit(nowNs, batch, this);
        listHints();
        // The answer to a probe says that replies to what came before it were sent.
        while (replies.isEmpty() && !due.isEmpty() && batch.hasRoom(MAX_ACK_BYTES)) {
            sent += sendAck(nowNs, due.poll(), batch);
        }
        return sent;
    }

    private int sendNak(long nowNs, TxBatch batch) {
        int ctx = naks.poll();
        int path = naks.poll();
        int code = naks.poll();
        int stream = naks.poll();
        int psn = naks.poll();
        int msn = naks.poll();
        int recvSeq = naks.poll();
        int retryAfterUs = naks.poll();
        int cid = CommonHeader.cid(ctx);
        int epoch = CommonHeader.epoch(ctx);
        TransportConnection connection = contexts.connection(cid);
        if (connection == null || pool.epoch(cid) != epoch) {
            return 0;
        }
        PacketMemory m = batch.memory();
        int to =
                batch.append(
                        connection.addressOf(path),
                        route(cid, path),
                        false,
                        NakHeader.PACKET_BYTES);
        CommonHeader.encode(
                m,
                to,
                PacketType.NAK.code(),
                0,
                contexts.srcCtx(cid),
                path,
                code,
                stream,
                psn,
                CommonHeader.toTxTime(nowNs));
        NakHeader.encode(m, to, msn, recvSeq, retryAfterUs, cid, epoch);
        CommonHeader.seal(m, to, NakHeader.PACKET_BYTES - CommonHeader.TRAILER_BYTES);
        device.counters.increment(CounterId.NAKS_SENT);
        return 1;
    }

    /**
     * The route of an answer: that of its path, which keeps round trips even. When answers seem to
     * get lost they take all routes in turn, because one may be dead in this direction alone, and
     * the initiator can only change its own.
     */
    int route(int cid, int path) {
        //= MR-4.2-10
        if (!contexts.has(cid, RxContexts.ANSWERS_MISSED)) {
            return 1 + path;
        }
        turn = turn % device.limits.routes() + 1;
        return turn;
    }

    private int sendAck(long nowNs, int cid, TxBatch batch) {
        TransportConnection connection = contexts.connection(cid);
        long mask = connection == null ? 0 : pathsToTell(cid);
        if (connection == null || (mask == 0 && !contexts.has(cid, RxContexts.HINT_OWED))) {
            return 0;
        }
        int holes = 0;
        for (long rest = mask; rest != 0; rest &= rest - 1) {
            if (hasSack(cid, Long.numberOfTrailingZeros(rest))) {
                holes++;
            }
        }
        int count = Long.bitCount(mask);
        int body =
                AckHeader.firstRecord(0)
                        + count * AckHeader.RECORD_BYTES
                        + holes * AckHeader.SACK_BYTES;
        PacketMemory m = batch.memory();
        int first = mask == 0 ? 0 : Long.numberOfTrailingZeros(mask);
        int bytes = body + CommonHeader.TRAILER_BYTES;
        int at = batch.append(connection.address(0), route(cid, first), false, bytes);
        CommonHeader.encode(
                m,
                at,
                PacketType.ACK.code(),
                0,
                contexts.srcCtx(cid),
                0,
                0,
                0,
                0,
                CommonHeader.toTxTime(nowNs));
        shares.onAnswer(nowNs);
        //= MR-2.4-2
        AckHeader.encodeLease(
                m,
                at,
                (int) (contexts.payloadBytes(cid) / AckHeader.RX_UNIT_BYTES),
                contexts.rateHint(cid),
                contexts.hintSeq(cid),
                shares.windowKib(),
                pool.load(),
                count,
                cid,
                pool.epoch(cid));
        int record = AckHeader.firstRecord(at);
        for (long rest = mask; rest != 0; rest &= rest - 1) {
            //= MR-2.4-4, MR-4.2-7
            record = putPath(nowNs, cid, Long.numberOfTrailingZeros(rest), m, record);
        }
        CommonHeader.seal(m, at, body);
        contexts.clearBytesSinceAck(cid);
        if (contexts.settleAcks(cid, mask)) {
            listDue(cid);
        }
        device.timers.cancel(DeviceState.timer(cid, DeviceState.ACK_TIMER));
        device.counters.increment(CounterId.ACKS_SENT);
        return 1;
    }

    /** Paths with news, and others too where answers get lost. */
    private long pathsToTell(int cid) {
        long owed = firstOf(contexts.ackMask(cid));
        //= MR-4.3-14
        if (owed == 0 || !contexts.has(cid, RxContexts.ANSWERS_MISSED)) {
            return owed;
        }
        int paths = contexts.paths(cid);
        return paths > RECORDS_MAX ? owed : (1L << paths) - 1;
    }

    /** As many of the paths as one ACK has room for. */
    private static long firstOf(long mask) {
        long rest = mask;
        for (int i = 0; i < RECORDS_MAX && rest != 0; i++) {
            rest &= rest - 1;
        }
        return mask ^ rest;
    }

    private boolean hasSack(int cid, int path) {
        //= MR-2.4-9
        return contexts.selective(cid) && contexts.hasHole(cid, path);
    }

    private int putPath(long nowNs, int cid, int path, PacketMemory m, int record) {
        boolean sack = hasSack(cid, path);
        int flags = sack ? AckHeader.RFLAG_SACK : 0;
        //= MR-2.4-10
        flags |= (contexts.ceMask(cid) >> path & 1) != 0 ? AckHeader.RFLAG_CE : 0;
        flags |= (contexts.probeMask(cid) >> path & 1) != 0 ? AckHeader.RFLAG_PROBE_REPLY : 0;
        int delay = CommonHeader.toTxTime(nowNs) - contexts.arrivalTime(cid, path);
        int next =
                AckHeader.putRecord(
                        m,
                        record,
                        path,
                        flags,
                        AckHeader.toAckDelay((long) delay * AckHeader.ACK_DELAY_UNIT_NS),
                        contexts.cumPsn(cid, path),
                        contexts.echoTime(cid, path),
                        contexts.cePackets(cid, path));
        if (sack) {
            next = AckHeader.putSack(m, next, contexts.row(cid), contexts.bitmapAt(path));
        }
        return next;
    }
}
