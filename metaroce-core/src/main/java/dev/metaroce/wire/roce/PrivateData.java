package dev.metaroce.wire.roce;

import java.util.Arrays;

/** What a {@link CmMessage} carries for applications: of fixed size, filled up with zeros. */
public final class PrivateData {
    private final byte[] bytes;

    private PrivateData(byte[] bytes) {
        this.bytes = bytes;
    }

    /** The data with zeros behind it, cut or filled up to {@code size} bytes. */
    public static PrivateData of(byte[] data, int size) {
        return new PrivateData(Arrays.copyOf(data, size));
    }

    /** A copy of the bytes from {@code from} on. */
    public byte[] from(int from) {
        return Arrays.copyOfRange(bytes, from, bytes.length);
    }

    /** A copy of all bytes. */
    public byte[] bytes() {
        return bytes.clone();
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof PrivateData data && Arrays.equals(bytes, data.bytes);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(bytes);
    }
}
