package dev.metaroce.transport;

import dev.metaroce.wire.CommonHeader;
import dev.metaroce.wire.DataHeader;
import dev.metaroce.wire.Opcode;
import dev.metaroce.wire.PacketMemory;

/**
 * One packet of a READ, or an atomic operation, as the target has to execute it: read from the
 * packet, or kept until its turn. Owner: the engine thread.
 */
final class PullRequest {
    /** Words of {@link #put}. */
    static final int WORDS = 8;

    Opcode opcode = Opcode.SKIP;
    int ctx;
    int path;
    int stream;
    int psn;
    int msn;
    int slot;
    long msgOffset;

    /** Bytes of the whole message. */
    long length;

    /** Bytes that the reply is to carry. */
    int bytes;

    /** Address of the first byte of the message. */
    long va;

    int rkey;

    /** Of an atomic operation: what to store or to add; in its reply the value that was there. */
    long swapOrAdd;

    long compare;

    /** TxTime of the packet, and when it arrived, in the same units. */
    int echoTime;

    int arrivalTime;

    int cid() {
        return CommonHeader.cid(ctx);
    }

    /** Reads a packet that passed the door. */
    void read(Opcode op, PacketMemory m, int at, int arrival) {
        opcode = op;
        ctx = CommonHeader.ctx(m, at);
        path = CommonHeader.path(m, at);
        stream = CommonHeader.stream(m, at);
        psn = CommonHeader.psn(m, at);
        msn = DataHeader.msn(m, at);
        slot = DataHeader.slot(m, at);
        msgOffset = DataHeader.msgOffset(m, at);
        length = DataHeader.length(m, at);
        va = DataHeader.va(m, at);
        rkey = DataHeader.rkey(m, at);
        echoTime = CommonHeader.txTime(m, at);
        arrivalTime = arrival;
        boolean atomic = op.isAtomic();
        long asked = atomic ? DataHeader.ATOMIC_BYTES : DataHeader.segLength(m, at);
        bytes = (int) Math.min(asked, Integer.MAX_VALUE);
        swapOrAdd = atomic ? DataHeader.swapOrAdd(m, at) : 0;
        compare = atomic ? DataHeader.compare(m, at) : 0;
    }

    /** The message number of the request in such a row. */
    static int msn(long[] rows, int at) {
        return (int) (rows[at + 1] >>> 32);
    }

    /** Stores all in a row of {@link #WORDS} words; bytes are at most 65,535. */
    void put(long[] rows, int at) {
        rows[at] = (long) ctx << 48 | (long) stream << 32 | Integer.toUnsignedLong(psn);
        rows[at + 1] = (long) msn << 32 | Integer.toUnsignedLong(rkey);
        rows[at + 2] = msgOffset << 32 | length;
        rows[at + 3] = (long) slot << 48 | (long) bytes << 32 | path << 8 | opcode.code();
        rows[at + 4] = va;
        rows[at + 5] = swapOrAdd;
        rows[at + 6] = compare;
        rows[at + 7] = (long) echoTime << 32 | Integer.toUnsignedLong(arrivalTime);
    }

    /** Takes all from such a row. */
    void get(long[] rows, int at) {
        ctx = (int) (rows[at] >>> 48);
        stream = (int) (rows[at] >>> 32) & 0xFFFF;
        psn = (int) rows[at];
        msn = (int) (rows[at + 1] >>> 32);
        rkey = (int) rows[at + 1];
        msgOffset = rows[at + 2] >>> 32;
        length = rows[at + 2] & 0xFFFF_FFFFL;
        slot = (int) (rows[at + 3] >>> 48);
        bytes = (int) (rows[at + 3] >>> 32) & 0xFFFF;
        path = (int) (rows[at + 3] >>> 8) & 0xFF;
        opcode = Opcode.ofValid((int) rows[at + 3] & 0xFF);
        va = rows[at + 4];
        swapOrAdd = rows[at + 5];
        compare = rows[at + 6];
        echoTime = (int) (rows[at + 7] >>> 32);
        arrivalTime = (int) rows[at + 7];
    }
}
