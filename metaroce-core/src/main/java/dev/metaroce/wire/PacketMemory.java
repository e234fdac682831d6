package dev.metaroce.wire;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.util.zip.CRC32;
import java.util.zip.CRC32C;

/**
 * A block of off-heap memory that holds packets, seen both as bytes (headers, CRC) and as a segment
 * (payload copies, native calls). All integers are big endian, as on the wire.
 *
 * <p>Owned by one thread. Allocated once, by a port or by a {@code TxBatch}; no method allocates.
 */
public final class PacketMemory {
    private final MemorySegment segment;
    private final ByteBuffer bytes;
    private final ByteBuffer crcView;
    private final CRC32C crc = new CRC32C();
    private final CRC32 ethernetCrc = new CRC32();
    private final boolean checksums;
    private int elidedBytes;

    /** Allocates {@code capacityBytes} of zeroed memory that lives until it is unreachable. */
    public PacketMemory(int capacityBytes) {
        this(Arena.ofAuto().allocate(capacityBytes, 64));
    }

    /** Wraps a native segment of at most 2^31-1 bytes. */
    public PacketMemory(MemorySegment segment) {
        this(segment, true);
    }

    private PacketMemory(MemorySegment segment, boolean checksums) {
        this.segment = segment;
        this.checksums = checksums;
        this.bytes = segment.asByteBuffer();
        this.crcView = bytes.duplicate();
    }

    /**
     * Memory as of {@link #PacketMemory(int)}.
     *
     * @param checksums false makes every CRC of this memory 0, so that packets are neither
     *     protected nor checked: only to measure what CRCs cost, at both ends of a link alike
     */
    public static PacketMemory allocate(int capacityBytes, boolean checksums) {
        return new PacketMemory(Arena.ofAuto().allocate(capacityBytes, 64), checksums);
    }

    /**
     * Says of the next packet to be read here that its payload was left out: header and checksum
     * are back to back, and the checksum covers the header only. The length of the packet, as told
     * to those that read it, counts the payload. For simulations; holds until it is said anew.
     *
     * @param payloadBytes bytes left out; 0, the default, for a whole packet
     */
    public void elide(int payloadBytes) {
        elidedBytes = payloadBytes;
    }

    /** Payload bytes that the packet to be read does not have here, 0 for a whole packet. */
    public int elidedBytes() {
        return elidedBytes;
    }

    public int capacity() {
        return bytes.capacity();
    }

    /** The memory as a segment. */
    public MemorySegment segment() {
        return segment;
    }

    /** The memory as a direct buffer; position and limit belong to the owner. */
    public ByteBuffer bytes() {
        return bytes;
    }

    public int u8(int offset) {
        return bytes.get(offset) & 0xFF;
    }

    public int u16(int offset) {
        return bytes.getShort(offset) & 0xFFFF;
    }

    public int i32(int offset) {
        return bytes.getInt(offset);
    }

    public long u32(int offset) {
        return bytes.getInt(offset) & 0xFFFF_FFFFL;
    }

    public long i64(int offset) {
        return bytes.getLong(offset);
    }

    public void put8(int offset, int value) {
        bytes.put(offset, (byte) value);
    }

    public void put16(int offset, int value) {
        bytes.putShort(offset, (short) value);
    }

    public void put32(int offset, int value) {
        bytes.putInt(offset, value);
    }

    public void put64(int offset, long value) {
        bytes.putLong(offset, value);
    }

    /** Turns a big-endian value into the byte order of the machine, where it is. */
    public void toNative64(int offset) {
        segment.set(ValueLayout.JAVA_LONG_UNALIGNED, offset, bytes.getLong(offset));
    }

    /** CRC-32C (Castagnoli, RFC 3720 appendix B.4) of {@code length} bytes from {@code offset}. */
    public int crc32c(int offset, int length) {
        if (!checksums) {
            return 0;
        }
        crc.reset();
        crcView.limit(offset + length).position(offset);
        crc.update(crcView);
        return (int) crc.getValue();
    }

    /**
     * CRC-32C of {@code length} bytes from {@code offset} and then of the rest of {@code more}.
     *
     * @throws IllegalStateException when the arena behind {@code more} was closed
     * @throws WrongThreadException when that arena belongs to another thread
     */
    public int crc32c(int offset, int length, ByteBuffer more) {
        if (!checksums) {
            return 0;
        }
        crc.reset();
        crcView.limit(offset + length).position(offset);
        crc.update(crcView);
        crc.update(more);
        return (int) crc.getValue();
    }

    /**
     * CRC-32 as of Ethernet of a prefix that is not in this memory, then of {@code length} bytes
     * from {@code offset}, then of the rest of {@code more}, then of {@code tailLength} bytes from
     * {@code tailOffset}.
     *
     * @throws IllegalStateException when the arena behind {@code more} was closed
     * @throws WrongThreadException when that arena belongs to another thread
     */
    public int crc32(
            byte[] prefix,
            int prefixLength,
            int offset,
            int length,
            ByteBuffer more,
            int tailOffset,
            int tailLength) {
        if (!checksums) {
            return 0;
        }
        ethernetCrc.reset();
        ethernetCrc.update(prefix, 0, prefixLength);
        crcView.limit(offset + length).position(offset);
        ethernetCrc.update(crcView);
        if (more.hasRemaining()) {
            ethernetCrc.update(more);
        }
        if (tailLength > 0) {
            crcView.limit(tailOffset + tailLength).position(tailOffset);
            ethernetCrc.update(crcView);
        }
        return (int) ethernetCrc.getValue();
    }
}
