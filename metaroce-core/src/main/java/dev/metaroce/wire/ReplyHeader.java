package dev.metaroce.wire;

/**
 * The header of READ_DATA and ATOMIC_REPLY packets behind the common one (RPLETH).
 *
 * <pre>
 *      0               1               2               3
 *      0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7
 *     +---------------------------------------------------------------+
 *  16 |                              MSN                              |
 *     +---------------------------------------------------------------+
 *  20 |                           MsgOffset                           |
 *     +---------------------------------------------------------------+
 *  24 |                           EchoTime                            |
 *     +-------------------------------+---------------+---------------+
 *  28 |           AckDelay            |      CID      |     Epoch     |
 *     +-------------------------------+---------------+---------------+
 *  32 |                            payload                           ...
 *     +---------------------------------------------------------------+
 * </pre>
 *
 * <p>Path, stream and PSN in the common header are those of the request, Ctx is the initiator's
 * source context. Readers trust the caller to have asked {@link DataHeader#wellFormed}.
 */
public final class ReplyHeader {
    /** Bytes of all headers, the common one included. */
    public static final int BYTES = 32;

    static final int MSN_AT = 16;
    static final int MSG_OFFSET_AT = 20;
    static final int ECHO_TIME_AT = 24;
    static final int ACK_DELAY_AT = 28;
    static final int CID_AT = 30;
    static final int EPOCH_AT = 31;

    private ReplyHeader() {}

    /** Number of the message that is answered. */
    public static int msn(PacketMemory m, int at) {
        return m.i32(at + MSN_AT);
    }

    /** Where the payload belongs in its message, 0..2^32-1 bytes. */
    public static long msgOffset(PacketMemory m, int at) {
        return m.u32(at + MSG_OFFSET_AT);
    }

    /** TxTime of the request that is answered, 64 ns units. */
    public static int echoTime(PacketMemory m, int at) {
        return m.i32(at + ECHO_TIME_AT);
    }

    /** How long the target held that request, 64 ns units, 0..65535. */
    public static int ackDelay(PacketMemory m, int at) {
        return m.u16(at + ACK_DELAY_AT);
    }

    /** Context of the lease, 0..255. */
    public static int cid(PacketMemory m, int at) {
        return m.u8(at + CID_AT);
    }

    /** Epoch of the lease, 0..255. */
    public static int epoch(PacketMemory m, int at) {
        return m.u8(at + EPOCH_AT);
    }

    /** Writes the 16 bytes behind the common header. */
    public static void encode(
            PacketMemory m,
            int at,
            int msn,
            long msgOffset,
            int echoTime,
            int ackDelay,
            int cid,
            int epoch) {
        m.put32(at + MSN_AT, msn);
        m.put32(at + MSG_OFFSET_AT, (int) msgOffset);
        m.put32(at + ECHO_TIME_AT, echoTime);
        m.put16(at + ACK_DELAY_AT, ackDelay);
        m.put8(at + CID_AT, cid);
        m.put8(at + EPOCH_AT, epoch);
    }

    static boolean wellFormed(Opcode op, int payload, int elided) {
        //= MR-2.3-15
        return op == Opcode.ATOMIC_REPLY
                ? payload == DataHeader.ATOMIC_BYTES && elided == 0
                : payload >= 0 && (elided == 0 || elided == payload);
    }
}
