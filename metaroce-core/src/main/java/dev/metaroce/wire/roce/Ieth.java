package dev.metaroce.wire.roce;

import dev.metaroce.wire.PacketMemory;

/** Invalidate extended header: the 4 bytes of the key to invalidate, behind the BTH. */
public final class Ieth {
    /** Bytes of this header. */
    public static final int BYTES = 4;

    private Ieth() {}

    /** Key of the region whose remote rights end. */
    public static int rkey(PacketMemory m, int at) {
        return m.i32(at + Bth.BYTES);
    }

    /** Writes the header of the packet at {@code at}. */
    public static void encode(PacketMemory m, int at, int rkey) {
        m.put32(at + Bth.BYTES, rkey);
    }
}
