package dev.metaroce.wire.roce;

import dev.metaroce.wire.PacketMemory;

/** Datagram extended header, 8 bytes behind the BTH of a UD packet: Q_Key 32 bits, source QP 24. */
public final class Deth {
    /** Bytes of this header. */
    public static final int BYTES = 8;

    /** Queue key of queue pair 1, where connection management is. */
    public static final int QP1_QKEY = 0x8001_0000;

    private static final int QKEY_AT = Bth.BYTES;
    private static final int SOURCE_QP_AT = QKEY_AT + 4;

    private Deth() {}

    /** Key that the receiving queue pair must have. */
    public static int qkey(PacketMemory m, int at) {
        return m.i32(at + QKEY_AT);
    }

    /** Queue pair that sent the packet, 24 bits. */
    public static int sourceQp(PacketMemory m, int at) {
        return m.i32(at + SOURCE_QP_AT) & 0xFF_FFFF;
    }

    /** Writes the header of the packet at {@code at}. */
    public static void encode(PacketMemory m, int at, int qkey, int sourceQp) {
        m.put32(at + QKEY_AT, qkey);
        m.put32(at + SOURCE_QP_AT, sourceQp & 0xFF_FFFF);
    }
}
