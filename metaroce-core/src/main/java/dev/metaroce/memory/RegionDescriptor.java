package dev.metaroce.memory;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * What a peer must know to reach a region. The owner sends it by any means; it is 20 bytes, big
 * endian: address 8, key 4, length 8.
 *
 * @param address virtual address of byte 0
 * @param rkey key of the region
 * @param length bytes of the region, 0 or more
 */
public record RegionDescriptor(long address, int rkey, long length) {
    /** Size of the encoded form. */
    public static final int BYTES = 20;

    /** The encoded form by itself, as private data for a peer. */
    public byte[] toBytes() {
        ByteBuffer encoded = ByteBuffer.allocate(BYTES);
        put(encoded);
        return encoded.array();
    }

    /**
     * Reads the encoded form from the start of {@code data}, as private data of a peer.
     *
     * @throws IllegalArgumentException when there are fewer than 20 bytes
     */
    public static RegionDescriptor of(byte[] data) {
        if (data.length < BYTES) {
            throw new IllegalArgumentException(
                    "a region descriptor has " + BYTES + " bytes, here are " + data.length);
        }
        return get(ByteBuffer.wrap(data));
    }

    /** Writes the 20 bytes at the position of {@code target}, whatever its byte order. */
    public void put(ByteBuffer target) {
        target.putLong(bigEndian(target, address));
        int key = target.order() == ByteOrder.BIG_ENDIAN ? rkey : Integer.reverseBytes(rkey);
        target.putInt(key).putLong(bigEndian(target, length));
    }

    /**
     * Reads 20 bytes at the position of {@code source}, whatever its byte order.
     *
     * @throws java.nio.BufferUnderflowException when fewer than 20 bytes remain
     */
    public static RegionDescriptor get(ByteBuffer source) {
        long address = bigEndian(source, source.getLong());
        int key = source.getInt();
        int rkey = source.order() == ByteOrder.BIG_ENDIAN ? key : Integer.reverseBytes(key);
        return new RegionDescriptor(address, rkey, bigEndian(source, source.getLong()));
    }

    private static long bigEndian(ByteBuffer buffer, long value) {
        return buffer.order() == ByteOrder.BIG_ENDIAN ? value : Long.reverseBytes(value);
    }

    /** Readable form; the key is in hexadecimal as dumps show it. */
    @Override
    public String toString() {
        return "region 0x"
                + Long.toHexString(address)
                + "+"
                + length
                + " key 0x"
                + Integer.toHexString(rkey);
    }
}
