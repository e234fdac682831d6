package dev.metaroce.wire;

/**
 * NAK packets. The common header names the refused packet by path, stream and PSN, and its opcode
 * is the {@link NakCode}; with code SEQUENCE the PSN is the one expected.
 *
 * <pre>
 *      0               1               2               3
 *      0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7
 *     +---------------------------------------------------------------+
 *  16 |                              MSN                              |
 *     +---------------------------------------------------------------+
 *  20 |                            RecvSeq                            |
 *     +---------------------------------------------------------------+
 *  24 |                          RetryAfter                           |
 *     +---------------+---------------+-------------------------------+
 *  28 |      CID      |     Epoch     |           reserved            |
 *     +---------------+---------------+-------------------------------+
 * </pre>
 */
public final class NakHeader {
    /** Bytes of the packet with its checksum. */
    public static final int PACKET_BYTES = 36;

    static final int MSN_AT = 16;
    static final int RECV_SEQ_AT = 20;
    static final int RETRY_AFTER_AT = 24;
    static final int CID_AT = 28;
    static final int EPOCH_AT = 29;
    static final int RESERVED_AT = 30;

    private NakHeader() {}

    /** Message of the refused packet. */
    public static int msn(PacketMemory m, int at) {
        return m.i32(at + MSN_AT);
    }

    /** Receive number of the refused packet, 0 when it had none. */
    public static int recvSeq(PacketMemory m, int at) {
        return m.i32(at + RECV_SEQ_AT);
    }

    /** How long to wait before trying again, 0..2^32-1 us. */
    public static long retryAfterUs(PacketMemory m, int at) {
        return m.u32(at + RETRY_AFTER_AT);
    }

    /** Context id of the lease, 0..255. */
    public static int cid(PacketMemory m, int at) {
        return m.u8(at + CID_AT);
    }

    /** Epoch of the lease, 0..255. */
    public static int epoch(PacketMemory m, int at) {
        return m.u8(at + EPOCH_AT);
    }

    /** Writes all behind the common header but the checksum, 16 bytes. */
    public static void encode(
            PacketMemory m, int at, int msn, int recvSeq, long retryAfterUs, int cid, int epoch) {
        m.put32(at + MSN_AT, msn);
        m.put32(at + RECV_SEQ_AT, recvSeq);
        m.put32(at + RETRY_AFTER_AT, (int) retryAfterUs);
        m.put8(at + CID_AT, cid);
        m.put8(at + EPOCH_AT, epoch);
        //= MR-2.1-5
        m.put16(at + RESERVED_AT, 0);
    }

    /**
     * True when the packet has its one size and a known code.
     *
     * @param totalBytes bytes of the packet with its checksum, at least 20
     */
    public static boolean wellFormed(PacketMemory m, int at, int totalBytes) {
        //= MR-2.5-2
        //= MR-2.5-3
        return totalBytes == PACKET_BYTES && NakCode.of(CommonHeader.opcode(m, at)) != null;
    }
}
