package dev.metaroce.transport;

import dev.metaroce.event.CounterId;
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
    /** How soon a sender may try again that found no posted receive, microseconds. */
    static final int RETRY_AFTER_US = 200;

    private static final int NAK_SLOTS = 256;
    private static final int MAX_ACK_BYTES =
            AckHeader.firstRecord(0)
                    + 16 * (AckHeader.RECORD_BYTES + AckHeader.SACK_BYTES)
                    + CommonHeader.TRAILER_BYTES;

    private final DeviceState device;
    private final RxContexts contexts;
    private final ReceiverShares shares;
    private final CidPool pool;
    private final int[] due;
    private int turn;
    private int dueHead;
    private int dueCount;

    // NAKs waiting to be sent; a full ring drops the newest, its packet will be sent again
    private final NakCode[] nakCode = new NakCode[NAK_SLOTS];
    private final int[] nakFields = new int[NAK_SLOTS * NAK_INTS];
    private static final int NAK_INTS = 7;
    private int nakHead;
    private int nakCount;

    AckBuilder(DeviceState device, RxContexts contexts, ReceiverShares shares, CidPool pool) {
        this.device = device;
        this.contexts = contexts;
        this.shares = shares;
        this.pool = pool;
        due = new int[device.limits.contexts()];
    }

    /** The path has news that is to be told in this turn. */
    void oweNow(int cid, int path) {
        contexts.owePathAck(cid, path);
        listDue(cid);
    }

    /** The path has news that may wait for more, up to the acknowledgement delay. */
    void oweLater(long nowNs, int cid, int path) {
        contexts.owePathAck(cid, path);
        if (!contexts.has(cid, RxContexts.ACK_LISTED) && !device.timers.isArmed(cid)) {
            device.timers.set(cid, nowNs + device.limits.ackDelayNs());
        }
    }

    /** The acknowledgement delay of a context ended. */
    void onDelayOver(int cid) {
        if (contexts.connection(cid) != null && contexts.ackMask(cid) != 0) {
            listDue(cid);
        }
    }

    private void listDue(int cid) {
        if (!contexts.has(cid, RxContexts.ACK_LISTED)) {
            contexts.set(cid, RxContexts.ACK_LISTED);
            due[(dueHead + dueCount) % due.length] = cid;
            dueCount++;
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
        if (nakCount == NAK_SLOTS) {
            return;
        }
        int slot = (nakHead + nakCount) % NAK_SLOTS;
        nakCode[slot] = code;
        int at = slot * NAK_INTS;
        nakFields[at] = ctx;
        nakFields[at + 1] = path;
        nakFields[at + 2] = stream;
        nakFields[at + 3] = psn;
        nakFields[at + 4] = msn;
        nakFields[at + 5] = recvSeq;
        nakFields[at + 6] = retryAfterUs;
        nakCount++;
    }

    /** True when answers are waiting to be sent. */
    boolean isOwing() {
        return nakCount > 0 || dueCount > 0;
    }

    /** Appends owed answers while the batch has room; returns the packets appended. */
    int pollTransmit(long nowNs, TxBatch batch) {
        int sent = 0;
        while (nakCount > 0 && batch.hasRoom(NakHeader.PACKET_BYTES)) {
            sent += sendNak(nowNs, batch);
        }
        while (dueCount > 0 && batch.hasRoom(MAX_ACK_BYTES)) {
            int cid = due[dueHead];
            dueHead = (dueHead + 1) % due.length;
            dueCount--;
            sent += sendAck(nowNs, cid, batch);
        }
        return sent;
    }

    private int sendNak(long nowNs, TxBatch batch) {
        int slot = nakHead;
        nakHead = (nakHead + 1) % NAK_SLOTS;
        nakCount--;
        int at = slot * NAK_INTS;
        int ctx = nakFields[at];
        int cid = CommonHeader.cid(ctx);
        TransportConnection connection = contexts.connection(cid);
        if (connection == null || pool.epoch(cid) != CommonHeader.epoch(ctx)) {
            return 0;
        }
        PacketMemory m = batch.memory();
        int route = route(cid, nakFields[at + 1]);
        int to = batch.append(connection.peer, route, false, NakHeader.PACKET_BYTES);
        CommonHeader.encode(
                m,
                to,
                PacketType.NAK.code(),
                0,
                contexts.srcCtx(cid),
                nakFields[at + 1],
                nakCode[slot].code(),
                nakFields[at + 2],
                nakFields[at + 3],
                CommonHeader.toTxTime(nowNs));
        NakHeader.encode(
                m,
                to,
                nakFields[at + 4],
                nakFields[at + 5],
                nakFields[at + 6],
                cid,
                CommonHeader.epoch(ctx));
        CommonHeader.seal(m, to, NakHeader.PACKET_BYTES - CommonHeader.TRAILER_BYTES);
        device.counters.increment(CounterId.NAKS_SENT);
        return 1;
    }

    /**
     * The route of an answer: that of its path, which keeps round trips even. When answers seem to
     * get lost they take all routes in turn, because one may be dead in this direction alone, and
     * the initiator can only change its own.
     */
    private int route(int cid, int path) {
        //= MR-4.2-10
        if (!contexts.has(cid, RxContexts.ANSWERS_MISSED)) {
            return 1 + path;
        }
        turn = turn % device.limits.routes() + 1;
        return turn;
    }

    private int sendAck(long nowNs, int cid, TxBatch batch) {
        TransportConnection connection = contexts.connection(cid);
        int mask = connection == null ? 0 : contexts.ackMask(cid);
        if (connection == null || mask == 0) {
            return 0;
        }
        int holes = 0;
        for (int rest = mask; rest != 0; rest &= rest - 1) {
            if (hasSack(cid, Integer.numberOfTrailingZeros(rest))) {
                holes++;
            }
        }
        int count = Integer.bitCount(mask);
        int body =
                AckHeader.firstRecord(0)
                        + count * AckHeader.RECORD_BYTES
                        + holes * AckHeader.SACK_BYTES;
        PacketMemory m = batch.memory();
        int route = route(cid, Integer.numberOfTrailingZeros(mask));
        int at = batch.append(connection.peer, route, false, body + CommonHeader.TRAILER_BYTES);
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
        shares.refresh(nowNs);
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
        for (int rest = mask; rest != 0; rest &= rest - 1) {
            //= MR-2.4-4, MR-4.2-7
            record = putPath(nowNs, cid, Integer.numberOfTrailingZeros(rest), m, record);
        }
        CommonHeader.seal(m, at, body);
        contexts.settleAcks(cid);
        contexts.clearBytesSinceAck(cid);
        device.timers.cancel(cid);
        device.counters.increment(CounterId.ACKS_SENT);
        return 1;
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
            next = AckHeader.putSack(m, next, contexts.words(), contexts.bitmapAt(cid, path));
        }
        return next;
    }
}
