package dev.metaroce.wire;

import org.jspecify.annotations.Nullable;

/** Why a receiver does not accept a token. */
public enum ResetReason {
    /** The context id is not leased. */
    UNKNOWN_CONTEXT(1),
    /** The context id is leased under another epoch. */
    EPOCH(2),
    /** The receiver is another incarnation than the one that granted. */
    RESTARTED(3),
    /** The receiver is shutting down. */
    SHUTDOWN(4),
    /** The lease was taken back by force. */
    RECLAIMED(5),
    /** The grant was taken back before any packet was accepted: all may be sent again. */
    UNUSED(6);

    private static final @Nullable ResetReason[] BY_CODE = new ResetReason[8];

    static {
        for (ResetReason reason : values()) {
            BY_CODE[reason.code] = reason;
        }
    }

    private final int code;

    ResetReason(int code) {
        this.code = code;
    }

    /** The value on the wire, 1..255. */
    public int code() {
        return code;
    }

    /** The reason with this code, or null for every code this version does not know. */
    public static @Nullable ResetReason of(int code) {
        return (code & -BY_CODE.length) == 0 ? BY_CODE[code] : null;
    }
}
