package dev.metaroce.wire;

/**
 * The headers of DATA packets behind the common one.
 *
 * <pre>
 *      0               1               2               3
 *      0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7
 *     +---------------------------------------------------------------+
 *  16 |                              MSN                              |  all but SKIP
 *     +---------------------------------------------------------------+
 *  20 |                           MsgOffset                           |
 *     +---------------------------------------------------------------+
 *  24 |                            Length                             |
 *     +-------------------------------+---------------+---------------+
 *  28 |             Slot              |    Attempt    |   reserved    |
 *     +-------------------------------+---------------+---------------+
 *  32 |                              VA                               |  RETH: WRITE,
 *     |                                                               |  WRITE_IMM
 *     +---------------------------------------------------------------+
 *  40 |                             RKey                              |
 *     +---------------------------------------------------------------+
 *  44 |                            RecvSeq                            |
 *     +---------------------------------------------------------------+
 *  48 |                           SegLength                           |  READ_REQ
 *     +---------------------------------------------------------------+
 *  32 |                            RecvSeq                            |  RQETH: SEND,
 *     +---------------------------------------------------------------+  SEND_IMM, SEND_INV
 *  36 |                             RKey                              |  SEND_INV
 *     +---------------------------------------------------------------+
 *  32 |                              VA                               |  AtomicETH:
 *     |                                                               |  CMP_SWAP,
 *     +---------------------------------------------------------------+  FETCH_ADD
 *  40 |                             RKey                              |
 *     +---------------------------------------------------------------+
 *  44 |                           SwapOrAdd                           |
 *     |                                                               |
 *     +---------------------------------------------------------------+
 *  52 |                            Compare                            |
 *     |                                                               |
 *     +---------------------------------------------------------------+
 *  +0 |                           Immediate                           |  only with flag IMM
 *     +---------------------------------------------------------------+
 *     |                            payload                           ...
 *     +---------------------------------------------------------------+
 * </pre>
 *
 * <p>Replies, which go from target to initiator, have the RPLETH of {@link ReplyHeader} instead.
 *
 * <p>VA and Length are those of the whole message in every packet, so whichever packet arrives
 * first is enough to check the whole range. Readers trust the caller to have asked {@link
 * #wellFormed}.
 */
public final class DataHeader {
    /** Bytes of all headers of a WRITE_IMM with its immediate, the most before a payload. */
    public static final int MAX_HEADER_BYTES = 52;

    /** Bytes of an immediate. */
    public static final int IMMEDIATE_BYTES = 4;

    /** Bytes that an atomic operation works on, and of its reply. */
    public static final int ATOMIC_BYTES = 8;

    /** Slot of a message that is one packet, but for atomic operations. */
    public static final int NO_SLOT = 0xFFFF;

    static final int MSN_AT = 16;
    static final int MSG_OFFSET_AT = 20;
    static final int LENGTH_AT = 24;
    static final int SLOT_AT = 28;
    static final int ATTEMPT_AT = 30;
    static final int RESERVED_AT = 31;
    static final int VA_AT = 32;
    static final int RKEY_AT = 40;
    static final int WRITE_RECV_SEQ_AT = 44;
    static final int SEND_RECV_SEQ_AT = 32;
    static final int SEG_LENGTH_AT = 48;
    static final int SWAP_OR_ADD_AT = 44;
    static final int COMPARE_AT = 52;
    static final int INVALIDATE_AT = 36;

    private DataHeader() {}

    /** Number of the message in its stream and lease, from 0. */
    public static int msn(PacketMemory m, int at) {
        return m.i32(at + MSN_AT);
    }

    /** Where this payload starts in its message, 0..2^32-1 bytes. */
    public static long msgOffset(PacketMemory m, int at) {
        return m.u32(at + MSG_OFFSET_AT);
    }

    /** Bytes of the whole message, 0..2^32-1. */
    public static long length(PacketMemory m, int at) {
        return m.u32(at + LENGTH_AT);
    }

    /** Open-message slot, or {@link #NO_SLOT}. */
    public static int slot(PacketMemory m, int at) {
        return m.u16(at + SLOT_AT);
    }

    /** How often the message was started anew before, 0..255. */
    public static int attempt(PacketMemory m, int at) {
        return m.u8(at + ATTEMPT_AT);
    }

    /** WRITE, WRITE_IMM, READ_REQ, atomics: address of the first byte at the target. */
    public static long va(PacketMemory m, int at) {
        return m.i64(at + VA_AT);
    }

    /** WRITE, WRITE_IMM, READ_REQ, atomics: key of the region. */
    public static int rkey(PacketMemory m, int at) {
        return m.i32(at + RKEY_AT);
    }

    /** WRITE_IMM: number of the posted receive that the message takes; WRITE: 0. */
    public static int writeRecvSeq(PacketMemory m, int at) {
        return m.i32(at + WRITE_RECV_SEQ_AT);
    }

    /** SEND, SEND_IMM, SEND_INV: number of the posted receive that the message takes. */
    public static int sendRecvSeq(PacketMemory m, int at) {
        return m.i32(at + SEND_RECV_SEQ_AT);
    }

    /** READ_REQ: bytes that the reply to this packet is to carry, 0..2^32-1. */
    public static long segLength(PacketMemory m, int at) {
        return m.u32(at + SEG_LENGTH_AT);
    }

    /** CMP_SWAP: the value to store; FETCH_ADD: the value to add. */
    public static long swapOrAdd(PacketMemory m, int at) {
        return m.i64(at + SWAP_OR_ADD_AT);
    }

    /** CMP_SWAP: the value that must be there; FETCH_ADD: 0. */
    public static long compare(PacketMemory m, int at) {
        return m.i64(at + COMPARE_AT);
    }

    /** SEND_INV: key of the region whose remote rights end. */
    public static int invalidatedKey(PacketMemory m, int at) {
        return m.i32(at + INVALIDATE_AT);
    }

    /** Number of the posted receive that the message takes; WRITE: 0. */
    public static int recvSeq(PacketMemory m, int at, Opcode opcode) {
        return opcode.hasReth() ? writeRecvSeq(m, at) : sendRecvSeq(m, at);
    }

    /** The immediate of a packet whose flag IMM is set. */
    public static int immediate(PacketMemory m, int at, Opcode opcode) {
        return m.i32(at + opcode.headerBytes());
    }

    /** Bytes of all headers, the common one included. */
    public static int headerBytes(Opcode op, boolean imm) {
        return op.headerBytes() + (imm ? IMMEDIATE_BYTES : 0);
    }

    /** Offset in the memory of the first payload byte of a well-formed packet. */
    public static int payloadOffset(PacketMemory m, int at) {
        Opcode op = Opcode.of(CommonHeader.opcode(m, at));
        boolean imm = (CommonHeader.flags(m, at) & Flags.IMM) != 0;
        return at + (op == null ? CommonHeader.BYTES : headerBytes(op, imm));
    }

    /** Payload bytes of a well-formed packet of {@code totalBytes} with its checksum. */
    public static int payloadBytes(PacketMemory m, int at, int totalBytes) {
        return totalBytes - CommonHeader.TRAILER_BYTES - (payloadOffset(m, at) - at);
    }

    /** Writes the message header, 16 bytes. */
    public static void encodeMessage(
            PacketMemory m, int at, int msn, long msgOffset, long length, int slot, int attempt) {
        m.put32(at + MSN_AT, msn);
        m.put32(at + MSG_OFFSET_AT, (int) msgOffset);
        m.put32(at + LENGTH_AT, (int) length);
        m.put16(at + SLOT_AT, slot);
        m.put8(at + ATTEMPT_AT, attempt);
        //= MR-2.1-5
        m.put8(at + RESERVED_AT, 0);
    }

    /** Writes the RETH of a WRITE, READ_REQ ({@code recvSeq} 0) or WRITE_IMM, 16 bytes. */
    public static void encodeReth(PacketMemory m, int at, long va, int rkey, int recvSeq) {
        m.put64(at + VA_AT, va);
        m.put32(at + RKEY_AT, rkey);
        m.put32(at + WRITE_RECV_SEQ_AT, recvSeq);
    }

    /** Writes what follows the RETH of a READ_REQ, 4 bytes. */
    public static void encodeSegLength(PacketMemory m, int at, int bytes) {
        m.put32(at + SEG_LENGTH_AT, bytes);
    }

    /** Writes the AtomicETH, 28 bytes. */
    public static void encodeAtomic(
            PacketMemory m, int at, long va, int rkey, long swapOrAdd, long compare) {
        m.put64(at + VA_AT, va);
        m.put32(at + RKEY_AT, rkey);
        m.put64(at + SWAP_OR_ADD_AT, swapOrAdd);
        m.put64(at + COMPARE_AT, compare);
    }

    /** Writes the RQETH of a SEND, SEND_IMM or SEND_INV, 4 bytes. */
    public static void encodeRecvSeq(PacketMemory m, int at, int recvSeq) {
        m.put32(at + SEND_RECV_SEQ_AT, recvSeq);
    }

    /** SEND_INV: writes the key to invalidate, 4 bytes. */
    public static void encodeInvalidatedKey(PacketMemory m, int at, int rkey) {
        m.put32(at + INVALIDATE_AT, rkey);
    }

    /** Writes the immediate, 4 bytes; flag IMM is the caller's to set. */
    public static void encodeImmediate(PacketMemory m, int at, Opcode op, int imm) {
        m.put32(at + op.headerBytes(), imm);
    }

    /**
     * Checks all that can be checked without knowing the lease: known opcode, flags that agree with
     * it, all headers present, and a payload that fits its message. Whether the payload exceeds the
     * lease's MTU is for the responder to say.
     *
     * @param totalBytes bytes of the packet with its checksum and with a payload that is elided, at
     *     least 20
     */
    public static boolean wellFormed(PacketMemory m, int at, int totalBytes) {
        Opcode op = Opcode.of(CommonHeader.opcode(m, at));
        if (op == null) {
            //= MR-2.3-1
            return false;
        }
        int payload = totalBytes - CommonHeader.TRAILER_BYTES - op.headerBytes();
        if (op.isReply()) {
            return ReplyHeader.wellFormed(op, payload, m.elidedBytes());
        }
        int flags = CommonHeader.flags(m, at);
        boolean last = (flags & Flags.LAST) != 0;
        boolean imm = (flags & Flags.IMM) != 0;
        //= MR-2.3-9
        if (imm != (last && op.carriesImmediate())) {
            return false;
        }
        if (op == Opcode.SKIP) {
            //= MR-2.3-10
            return !last && payload == 0;
        }
        //= MR-2.3-13
        if (op.isPull()) {
            return payload == 0 && m.elidedBytes() == 0 && asksWell(op, m, at, last);
        }
        payload -= imm ? IMMEDIATE_BYTES : 0;
        int elided = m.elidedBytes();
        //= MR-2.3-2
        return payload >= 0
                && (elided == 0 || elided == payload)
                && fitsMessage(m, at, payload, last);
    }

    /** A request for a reply: what it asks for is to its message what else a payload is. */
    private static boolean asksWell(Opcode op, PacketMemory m, int at, boolean last) {
        if (op == Opcode.READ_REQ) {
            return fitsMessage(m, at, segLength(m, at), last);
        }
        //= MR-2.3-14
        return last
                && msgOffset(m, at) == 0
                && length(m, at) == ATOMIC_BYTES
                && slot(m, at) != NO_SLOT;
    }

    private static boolean fitsMessage(PacketMemory m, int at, long payload, boolean last) {
        long msgOffset = msgOffset(m, at);
        long length = length(m, at);
        long end = msgOffset + payload;
        //= MR-2.3-5
        boolean inside = end <= length;
        //= MR-2.3-6
        boolean endsAsFlagged = last == (end == length);
        //= MR-2.3-7
        boolean progresses = payload > 0 || length == 0;
        //= MR-2.3-8
        boolean slotAgrees = (slot(m, at) == NO_SLOT) == (msgOffset == 0 && payload == length);
        return inside && endsAsFlagged && progresses && slotAgrees;
    }
}
