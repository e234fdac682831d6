package dev.metaroce.wire;

import org.jspecify.annotations.Nullable;

/** Messages about the life of a lease. */
public enum ControlOpcode {
    /** Initiator asks for a lease. */
    REQUEST(1),
    /** Target leases a context id. */
    GRANT(2),
    /** Target keeps the request waiting and says where it stands. */
    QUEUED(3),
    /** Target refuses the request and says why. */
    DENY(4),
    /** Initiator gives the lease back. */
    RELEASE(5),
    /** Target has taken the lease back. */
    RELEASE_ACK(6),
    /** Target wants the lease back by a deadline. */
    RECLAIM(7),
    /** Target asks whether the holder still lives. */
    KEEPALIVE(8),
    /** Holder lives. */
    KEEPALIVE_ACK(9),
    /** Receiver knows no such lease. */
    RESET(10),
    /** The sender's application ended a connection that holds no lease. */
    DISCONNECT(11),
    /** The connection is gone here too. */
    DISCONNECT_ACK(12);

    private static final @Nullable ControlOpcode[] BY_CODE = new ControlOpcode[16];

    static {
        for (ControlOpcode opcode : values()) {
            BY_CODE[opcode.code] = opcode;
        }
    }

    private final int code;

    ControlOpcode(int code) {
        this.code = code;
    }

    /** The value on the wire, 1..255. */
    public int code() {
        return code;
    }

    /** The opcode with this code, or null for every code this version does not know. */
    public static @Nullable ControlOpcode of(int code) {
        return (code & -BY_CODE.length) == 0 ? BY_CODE[code] : null;
    }
}
