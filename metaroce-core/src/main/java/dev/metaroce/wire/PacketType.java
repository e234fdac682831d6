package dev.metaroce.wire;

import org.jspecify.annotations.Nullable;

/** What a packet is: the low four bits of its first byte. */
public enum PacketType {
    /** Part of a message, from the initiator to the target. */
    DATA(1),
    /** Receipt of packets on one or more paths, with the receiver's rate hint. */
    ACK(2),
    /** Refusal of one packet's operation. */
    NAK(3),
    /** Life of a lease; see {@link ControlOpcode}. */
    CTRL(4),
    /** Asks for the state of one path. */
    PROBE(5);

    private static final @Nullable PacketType[] BY_CODE = new PacketType[16];

    static {
        for (PacketType type : values()) {
            BY_CODE[type.code] = type;
        }
    }

    private final int code;

    PacketType(int code) {
        this.code = code;
    }

    /** The value on the wire, 1..15. */
    public int code() {
        return code;
    }

    /** The type with this code, or null for every code this version does not know. */
    public static @Nullable PacketType of(int code) {
        return (code & -BY_CODE.length) == 0 ? BY_CODE[code] : null;
    }
}
