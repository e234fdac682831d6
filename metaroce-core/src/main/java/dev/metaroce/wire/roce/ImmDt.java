package dev.metaroce.wire.roce;

import dev.metaroce.wire.PacketMemory;

/** Immediate data, 4 bytes: always the last header of the packets that have it. */
public final class ImmDt {
    /** Bytes of this header. */
    public static final int BYTES = 4;

    private ImmDt() {}

    /** The immediate of a packet whose opcode {@linkplain RcOpcode#hasImmediate has one}. */
    public static int value(PacketMemory m, int at, RcOpcode opcode) {
        return m.i32(at + opcode.headerBytes() - BYTES);
    }

    /** Writes the header of the packet at {@code at}. */
    public static void encode(PacketMemory m, int at, RcOpcode opcode, int value) {
        m.put32(at + opcode.headerBytes() - BYTES, value);
    }
}
