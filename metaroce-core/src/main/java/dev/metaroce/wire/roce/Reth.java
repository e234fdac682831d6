package dev.metaroce.wire.roce;

import dev.metaroce.wire.PacketMemory;

/**
 * RDMA extended header, 16 bytes behind the BTH of the first packet of a WRITE and of a READ
 * request: address 64 bits, R_Key 32, length 32.
 */
public final class Reth {
    /** Bytes of this header. */
    public static final int BYTES = 16;

    private static final int VA_AT = Bth.BYTES;
    private static final int RKEY_AT = VA_AT + 8;
    private static final int LENGTH_AT = VA_AT + 12;

    private Reth() {}

    /** Address of the first byte at the responder. */
    public static long va(PacketMemory m, int at) {
        return m.i64(at + VA_AT);
    }

    /** Key of the region. */
    public static int rkey(PacketMemory m, int at) {
        return m.i32(at + RKEY_AT);
    }

    /** Bytes of the whole message, 0..2^32-1; more than 2^31 is for the responder to refuse. */
    public static long length(PacketMemory m, int at) {
        return m.u32(at + LENGTH_AT);
    }

    /** Writes the header of the packet at {@code at}. */
    public static void encode(PacketMemory m, int at, long va, int rkey, long length) {
        m.put64(at + VA_AT, va);
        m.put32(at + RKEY_AT, rkey);
        m.put32(at + LENGTH_AT, (int) length);
    }
}
