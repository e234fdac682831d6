package dev.metaroce.wire.roce;

import org.jspecify.annotations.Nullable;

/** Why a connection is refused, in a {@link CmMessage.Rej}; other codes exist. */
public enum CmReject {
    NO_RESOURCES(3, "the peer has no queue pair left"),
    TIMEOUT(4, "the peer waited for too long"),
    UNKNOWN_ID(6, "the peer does not know the connection"),
    NO_SERVICE(8, "nobody listens for this service"),
    STALE(10, "the queue pair is in use already"),
    MTU(26, "the peer cannot use this path MTU"),
    CONSUMER(28, "the peer refused"),
    VERSION(31, "the peer knows another version of connection management");

    private final int code;
    private final String text;

    CmReject(int code, String text) {
        this.code = code;
        this.text = text;
    }

    /** The value on the wire, 16 bits. */
    public int code() {
        return code;
    }

    /** The reason in words. */
    public String text() {
        return text;
    }

    /** The reason with this code, or null for every code that we do not send. */
    public static @Nullable CmReject of(int code) {
        for (CmReject reason : values()) {
            if (reason.code == code) {
                return reason;
            }
        }
        return null;
    }
}
