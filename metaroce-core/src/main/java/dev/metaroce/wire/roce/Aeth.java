package dev.metaroce.wire.roce;

import dev.metaroce.wire.PacketMemory;

/**
 * Acknowledgement extended header, 4 bytes behind the BTH of what a responder sends: {@link
 * Syndrome} 8 bits, message sequence number 24.
 */
public final class Aeth {
    /** Bytes of this header. */
    public static final int BYTES = 4;

    private static final int SYNDROME_AT = Bth.BYTES;

    private Aeth() {}

    /** What the responder says, 0..255, see {@link Syndrome}. */
    public static int syndrome(PacketMemory m, int at) {
        return m.u8(at + SYNDROME_AT);
    }

    /** Messages completed by the responder, modulo 2^24. */
    public static int msn(PacketMemory m, int at) {
        return m.i32(at + SYNDROME_AT) & 0xFF_FFFF;
    }

    /** Writes the header of the packet at {@code at}. */
    public static void encode(PacketMemory m, int at, int syndrome, int msn) {
        m.put32(at + SYNDROME_AT, (syndrome << 24) | (msn & 0xFF_FFFF));
    }
}
