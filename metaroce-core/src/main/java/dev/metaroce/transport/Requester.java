package dev.metaroce.transport;

import dev.metaroce.event.CounterId;
import dev.metaroce.event.Counters;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkQueue;
import dev.metaroce.wire.CommonHeader;
import dev.metaroce.wire.DataHeader;
import dev.metaroce.wire.Flags;
import dev.metaroce.wire.Opcode;
import dev.metaroce.wire.PacketMemory;
import dev.metaroce.wire.PacketType;
import dev.metaroce.wire.TxBatch;

import org.jspecify.annotations.Nullable;

/**
 * Makes the packets of an initiator: probes, then what was lost, then new parts of posted work,
 * each under window, pacer and the target's own limit. Owner: the engine thread.
 */
final class Requester {
    /**
     * New packets on one path in a row: long enough for segmentation offload, short enough to
     * spray.
     */
    private static final int RUN_PACKETS = 32;

    /** Packets of one stream in a row before the next stream has its turn. */
    private static final int STREAM_TURN_PACKETS = 16;

    /** Payload that is sent from where it is, if the port can: less costs more than a copy. */
    static final int LENT_BYTES_MIN = 2048;

    private final DeviceState device;
    private final Counters counters;
    private final PathWatch watch;
    private final boolean ecn;
    private final ReceiverShares shares;
    private int turnPackets;

    Requester(DeviceState device, ReceiverShares shares) {
        this.device = device;
        this.shares = shares;
        counters = device.counters;
        watch = new PathWatch(device);
        //= MR-5.2-5
        ecn = device.limits.mechanisms().ecn();
    }

    /**
     * Appends packets of one connection.
     *
     * @param budget most packets to append
     * @return packets appended; fewer than the budget with room in the batch means that nothing
     *     more may be sent now
     */
    int pollTransmit(long nowNs, TransportConnection c, TxBatch batch, int budget) {
        TxLease lease = c.lease;
        if (lease == null || c.leaseState == LeaseState.RELEASING) {
            return 0;
        }
        int sent = sendProbes(nowNs, c, lease, batch);
        while (sent < budget && batch.hasRoom(largestPacket(lease))) {
            int run = resendLost(nowNs, c, lease, batch, budget - sent);
            if (run == 0) {
                run = sendNew(nowNs, c, lease, batch, budget - sent);
            }
            if (run == 0) {
                break;
            }
            sent += run;
        }
        //= MR-4.3-12
        if (sent < budget
                && device.isLossy()
                && lease.probesTails()
                && nextStream(nowNs, c, lease) == null
                && !c.awaitsPulls) {
            for (int i = 0; i < lease.pathCount; i++) {
                lease.paths[i].probeTail();
            }
            sent += sendProbes(nowNs, c, lease, batch);
        }
        return sent;
    }

    private static int largestPacket(TxLease lease) {
        return DataHeader.MAX_HEADER_BYTES + lease.mtu + CommonHeader.TRAILER_BYTES;
    }

    private boolean isPaced(long nowNs, TransportConnection c, TxLease lease) {
        if (lease.rateBitsPerSecond() == Long.MAX_VALUE) {
            return true;
        }
        long nextNs = lease.pacer.nextSendNs(nowNs);
        if (nextNs - nowNs <= 0) {
            return true;
        }
        device.armBy(DeviceState.timer(c.index, DeviceState.CONNECTION_TIMER), nextNs);
        return false;
    }

    private int sendProbes(long nowNs, TransportConnection c, TxLease lease, TxBatch batch) {
        int sent = 0;
        for (int i = 0; i < lease.pathCount; i++) {
            watch.goHome(nowNs, c, lease, i);
            TxPath path = lease.paths[i];
            if (path.probeWanted && batch.hasRoom(CommonHeader.MIN_PACKET_BYTES)) {
                int txTime = CommonHeader.toTxTime(nowNs);
                sendProbe(txTime, lease, i, path.state.route(), batch);
                path.onProbeSent(txTime);
                sent++;
            }
            if (path.homeWanted && batch.hasRoom(CommonHeader.MIN_PACKET_BYTES)) {
                int txTime = CommonHeader.toTxTime(nowNs);
                sendProbe(txTime, lease, i, path.state.way().home(), batch);
                path.homeWanted = false;
                path.state.way().onHomeAsked(txTime);
                sent++;
            }
        }
        return sent;
    }

    private void sendProbe(int txTime, TxLease lease, int pathId, int route, TxBatch batch) {
        int at =
                batch.append(
                        lease.peer(route), lease.socket(route), ecn, CommonHeader.MIN_PACKET_BYTES);
        //= MR-2.5-7, MR-2.5-8
        CommonHeader.encode(
                batch.memory(),
                at,
                PacketType.PROBE.code(),
                Flags.ACK_REQ,
                lease.token,
                pathId,
                0,
                0,
                lease.paths[pathId].nextPsn(),
                txTime);
        CommonHeader.seal(batch.memory(), at, CommonHeader.BYTES);
        counters.increment(CounterId.PROBES_SENT);
    }

    private int resendLost(
            long nowNs, TransportConnection c, TxLease lease, TxBatch batch, int budget) {
        int sent = 0;
        for (int i = 0; i < lease.pathCount && sent < budget; i++) {
            TxPath path = lease.paths[i];
            while (mayResend(lease, path)
                    && path.resendWindow() > 0
                    && sent < budget
                    && sent < RUN_PACKETS
                    && isPaced(nowNs, c, lease)
                    && lease.admits(lease.mtu)
                    && batch.hasRoom(largestPacket(lease))) {
                //= MR-4.3-2
                int psn = path.takeLost();
                lease.pace(nowNs, path.payloadBytes(psn));
                if (path.awaitsReply(psn)) {
                    device.pullPace.onAsked(nowNs, path.bytes(psn));
                }
                boolean ask = path.lostCount() == 0 || path.resendWindow() == 1;
                emit(nowNs, lease, i, psn, ask ? Flags.RETX | Flags.ACK_REQ : Flags.RETX, batch);
                sent++;
            }
        }
        return sent;
    }

    /** Profile S: while a packet asks for a receive, what is behind it would not be kept. */
    private static boolean mayResend(TxLease lease, TxPath path) {
        boolean held = !lease.selective && path.isHeldBack();
        return path.lostCount() > 0 && (!held || path.status(path.una()) == TxPath.LOST);
    }

    private int sendNew(
            long nowNs, TransportConnection c, TxLease lease, TxBatch batch, int budget) {
        Stream stream = nextStream(nowNs, c, lease);
        if (stream == null) {
            return 0;
        }
        int runMax = Math.min(RUN_PACKETS, batch.maxRunPackets());
        int choice = choosePath(lease, runMax);
        if (choice < 0) {
            return 0;
        }
        TxPath path = lease.paths[choice];
        if (!lease.selective && path.isHeldBack()) {
            return 0;
        }
        int run = Math.min(Math.min(budget, runMax), path.state.freeWindow());
        int sent = 0;
        //= MR-4.3-9
        while (stream != null
                && sent < run
                && path.hasPsn()
                && isPaced(nowNs, c, lease)
                && batch.hasRoom(largestPacket(lease))
                && lease.admits(nextPayload(stream, lease))) {
            int psn = cutPacket(lease, path, stream);
            boolean answered = path.awaitsReply(psn);
            if (answered) {
                device.pullPace.onAsked(nowNs, path.bytes(psn));
            }
            stream = nextStream(nowNs, c, lease);
            int bytes = path.payloadBytes(psn);
            lease.pace(nowNs, bytes);
            boolean full =
                    path.state.freeWindow() == 1 || !path.hasPsn() || lease.isFullWith(bytes);
            //= MR-4.2-9
            int flags = (stream == null || full) && !answered ? Flags.ACK_REQ : 0;
            //= MR-5.6-6
            flags |= stream != null && lease.isHeldBack(nowNs, bytes) ? Flags.MORE : 0;
            emit(nowNs, lease, choice, psn, flags, batch);
            sent++;
        }
        if (stream == null) {
            lease.onDry();
        }
        return sent;
    }

    /**
     * The path for new packets; one whose PSN window is full is no choice even when it has room.
     */
    private int choosePath(TxLease lease, int runPackets) {
        for (int tries = 0; tries < lease.pathCount; tries++) {
            int choice = lease.selector.next(lease.states, lease.pathCount, runPackets);
            if (choice < 0 || lease.paths[choice].hasPsn()) {
                return choice;
            }
        }
        for (int i = 0; i < lease.pathCount; i++) {
            if (lease.paths[i].hasPsn() && lease.states[i].freeWindow() > 0) {
                return i;
            }
        }
        return -1;
    }

    /** Payload of the next packet. */
    private static int nextPayload(Stream stream, TxLease lease) {
        return stream.opcode(stream.sendSeq()).isPull() ? 0 : nextBytes(stream, lease);
    }

    /** Bytes of its message that the next packet carries or asks for. */
    private static int nextBytes(Stream stream, TxLease lease) {
        long left = stream.isMidMessage() ? stream.leftOfMessage() : stream.nextMessageBytes(lease);
        return (int) Math.min(left, lease.mtu);
    }

    /** The stream whose turn it is and that has a packet to send; drops those that have none. */
    private @Nullable Stream nextStream(long nowNs, TransportConnection c, TxLease lease) {
        boolean newMessages = c.leaseState == LeaseState.OPEN;
        if (turnPackets >= STREAM_TURN_PACKETS) {
            turnPackets = 0;
            c.wish().readyStreams.rotate();
        }
        while (true) {
            Stream stream = c.wish().readyStreams.first();
            if (stream == null) {
                return null;
            }
            if (stream.hasWork(newMessages, lease)) {
                if (mayAsk(nowNs, c, lease, stream)) {
                    return stream;
                }
            } else if (stream.hasUnsent() && !lease.messages.hasRoom()) {
                lease.slotWanted = true;
            }
            c.wish().readyStreams.poll();
        }
    }

    /** True unless the next packet asks for a reply and there is no room for one now. */
    private boolean mayAsk(long nowNs, TransportConnection c, TxLease lease, Stream stream) {
        long seq = stream.sendSeq();
        int bytes = nextBytes(stream, lease);
        if (!stream.opcode(seq).isPull()) {
            return true;
        }
        if (lease.mayPull(bytes)) {
            if (isInPace(nowNs, lease)) {
                return true;
            }
            shares.hints().onPullsKeptBack(nowNs);
            if (isInPace(nowNs, lease)) {
                return true;
            }
        }
        if (!lease.servesPulls()) {
            c.noteLocalFault(stream, seq, WcStatus.REMOTE_INVALID_REQUEST_ERROR);
        } else if (!device.pulls.admits(bytes)) {
            device.pulls.await(c);
        } else if (lease.mayPull(bytes) && !device.pullPace.isOpen(nowNs)) {
            device.pulls.await(c);
            device.pulls.pause();
            device.armBy(DeviceState.PULL_TIMER, device.pullPace.opensNs(nowNs));
        } else {
            lease.pullWanted = true;
        }
        return false;
    }

    private boolean isInPace(long nowNs, TxLease lease) {
        //= MR-5.8-2
        return device.pullPace.isOpen(nowNs) && device.pullPace.hasRoom(lease);
    }

    private int cutPacket(TxLease lease, TxPath path, Stream stream) {
        int bytes = nextBytes(stream, lease);
        if (!stream.isMidMessage()) {
            stream.begin(lease);
        }
        int psn =
                path.assign(
                        stream,
                        stream.sendSeq(),
                        stream.sendOffset(),
                        bytes,
                        stream.messageNumber(),
                        stream.messageSlot(),
                        stream.opcode(stream.sendSeq()).isPull());
        stream.cut(bytes);
        turnPackets++;
        counters.increment(CounterId.DATA_SENT);
        return psn;
    }

    /** Encodes the packet of a PSN from what the path remembers of it, first time or again. */
    private void emit(
            long nowNs, TxLease lease, int pathId, int psn, int extraFlags, TxBatch batch) {
        //= MR-2.3-4
        TxPath path = lease.paths[pathId];
        int txTime = CommonHeader.toTxTime(nowNs);
        Stream stream = path.stream(psn);
        int packetBytes = CommonHeader.MIN_PACKET_BYTES;
        // The memory of a flushed request belongs to the application again.
        if (stream == null || stream.inError()) {
            emitSkip(lease, pathId, psn, txTime, extraFlags, batch);
        } else {
            //= MR-2.2-11, MR-2.3-3, MR-2.3-12
            packetBytes = emitData(lease, pathId, psn, txTime, extraFlags, stream, batch);
            if ((extraFlags & Flags.RETX) != 0) {
                counters.increment(CounterId.DATA_RESENT);
                counters.add(CounterId.RESENT_BYTES, path.payloadBytes(psn));
            }
        }
        path.onSent(psn, packetBytes, txTime, nowNs);
    }

    private void emitSkip(
            TxLease lease, int pathId, int psn, int txTime, int flags, TxBatch batch) {
        int route = lease.route(pathId, (flags & Flags.RETX) != 0);
        int at =
                batch.append(
                        lease.peer(route), lease.socket(route), ecn, CommonHeader.MIN_PACKET_BYTES);
        //= MR-4.5-4
        CommonHeader.encode(
                batch.memory(),
                at,
                PacketType.DATA.code(),
                flags,
                lease.token,
                pathId,
                Opcode.SKIP.code(),
                0,
                psn,
                txTime);
        CommonHeader.seal(batch.memory(), at, CommonHeader.BYTES);
        counters.increment(CounterId.SKIPS_SENT);
    }

    /** Returns the bytes of the packet. */
    private int emitData(
            TxLease lease,
            int pathId,
            int psn,
            int txTime,
            int extraFlags,
            Stream stream,
            TxBatch batch) {
        TxPath path = lease.paths[pathId];
        long seq = path.seq(psn);
        long offset = path.offset(psn);
        int bytes = path.payloadBytes(psn);
        int part = path.bytes(psn);
        int slot = path.slot(psn);
        boolean whole = slot == DataHeader.NO_SLOT;
        long start = whole ? offset : lease.messages.start(slot);
        long length = whole ? part : lease.messages.length(slot);
        Opcode opcode = stream.opcode(seq);
        boolean last = offset + part == start + length;
        boolean imm = last && opcode.carriesImmediate();
        int header = DataHeader.headerBytes(opcode, imm);
        int packetBytes = header + bytes + CommonHeader.TRAILER_BYTES;
        int route = lease.route(pathId, (extraFlags & Flags.RETX) != 0);
        int at = batch.append(lease.peer(route), lease.socket(route), ecn, packetBytes);
        PacketMemory m = batch.memory();
        int flags = extraFlags | (last ? Flags.LAST : 0) | (imm ? Flags.IMM : 0);
        CommonHeader.encode(
                m,
                at,
                PacketType.DATA.code(),
                flags,
                lease.token,
                pathId,
                opcode.code(),
                stream.id(),
                psn,
                txTime);
        DataHeader.encodeMessage(m, at, path.msn(psn), offset - start, length, slot, 0);
        int recvSeq = opcode.consumesReceive() ? stream.recvSeq(seq) : 0;
        encodeTarget(m, at, opcode, stream, seq, start, recvSeq, imm);
        if (opcode == Opcode.READ_REQ) {
            DataHeader.encodeSegLength(m, at, part);
        }
        putPayload(batch, at, header, stream, seq, offset, bytes);
        return packetBytes;
    }

    /**
     * Puts payload and checksum behind the {@code header} bytes of the packet appended last.
     *
     * @return false when the memory is out of reach: the stream is to fail
     */
    static boolean putPayload(
            TxBatch batch, int at, int header, Stream stream, long seq, long offset, int bytes) {
        PacketMemory m = batch.memory();
        WorkQueue queue = stream.sendQueue();
        long lent =
                batch.gathers()
                        ? queue.lend(
                                seq,
                                offset,
                                CommonHeader.SEALER,
                                m,
                                at,
                                header,
                                bytes,
                                LENT_BYTES_MIN)
                        : WorkQueue.NOT_LENT;
        if (lent != WorkQueue.NOT_LENT) {
            batch.lend(header, lent, bytes);
            return true;
        }
        if (queue.gather(seq, offset, m, at + header, bytes)) {
            CommonHeader.seal(m, at, header + bytes);
            return true;
        }
        // The region was closed under posted work, or it is virtual and this port copies. The
        // packet goes out blank and without a valid CRC, which nobody accepts, and the stream
        // fails before this packet could be made again.
        m.segment().asSlice(at + header, bytes).fill((byte) 0);
        WcStatus status = WcStatus.LOCAL_PROTECTION_ERROR;
        stream.connection().noteLocalFault(stream, seq, status);
        return false;
    }

    static void encodeTarget(
            PacketMemory m,
            int at,
            Opcode opcode,
            Stream stream,
            long seq,
            long start,
            int recvSeq,
            boolean imm) {
        if (opcode.isAtomic()) {
            DataHeader.encodeAtomic(
                    m,
                    at,
                    stream.sendQueue().remoteAddress(seq),
                    stream.sendQueue().rkey(seq),
                    stream.sendQueue().swapOrAdd(seq),
                    stream.sendQueue().compare(seq));
        } else if (opcode.hasReth()) {
            DataHeader.encodeReth(
                    m,
                    at,
                    stream.sendQueue().remoteAddress(seq) + start,
                    stream.sendQueue().rkey(seq),
                    recvSeq);
        } else {
            DataHeader.encodeRecvSeq(m, at, recvSeq);
        }
        if (opcode.invalidates()) {
            DataHeader.encodeInvalidatedKey(m, at, stream.sendQueue().immediate(seq));
        }
        if (imm) {
            DataHeader.encodeImmediate(m, at, opcode, stream.sendQueue().immediate(seq));
        }
    }
}
