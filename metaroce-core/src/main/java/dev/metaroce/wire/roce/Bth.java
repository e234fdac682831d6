package dev.metaroce.wire.roce;

import dev.metaroce.wire.PacketMemory;

/**
 * The base transport header, the first 12 bytes of every RoCEv2 packet (docs/rocev2.md, section 2).
 *
 * <pre>
 *      0               1               2               3
 *      0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7
 *     +---------------+-+-+---+-------+-------------------------------+
 *   0 |    Opcode     |S|M|Pad| TVer  |            P_Key              |
 *     +-+-+-----------+-+-+---+-------+-------------------------------+
 *   4 |F|B| reserved  |                    DestQP                     |
 *     +-+-+-----------+-----------------------------------------------+
 *   8 |A|  reserved   |                      PSN                      |
 *     +-+-------------+-----------------------------------------------+
 * </pre>
 *
 * <p>All methods take the offset of the packet in its memory; the caller has made sure that the
 * bytes are there.
 */
public final class Bth {
    /** Bytes of this header. */
    public static final int BYTES = 12;

    /** The only transport header version there is. */
    public static final int VERSION = 0;

    /** The default partition, with full membership. */
    public static final int DEFAULT_PKEY = 0xFFFF;

    /** {@link #encode}: the receiver is to raise an event for the completion (SE). */
    public static final int SOLICITED = 0x80;

    /** {@link #encode}: the path is the primary one (MigReq). */
    public static final int MIGRATED = 0x40;

    private static final int OPCODE_AT = 0;
    private static final int FLAGS_AT = 1;
    private static final int PKEY_AT = 2;
    private static final int NOTICES_AT = 4;
    private static final int DEST_QP_AT = 4;
    private static final int PSN_AT = 8;

    private static final int FECN = 0x80;
    private static final int BECN = 0x40;
    private static final int ACK_REQ = 0x8000_0000;
    private static final int LOW_24 = 0xFF_FFFF;

    private Bth() {}

    /** Code of an {@link RcOpcode}, 0..255. */
    public static int opcode(PacketMemory m, int at) {
        return m.u8(at + OPCODE_AT);
    }

    /** True when the completion at the receiver is to raise an event (SE). */
    public static boolean solicited(PacketMemory m, int at) {
        return (m.u8(at + FLAGS_AT) & SOLICITED) != 0;
    }

    /** True when the packet came on the primary path (MigReq); Soft-RoCE sends false. */
    public static boolean migrated(PacketMemory m, int at) {
        return (m.u8(at + FLAGS_AT) & MIGRATED) != 0;
    }

    /** Bytes between payload and ICRC, 0..3. */
    public static int padCount(PacketMemory m, int at) {
        return (m.u8(at + FLAGS_AT) >>> 4) & 3;
    }

    /** Transport header version, 0..15. */
    public static int version(PacketMemory m, int at) {
        return m.u8(at + FLAGS_AT) & 0xF;
    }

    /** Partition key, 0..65535. */
    public static int pkey(PacketMemory m, int at) {
        return m.u16(at + PKEY_AT);
    }

    /** Forward explicit congestion notice; not protected by the ICRC. */
    public static boolean fecn(PacketMemory m, int at) {
        return (m.u8(at + NOTICES_AT) & FECN) != 0;
    }

    /** Backward explicit congestion notice, set in a CNP; not protected by the ICRC. */
    public static boolean becn(PacketMemory m, int at) {
        return (m.u8(at + NOTICES_AT) & BECN) != 0;
    }

    /** Queue pair that the packet is for, 24 bits. */
    public static int destQp(PacketMemory m, int at) {
        return m.i32(at + DEST_QP_AT) & LOW_24;
    }

    /** True when the responder is to acknowledge at once. */
    public static boolean ackReq(PacketMemory m, int at) {
        return m.i32(at + PSN_AT) < 0;
    }

    /** Sequence number, 24 bits; compare with {@link Psn24} only. */
    public static int psn(PacketMemory m, int at) {
        return m.i32(at + PSN_AT) & LOW_24;
    }

    /**
     * Writes the header; of every number only the bits of its field count.
     *
     * @param flags {@link #SOLICITED} and {@link #MIGRATED}, or 0
     * @param payloadBytes bytes of payload, which the pad count follows from
     */
    public static void encode(
            PacketMemory m,
            int at,
            RcOpcode opcode,
            int flags,
            int payloadBytes,
            int pkey,
            int destQp,
            boolean ackReq,
            int psn) {
        m.put8(at + OPCODE_AT, opcode.code());
        m.put8(
                at + FLAGS_AT,
                (flags & (SOLICITED | MIGRATED)) | (padBytes(payloadBytes) << 4) | VERSION);
        m.put16(at + PKEY_AT, pkey);
        m.put32(at + DEST_QP_AT, destQp & LOW_24);
        m.put32(at + PSN_AT, (psn & LOW_24) | (ackReq ? ACK_REQ : 0));
    }

    /** Sets or clears both notices of an encoded header; the ICRC stays right. */
    public static void encodeNotices(PacketMemory m, int at, boolean fecn, boolean becn) {
        m.put8(at + NOTICES_AT, (fecn ? FECN : 0) | (becn ? BECN : 0));
    }

    /** Bytes that fill a payload up to a multiple of four, 0..3. */
    public static int padBytes(int payloadBytes) {
        return -payloadBytes & 3;
    }
}
