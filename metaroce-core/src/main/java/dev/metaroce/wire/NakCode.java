package dev.metaroce.wire;

import org.jspecify.annotations.Nullable;

/** Why a target refused an operation. */
public enum NakCode {
    /** Profile S: not the expected packet; the sender goes back to the number given. */
    SEQUENCE(1),
    /** The operation is not allowed or contradicts earlier packets of its message. */
    INVALID_REQUEST(2),
    /** No such region, outside its bounds, or without the right needed. */
    REMOTE_ACCESS(3),
    /** The target failed while it executed the operation. */
    REMOTE_OPERATION(4),
    /** No receive is posted; ask again after the time given. */
    RECEIVER_NOT_READY(5),
    /** The message is longer than the receive it matched. */
    LENGTH(6),
    /** The address of an atomic operation is not a multiple of 8. */
    MISALIGNED_ATOMIC(7);

    private static final @Nullable NakCode[] BY_CODE = new NakCode[8];

    static {
        for (NakCode nak : values()) {
            BY_CODE[nak.code] = nak;
        }
    }

    private final int code;

    NakCode(int code) {
        this.code = code;
    }

    /** The value on the wire, 1..255. */
    public int code() {
        return code;
    }

    /** The reason with this code, or null for every code this version does not know. */
    public static @Nullable NakCode of(int code) {
        return (code & -BY_CODE.length) == 0 ? BY_CODE[code] : null;
    }
}
