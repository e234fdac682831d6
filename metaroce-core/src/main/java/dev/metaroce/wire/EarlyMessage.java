package dev.metaroce.wire;

/**
 * The message that rides in a REQUEST with flag EARLY: the image of the DATA packet that it would
 * else be, without a checksum of its own, between the 192 bytes of the REQUEST and the checksum.
 * Ctx, path, PSN, MSN and RecvSeq of the image are 0.
 *
 * <pre>
 *     +---------------------------------------------------------------+
 *   0 |                      REQUEST (192 bytes)                     ...
 *     +---------------------------------------------------------------+
 * 192 |                   common header (16 bytes)                   ...
 *     +---------------------------------------------------------------+
 * 208 |         MSGETH, RETH or RQETH, immediate, payload            ...
 *     +---------------------------------------------------------------+
 *  -4 |                            CRC-32C                            |
 *     +---------------------------------------------------------------+
 * </pre>
 *
 * <p>{@link CommonHeader} and {@link DataHeader} read it at {@code at} + {@link #AT}.
 */
public final class EarlyMessage {
    /** Where the image starts in its REQUEST. */
    public static final int AT = RequestFields.END_AT;

    private EarlyMessage() {}

    /** True when the flags of the REQUEST say that a message follows. */
    public static boolean isIn(PacketMemory m, int at) {
        return (m.u8(at + RequestFields.FLAGS_AT) & RequestFields.FLAG_EARLY) != 0;
    }

    /** Writes the common header of the image. */
    public static void encodeCommon(
            PacketMemory m, int at, int flags, Opcode opcode, int stream, int txTime) {
        int type = PacketType.DATA.code();
        //= MR-3.7-3
        CommonHeader.encode(m, at + AT, type, flags, 0, 0, opcode.code(), stream, 0, txTime);
    }

    /**
     * Checks the image as the DATA packet that it is, and that it may ride.
     *
     * @param totalBytes bytes of the REQUEST with its checksum, at least 196 of them not elided
     */
    static boolean wellFormed(PacketMemory m, int at, int totalBytes) {
        int image = at + AT;
        int bytes = totalBytes - AT;
        if (bytes - m.elidedBytes() < CommonHeader.MIN_PACKET_BYTES) {
            return false;
        }
        Opcode op = Opcode.of(CommonHeader.opcode(m, image));
        //= MR-3.7-4
        return CommonHeader.version(m, image) == CommonHeader.VERSION
                && CommonHeader.type(m, image) == PacketType.DATA.code()
                && op != null
                && op.ridesInRequest()
                && DataHeader.wellFormed(m, image, bytes)
                && DataHeader.slot(m, image) == DataHeader.NO_SLOT
                && DataHeader.msn(m, image) == 0
                && DataHeader.recvSeq(m, image, op) == 0;
    }
}
