package dev.metaroce.transport;

import dev.metaroce.event.CounterId;
import dev.metaroce.memory.Access;
import dev.metaroce.memory.AccessVerdict;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.memory.RegionTable;
import dev.metaroce.wire.AckHeader;
import dev.metaroce.wire.CommonHeader;
import dev.metaroce.wire.NakCode;
import dev.metaroce.wire.Opcode;
import dev.metaroce.wire.PacketMemory;
import dev.metaroce.wire.PacketType;
import dev.metaroce.wire.ReplyHeader;
import dev.metaroce.wire.TxBatch;

import org.jspecify.annotations.Nullable;

import java.util.Arrays;

/**
 * Replies to READs and atomics that wait to be sent, and their packets. The bytes of a READ are
 * taken from the region when the packet is made. When too many wait the newest is dropped, as if it
 * were lost on its way. Owner: the engine thread.
 */
final class ReplyQueue {
    private static final int MAX_REPLIES = 1024;
    private static final int FIRST_REPLIES = 8;
    private static final long[] NO_ROWS = {};

    private final DeviceState device;
    private final RxContexts contexts;
    private final CidPool pool;
    private final PullRequest request = new PullRequest();

    // A ring of rows of PullRequest, a power of two of them; none before the first reply.
    private long[] rows = NO_ROWS;
    private int head;
    private int size;

    ReplyQueue(DeviceState device, RxContexts contexts, CidPool pool) {
        this.device = device;
        this.contexts = contexts;
        this.pool = pool;
    }

    boolean isEmpty() {
        return size == 0;
    }

    /** The reply to this request is to be sent. */
    void add(PullRequest answered) {
        //= MR-4.6-12
        if (size == MAX_REPLIES) {
            return;
        }
        if (size * PullRequest.WORDS == rows.length) {
            grow();
        }
        answered.put(rows, row(head + size));
        size++;
    }

    private int row(int number) {
        return number * PullRequest.WORDS & (rows.length - 1);
    }

    private void grow() {
        long[] before = rows;
        int words = Math.max(FIRST_REPLIES * PullRequest.WORDS, 2 * before.length);
        rows = Arrays.copyOf(before, words);
        // What had wrapped around goes behind the rest.
        System.arraycopy(before, 0, rows, before.length, head * PullRequest.WORDS);
    }

    /** Appends replies while the batch has room; returns the packets appended. */
    int pollTransmit(long nowNs, TxBatch batch, AckBuilder acks) {
        int sent = 0;
        while (size > 0) {
            request.get(rows, row(head));
            if (!batch.hasRoom(packetBytes(request.bytes))) {
                break;
            }
            head = row(head + 1) / PullRequest.WORDS;
            size--;
            sent += send(nowNs, batch, acks);
        }
        return sent;
    }

    private static int packetBytes(int payload) {
        return ReplyHeader.BYTES + payload + CommonHeader.TRAILER_BYTES;
    }

    private int send(long nowNs, TxBatch batch, AckBuilder acks) {
        int cid = request.cid();
        TransportConnection connection = contexts.connection(cid);
        if (connection == null || pool.epoch(cid) != CommonHeader.epoch(request.ctx)) {
            return 0;
        }
        boolean atomic = request.opcode.isAtomic();
        MemoryRegion region = atomic || request.bytes == 0 ? null : region(connection);
        if (region == null && !atomic && request.bytes > 0) {
            acks.refuse(NakCode.REMOTE_ACCESS, request);
            return 0;
        }
        PacketMemory m = batch.memory();
        int route = acks.route(cid, request.path);
        boolean ecn = device.limits.mechanisms().ecn();
        int at =
                batch.append(
                        connection.addressOf(request.path), route, ecn, packetBytes(request.bytes));
        Opcode opcode = atomic ? Opcode.ATOMIC_REPLY : Opcode.READ_DATA;
        int now = CommonHeader.toTxTime(nowNs);
        //= MR-4.6-2
        CommonHeader.encode(
                m,
                at,
                PacketType.DATA.code(),
                0,
                contexts.srcCtx(cid),
                request.path,
                opcode.code(),
                request.stream,
                request.psn,
                now);
        long delayNs = (now - request.arrivalTime) * (long) AckHeader.ACK_DELAY_UNIT_NS;
        ReplyHeader.encode(
                m,
                at,
                request.msn,
                request.msgOffset,
                request.echoTime,
                AckHeader.toAckDelay(delayNs),
                cid,
                CommonHeader.epoch(request.ctx));
        if (atomic) {
            m.put64(at + ReplyHeader.BYTES, request.swapOrAdd);
            CommonHeader.seal(m, at, ReplyHeader.BYTES + request.bytes);
        } else if (!putBytes(batch, region, at)) {
            acks.refuse(NakCode.REMOTE_ACCESS, request);
        }
        device.counters.increment(CounterId.REPLIES_SENT);
        device.counters.add(CounterId.REPLY_BYTES, request.bytes);
        return 1;
    }

    /** The region of the bytes, or null when they may not be read any more. */
    private @Nullable MemoryRegion region(TransportConnection connection) {
        Stream stream = connection.stream(request.stream);
        MemoryRegion region = device.regions.lookup(request.rkey);
        if (stream == null || region == null) {
            return null;
        }
        AccessVerdict access =
                RegionTable.check(
                        region,
                        Access.REMOTE_READ,
                        stream.domain(),
                        request.va + request.msgOffset,
                        request.bytes);
        return access == AccessVerdict.OK ? region : null;
    }

    /**
     * Puts payload and checksum behind the headers, or leaves the payload where it is when the port
     * gathers; false when it is out of reach. Then the packet is blank and without a valid CRC,
     * which nobody accepts.
     */
    private boolean putBytes(TxBatch batch, @Nullable MemoryRegion region, int at) {
        PacketMemory m = batch.memory();
        int header = ReplyHeader.BYTES;
        int bytes = request.bytes;
        if (region == null || bytes == 0) {
            CommonHeader.seal(m, at, header);
            return true;
        }
        long from = request.va + request.msgOffset - region.address();
        if (batch.gathers()
                && (bytes >= Requester.LENT_BYTES_MIN || region.isVirtual())
                && MemoryRegion.lend(region, from, CommonHeader.SEALER, m, at, header, bytes)) {
            batch.lend(header, region.address() + from, bytes);
            return true;
        }
        if (MemoryRegion.fill(region, from, m, at + header, bytes)) {
            CommonHeader.seal(m, at, header + bytes);
            return true;
        }
        m.segment().asSlice(at + header, bytes).fill((byte) 0);
        return false;
    }
}
