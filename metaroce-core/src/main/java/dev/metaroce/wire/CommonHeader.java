package dev.metaroce.wire;

/**
 * The 16 bytes every packet starts with, and the checksum every packet ends with.
 *
 * <pre>
 *      0               1               2               3
 *      0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7
 *     +-------+-------+---------------+-------------------------------+
 *   0 |Version| Type  |     Flags     |              Ctx              |
 *     +-------+-------+---------------+-------------------------------+
 *   4 |     Path      |    Opcode     |            Stream             |
 *     +---------------+---------------+-------------------------------+
 *   8 |                              PSN                              |
 *     +---------------------------------------------------------------+
 *  12 |                            TxTime                             |
 *     +---------------------------------------------------------------+
 *     |        headers of the type, payload                          ...
 *     +---------------------------------------------------------------+
 *  -4 |                            CRC-32C                            |
 *     +---------------------------------------------------------------+
 * </pre>
 *
 * <p>Ctx is the token (context id and epoch) towards the target, and the initiator's source context
 * towards the initiator. All methods take the offset of the packet in its memory and touch nothing
 * but the header; the caller has made sure that the bytes are there.
 */
public final class CommonHeader {
    /** Bytes of this header. */
    public static final int BYTES = 16;

    /** Bytes of the checksum at the end of every packet. */
    public static final int TRAILER_BYTES = 4;

    /** The wire version this code speaks. */
    public static final int VERSION = 1;

    /** The shortest packet: this header and the checksum. */
    public static final int MIN_PACKET_BYTES = BYTES + TRAILER_BYTES;

    /** The longest packet: the most an IPv4 UDP datagram carries. */
    public static final int MAX_PACKET_BYTES = 65_507;

    /** One step of {@link #txTime}. */
    public static final int TX_TIME_UNIT_NS = 64;

    /** Ends packets whose payload is elsewhere with the checksum. */
    public static final Sealer SEALER =
            (m, at, header, bytes, payload) ->
                    m.put32(at + header + bytes, m.crc32c(at, header, payload));

    static final int VERSION_TYPE_AT = 0;
    static final int FLAGS_AT = 1;
    static final int CTX_AT = 2;
    static final int PATH_AT = 4;
    static final int OPCODE_AT = 5;
    static final int STREAM_AT = 6;
    static final int PSN_AT = 8;
    static final int TX_TIME_AT = 12;

    private static final int TX_TIME_SHIFT = 6;

    private CommonHeader() {}

    /** Wire version, 0..15. */
    public static int version(PacketMemory m, int at) {
        return m.u8(at + VERSION_TYPE_AT) >>> 4;
    }

    /** Code of a {@link PacketType}, 0..15. */
    public static int type(PacketMemory m, int at) {
        return m.u8(at + VERSION_TYPE_AT) & 0xF;
    }

    /** Bits of {@link Flags}, 0..255. */
    public static int flags(PacketMemory m, int at) {
        return m.u8(at + FLAGS_AT);
    }

    /** Token or source context, 0..65535. */
    public static int ctx(PacketMemory m, int at) {
        return m.u16(at + CTX_AT);
    }

    /** Path of the lease, 0..255. */
    public static int path(PacketMemory m, int at) {
        return m.u8(at + PATH_AT);
    }

    /** Code of an {@link Opcode}, {@link ControlOpcode} or {@link NakCode}, 0..255. */
    public static int opcode(PacketMemory m, int at) {
        return m.u8(at + OPCODE_AT);
    }

    /** Stream of the connection, 0..65535. */
    public static int stream(PacketMemory m, int at) {
        return m.u16(at + STREAM_AT);
    }

    /** Sequence number; compare with {@code Psn} only. */
    public static int psn(PacketMemory m, int at) {
        return m.i32(at + PSN_AT);
    }

    /** The sender's clock in steps of {@link #TX_TIME_UNIT_NS}, modulo 2^32. */
    public static int txTime(PacketMemory m, int at) {
        return m.i32(at + TX_TIME_AT);
    }

    /** The context id in a token, 0..255. */
    public static int cid(int ctx) {
        return (ctx >>> 8) & 0xFF;
    }

    /** The epoch in a token, 0..255. */
    public static int epoch(int ctx) {
        return ctx & 0xFF;
    }

    /** The token of a context id and an epoch; only the low eight bits of each count. */
    public static int token(int cid, int epoch) {
        //= MR-2.2-5
        return ((cid & 0xFF) << 8) | (epoch & 0xFF);
    }

    /** A clock reading as it goes into {@link #txTime}. */
    public static int toTxTime(long nowNs) {
        //= MR-2.2-10
        return (int) (nowNs >> TX_TIME_SHIFT);
    }

    /** Writes the header; of every value only the bits of its field count. */
    public static void encode(
            PacketMemory m,
            int at,
            int type,
            int flags,
            int ctx,
            int path,
            int opcode,
            int stream,
            int psn,
            int txTime) {
        //= MR-2.2-1
        m.put8(at + VERSION_TYPE_AT, (VERSION << 4) | (type & 0xF));
        m.put8(at + FLAGS_AT, flags);
        m.put16(at + CTX_AT, ctx);
        m.put8(at + PATH_AT, path);
        m.put8(at + OPCODE_AT, opcode);
        m.put16(at + STREAM_AT, stream);
        m.put32(at + PSN_AT, psn);
        m.put32(at + TX_TIME_AT, txTime);
    }

    /** Writes the checksum of the first {@code bytesWithoutCrc} bytes of the packet behind them. */
    public static void seal(PacketMemory m, int at, int bytesWithoutCrc) {
        //= MR-2.1-4
        m.put32(at + bytesWithoutCrc, m.crc32c(at, bytesWithoutCrc));
    }

    /**
     * True when the last four bytes are the checksum of all bytes before them.
     *
     * @param totalBytes bytes of the packet with its checksum, at least 4
     */
    public static boolean crcOk(PacketMemory m, int at, int totalBytes) {
        int covered = totalBytes - TRAILER_BYTES;
        return m.crc32c(at, covered) == m.i32(at + covered);
    }
}
