package dev.metaroce.tools.perf;

import org.jspecify.annotations.Nullable;

import java.nio.ByteBuffer;

/**
 * The server's answer to {@link PerfParameters}, in the private data of its acceptance. A refusal
 * is told here too, rather than by refusing the connection, so that the client can say why.
 */
enum Welcome {
    /** Parameters adopted. */
    OK(0, ""),
    /** The server does not know this version of the parameters. */
    VERSION(1, "it runs another version of metaroce: use the same one at both ends"),
    /** Another client is being served. */
    BUSY(2, "it is serving another client: wait for its end");

    private static final int BYTES = 8;

    private final int code;
    private final String reason;

    Welcome(int code, String reason) {
        this.code = code;
        this.reason = reason;
    }

    String reason() {
        return reason;
    }

    byte[] encode() {
        return ByteBuffer.allocate(BYTES)
                .putInt(PerfParameters.MAGIC)
                .putShort((short) PerfParameters.VERSION)
                .putShort((short) code)
                .array();
    }

    /** Null when the peer is something else than a perf server. */
    static @Nullable Welcome decode(byte[] bytes) {
        if (bytes.length < BYTES) {
            return null;
        }
        ByteBuffer in = ByteBuffer.wrap(bytes);
        if (in.getInt() != PerfParameters.MAGIC) {
            return null;
        }
        int version = in.getShort();
        int code = in.getShort();
        if (version != PerfParameters.VERSION) {
            return VERSION;
        }
        for (Welcome welcome : values()) {
            if (welcome.code == code) {
                return welcome;
            }
        }
        return null;
    }
}
