package dev.metaroce.tools.cli;

import java.lang.foreign.MemorySegment;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/** SHA-256 of memory of any size. */
public final class Digest {
    private static final long CHUNK_BYTES = 1 << 20;

    private Digest() {}

    /** The hash in lower-case hexadecimal. */
    public static String sha256(MemorySegment memory) {
        return sha256(memory, () -> {});
    }

    /** The same; calls {@code between} after each MiB, for what must not wait so long. */
    public static String sha256(MemorySegment memory, Runnable between) {
        MessageDigest digest;
        try {
            digest = MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java has SHA-256", e);
        }
        for (long at = 0; at < memory.byteSize(); at += CHUNK_BYTES) {
            long bytes = Math.min(CHUNK_BYTES, memory.byteSize() - at);
            digest.update(memory.asSlice(at, bytes).asByteBuffer());
            between.run();
        }
        return HexFormat.of().formatHex(digest.digest());
    }
}
