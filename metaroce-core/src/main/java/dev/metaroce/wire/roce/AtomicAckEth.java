package dev.metaroce.wire.roce;

import dev.metaroce.wire.PacketMemory;

/** Atomic acknowledgement extended header: the 8 bytes of the value before, behind the AETH. */
public final class AtomicAckEth {
    /** Bytes of this header. */
    public static final int BYTES = 8;

    /** Offset of the value in the packet. */
    public static final int VALUE_AT = Bth.BYTES + Aeth.BYTES;

    private AtomicAckEth() {}

    /** The value before the operation. */
    public static long value(PacketMemory m, int at) {
        return m.i64(at + VALUE_AT);
    }

    /** Writes the header of the packet at {@code at}. */
    public static void encode(PacketMemory m, int at, long value) {
        m.put64(at + VALUE_AT, value);
    }
}
