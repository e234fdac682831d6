package dev.metaroce.transport;

import dev.metaroce.event.CounterId;
import dev.metaroce.event.Counters;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.ring.WcStatus;
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
    private static final int LENT_BYTES_MIN = 2048;

    private final DeviceState device;
    private final Counters counters;
    private int turnPackets;

    Requester(DeviceState device) {
        this.device = device;
        counters = device.counters;
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
        int sent = sendProbes(nowNs, lease, batch);
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

    private int sendProbes(long nowNs, TxLease lease, TxBatch batch) {
        int sent = 0;
        for (int i = 0; i < lease.pathCount; i++) {
            TxPath path = lease.paths[i];
            if (path.probeWanted && batch.hasRoom(CommonHeader.MIN_PACKET_BYTES)) {
                int txTime = CommonHeader.toTxTime(nowNs);
                int bytes = CommonHeader.MIN_PACKET_BYTES;
                int at = batch.append(lease.peer, path.state.route(), true, bytes);
                //= MR-2.5-7, MR-2.5-8
                CommonHeader.encode(
                        batch.memory(),
                        at,
                        PacketType.PROBE.code(),
                        Flags.ACK_REQ,
                        lease.token,
                        i,
                        0,
                        0,
                        path.nextPsn(),
                        txTime);
                CommonHeader.seal(batch.memory(), at, CommonHeader.BYTES);
                path.probeWanted = false;
                counters.increment(CounterId.PROBES_SENT);
                sent++;
            }
        }
        return sent;
    }

    private int resendLost(
            long nowNs, TransportConnection c, TxLease lease, TxBatch batch, int budget) {
        int sent = 0;
        for (int i = 0; i < lease.pathCount && sent < budget; i++) {
            TxPath path = lease.paths[i];
            while (path.lostCount() > 0
                    && path.state.freeWindow() > 0
                    && sent < budget
                    && sent < RUN_PACKETS
                    && isPaced(nowNs, c, lease)
                    && lease.admits(lease.mtu)
                    && batch.hasRoom(largestPacket(lease))) {
                //= MR-4.3-2
                int psn = path.takeLost();
                boolean ask = path.lostCount() == 0 || path.state.freeWindow() == 1;
                emit(nowNs, lease, i, psn, ask ? Flags.RETX | Flags.ACK_REQ : Flags.RETX, batch);
                sent++;
            }
        }
        return sent;
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
        int run = Math.min(Math.min(budget, runMax), path.state.freeWindow());
        int sent = 0;
        //= MR-4.3-9
        while (stream != null
                && sent < run
                && path.hasPsn()
                && isPaced(nowNs, c, lease)
                && batch.hasRoom(largestPacket(lease))
                && lease.admits(nextBytes(stream, lease))) {
            int psn = cutPacket(lease, path, stream);
            stream = nextStream(nowNs, c, lease);
            boolean full =
                    path.state.freeWindow() == 1
                            || !path.hasPsn()
                            || lease.isFullWith(path.bytes(psn));
            //= MR-4.2-9
            int flags = stream == null || full ? Flags.ACK_REQ : 0;
            emit(nowNs, lease, choice, psn, flags, batch);
            sent++;
        }
        return sent;
    }

    /**
     * The path for new packets; one whose PSN window is full is no choice even when it has room.
     */
    private int choosePath(TxLease lease, int runPackets) {
        for (int tries = 0; tries < lease.pathCount; tries++) {
            //= MR-5.2-6
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

    private static int nextBytes(Stream stream, TxLease lease) {
        long left = stream.isMidMessage() ? stream.leftOfMessage() : stream.nextMessageBytes(lease);
        return (int) Math.min(left, lease.mtu);
    }

    /** The stream whose turn it is and that has a packet to send; drops those that have none. */
    private @Nullable Stream nextStream(long nowNs, TransportConnection c, TxLease lease) {
        boolean newMessages = c.leaseState == LeaseState.OPEN;
        if (turnPackets >= STREAM_TURN_PACKETS) {
            turnPackets = 0;
            c.readyStreams.rotate();
        }
        while (true) {
            Stream stream = c.readyStreams.first();
            if (stream == null) {
                return null;
            }
            if (stream.hasWork(newMessages, lease, nowNs)) {
                return stream;
            }
            if (stream.hasUnsent() && !lease.messages.hasRoom()) {
                lease.slotWanted = true;
            }
            c.readyStreams.poll();
        }
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
                        stream.messageSlot());
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
                counters.add(CounterId.RESENT_BYTES, path.bytes(psn));
            }
        }
        path.onSent(psn, packetBytes, txTime, nowNs);
        if (lease.rateBitsPerSecond() != Long.MAX_VALUE) {
            lease.pacer.onSent(nowNs, path.bytes(psn), lease.rateBitsPerSecond());
        }
    }

    private void emitSkip(
            TxLease lease, int pathId, int psn, int txTime, int flags, TxBatch batch) {
        int at =
                batch.append(
                        lease.peer,
                        lease.states[pathId].route(),
                        true,
                        CommonHeader.MIN_PACKET_BYTES);
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
        int bytes = path.bytes(psn);
        int slot = path.slot(psn);
        boolean whole = slot == DataHeader.NO_SLOT;
        long start = whole ? offset : lease.messages.start(slot);
        long length = whole ? bytes : lease.messages.length(slot);
        Opcode opcode = stream.wireOpcode(seq, start + length);
        boolean last = offset + bytes == start + length;
        boolean imm = last && opcode.carriesImmediate();
        int header = DataHeader.headerBytes(opcode, imm);
        int packetBytes = header + bytes + CommonHeader.TRAILER_BYTES;
        int at = batch.append(lease.peer, path.state.route(), true, packetBytes);
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
        encodeTarget(m, at, opcode, stream, seq, start, imm);
        MemoryRegion region = stream.sendQueue().region(seq);
        long from = stream.sendQueue().localOffset(seq) + offset;
        if (batch.gathers()
                && region != null
                && isLent(region, bytes)
                && MemoryRegion.lend(region, from, m, at, header, bytes)) {
            batch.lend(header, region.address() + from, bytes);
        } else if (bytes == 0
                || (region != null && MemoryRegion.fill(region, from, m, at + header, bytes))) {
            CommonHeader.seal(m, at, header + bytes);
        } else {
            // The region was closed under posted work, or it is virtual and this port copies. The
            // packet goes out blank and without a valid CRC, which nobody accepts, and the stream
            // fails before this PSN could be made again.
            m.segment().asSlice(at + header, bytes).fill((byte) 0);
            WcStatus status = WcStatus.LOCAL_PROTECTION_ERROR;
            stream.connection().noteLocalFault(stream, seq, status);
        }
        return packetBytes;
    }

    private static boolean isLent(MemoryRegion region, int bytes) {
        return bytes >= LENT_BYTES_MIN || (bytes > 0 && region.isVirtual());
    }

    private static void encodeTarget(
            PacketMemory m,
            int at,
            Opcode opcode,
            Stream stream,
            long seq,
            long start,
            boolean imm) {
        if (opcode.hasReth()) {
            DataHeader.encodeReth(
                    m,
                    at,
                    stream.sendQueue().remoteAddress(seq) + start,
                    stream.sendQueue().rkey(seq),
                    opcode.consumesReceive() ? stream.recvSeq(seq) : 0);
        } else {
            DataHeader.encodeRecvSeq(m, at, stream.recvSeq(seq));
        }
        if (imm) {
            DataHeader.encodeImmediate(m, at, opcode, stream.sendQueue().immediate(seq));
        }
    }
}
