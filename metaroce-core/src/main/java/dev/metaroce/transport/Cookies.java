package dev.metaroce.transport;

import dev.metaroce.wire.NetAddress;

import org.jspecify.annotations.Nullable;

import java.nio.ByteBuffer;
import java.security.GeneralSecurityException;
import java.util.function.IntSupplier;

import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * Cookies of a crowded target: who returns one has read what was sent to its IP address. A cookie
 * is a keyed hash of address, endpoint and connection, so that nothing has to be remembered of
 * those who never come back. Keys are drawn when they are needed and live for two periods. Owner:
 * the engine thread.
 */
final class Cookies {
    /** A cookie is good for one to two of these. */
    static final long PERIOD_NS = 8_000_000_000L;

    private static final String ALGORITHM = "HmacSHA256";
    private static final int HASH_BYTES = 32;

    private final IntSupplier keySource;
    private final ByteBuffer text = ByteBuffer.allocate(4 * Long.BYTES);
    private final ByteBuffer hash = ByteBuffer.allocate(HASH_BYTES);
    private @Nullable Mac young;
    private @Nullable Mac old;
    private long drawnNs;

    Cookies(IntSupplier keySource) {
        this.keySource = keySource;
    }

    /** The cookie of a request, never 0. */
    long of(long nowNs, NetAddress source, long endpointId, long connectionId) {
        return hash(present(nowNs), source, endpointId, connectionId);
    }

    /** True for what {@link #of} gave for the same request in this period or the one before. */
    boolean isValid(
            long cookie, long nowNs, NetAddress source, long endpointId, long connectionId) {
        if (cookie == 0 || young == null) {
            return false;
        }
        Mac present = present(nowNs);
        return cookie == hash(present, source, endpointId, connectionId)
                || (old != null && cookie == hash(old, source, endpointId, connectionId));
    }

    /** The key of this period; time between two calls may be long. */
    private Mac present(long nowNs) {
        Mac key = young;
        long ageNs = nowNs - drawnNs;
        if (key == null || ageNs >= PERIOD_NS) {
            //= MR-3.8-10
            old = ageNs < 2 * PERIOD_NS ? key : null;
            key = draw();
            young = key;
            drawnNs = nowNs;
        }
        return key;
    }

    private Mac draw() {
        byte[] secret = new byte[HASH_BYTES];
        ByteBuffer bytes = ByteBuffer.wrap(secret);
        while (bytes.hasRemaining()) {
            bytes.putInt(keySource.getAsInt());
        }
        try {
            Mac mac = Mac.getInstance(ALGORITHM);
            mac.init(new SecretKeySpec(secret, ALGORITHM));
            return mac;
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("every Java platform has " + ALGORITHM, e);
        }
    }

    /** Without the port: a request that is repeated comes from other ports of its host. */
    private long hash(Mac key, NetAddress source, long endpointId, long connectionId) {
        text.clear();
        text.putLong(source.high()).putLong(source.low());
        text.putLong(endpointId).putLong(connectionId);
        try {
            key.update(text.array());
            key.doFinal(hash.array(), 0);
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("the hash fits its buffer", e);
        }
        long value = hash.getLong(0);
        return value == 0 ? 1 : value;
    }
}
