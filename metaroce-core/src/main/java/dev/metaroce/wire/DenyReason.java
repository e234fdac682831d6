package dev.metaroce.wire;

import org.jspecify.annotations.Nullable;

/** Why a target denied a request. */
public enum DenyReason {
    /** No free context id and no room to wait. */
    QUEUE_FULL(1),
    /** The pool's policy or a per-source limit says no. */
    POLICY(2),
    /** No common wire version; the message tells those understood. */
    VERSION(3),
    /** No common profile. */
    PROFILE(4),
    /** The service refused the connection. */
    SERVICE(5),
    /** The target is shutting down. */
    SHUTDOWN(6),
    /** The request is a late copy of one whose lease has ended. */
    FINISHED(7),
    /** Nobody listens on the service id. */
    NO_SERVICE(8),
    /** Ask again with the cookie in this message. */
    COOKIE(9);

    private static final @Nullable DenyReason[] BY_CODE = new DenyReason[16];

    static {
        for (DenyReason reason : values()) {
            BY_CODE[reason.code] = reason;
        }
    }

    private final int code;

    DenyReason(int code) {
        this.code = code;
    }

    /** The value on the wire, 1..255. */
    public int code() {
        return code;
    }

    /** The reason with this code, or null for every code this version does not know. */
    public static @Nullable DenyReason of(int code) {
        return (code & -BY_CODE.length) == 0 ? BY_CODE[code] : null;
    }
}
