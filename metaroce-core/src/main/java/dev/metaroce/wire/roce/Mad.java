package dev.metaroce.wire.roce;

import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.PacketMemory;

import org.jspecify.annotations.Nullable;

/** A management datagram of the class that connects: 24 bytes of header, 232 of message. */
final class Mad {
    static final int REQ = 0x10;
    static final int MRA = 0x11;
    static final int REJ = 0x12;
    static final int REP = 0x13;
    static final int RTU = 0x14;
    static final int DREQ = 0x15;
    static final int DREP = 0x16;

    // Private data, counted from behind the header
    static final int REQ_PRIVATE_AT = 140;
    static final int REP_PRIVATE_AT = 36;
    static final int REJ_PRIVATE_AT = 84;

    private static final int BYTES = 256;
    private static final int HEADER_BYTES = 24;

    /** Base version 1, class 7, any class version, method 3: send. */
    private static final int KIND = 0x0107_0003;

    /** Of the class version. */
    static final int VERSION_AT = 2;

    private static final int VERSION_SHIFT = 8;
    private static final int VERSION_MASK = 0xFF << VERSION_SHIFT;

    private static final int TRANSACTION_AT = 8;
    private static final int ATTRIBUTE_AT = 16;

    private Mad() {}

    static @Nullable CmMessage parse(PacketMemory m, int mad) {
        if ((m.i32(mad) & ~VERSION_MASK) != KIND) {
            return null;
        }
        long transactionId = m.i64(mad + TRANSACTION_AT);
        int attribute = m.u16(mad + ATTRIBUTE_AT);
        int b = mad + HEADER_BYTES;
        int local = m.i32(b);
        int remote = m.i32(b + 4);
        int version = m.u8(mad + VERSION_AT);
        if (version != CmMessage.VERSION) {
            return attribute == REQ ? new CmMessage.OtherReq(transactionId, local, version) : null;
        }
        return switch (attribute) {
            case REQ -> CmMessage.Req.parse(m, b, transactionId);
            case MRA ->
                    new CmMessage.Mra(
                            transactionId, local, remote, m.u8(b + 8) >>> 6, m.u8(b + 9) >>> 3);
            case REJ -> CmMessage.Rej.parse(m, b, transactionId);
            case REP -> CmMessage.Rep.parse(m, b, transactionId);
            case RTU -> new CmMessage.Rtu(transactionId, local, remote);
            case DREQ -> new CmMessage.Dreq(transactionId, local, remote, m.i32(b + 8) >>> 8);
            case DREP -> new CmMessage.Drep(transactionId, local, remote);
            default -> null;
        };
    }

    /** Writes the header and an empty message with both ids; returns where the message is. */
    static int encode(PacketMemory m, int at, int attribute, CmMessage message) {
        int b = encode(m, at, attribute, message.transactionId());
        m.put32(b, message.localId());
        m.put32(b + 4, message.remoteId());
        return b;
    }

    /** Writes the header and an empty message; returns where the message is. */
    static int encode(PacketMemory m, int at, int attribute, long transactionId) {
        int mad = at + Bth.BYTES + Deth.BYTES;
        for (int i = 0; i < BYTES; i += Long.BYTES) {
            m.put64(mad + i, 0);
        }
        m.put32(mad, KIND | CmMessage.VERSION << VERSION_SHIFT);
        m.put64(mad + TRANSACTION_AT, transactionId);
        m.put16(mad + ATTRIBUTE_AT, attribute);
        return mad + HEADER_BYTES;
    }

    static void putGid(PacketMemory m, int at, NetAddress address) {
        m.put64(at, address.high());
        m.put64(at + 8, address.low());
    }

    static NetAddress gid(PacketMemory m, int at) {
        return new NetAddress(m.i64(at), m.i64(at + 8), RoceUdp.PORT, 0, 0);
    }

    static PrivateData privateData(PacketMemory m, int at, int length) {
        byte[] bytes = new byte[length];
        m.bytes().get(at, bytes);
        return PrivateData.of(bytes, length);
    }
}
