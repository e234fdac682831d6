package dev.metaroce.wire;

import org.jspecify.annotations.Nullable;

/** Why a target wants a lease back. */
public enum ReclaimReason {
    /** The lease used its quota while others wait. */
    QUOTA(1),
    /** The lease carried nothing for its idle time. */
    IDLE(2),
    /** The target is shutting down. */
    SHUTDOWN(3);

    private static final @Nullable ReclaimReason[] BY_CODE = new ReclaimReason[4];

    static {
        for (ReclaimReason reason : values()) {
            BY_CODE[reason.code] = reason;
        }
    }

    private final int code;

    ReclaimReason(int code) {
        this.code = code;
    }

    /** The value on the wire, 1..255. */
    public int code() {
        return code;
    }

    /** The reason with this code, or null for every code this version does not know. */
    public static @Nullable ReclaimReason of(int code) {
        return (code & -BY_CODE.length) == 0 ? BY_CODE[code] : null;
    }
}
