package dev.metaroce.verbs;

import dev.metaroce.memory.Access;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.memory.RegionTable;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;

/**
 * Groups memory regions and queue pairs: a request that arrives on a queue pair reaches only
 * regions of the same domain.
 *
 * <p>Any thread may register memory.
 */
public final class ProtectionDomain {
    /** A cache line, so that nothing else shares the first and the last. */
    private static final long ALIGNMENT = 64;

    private final int id;
    private final RegionTable regions;

    ProtectionDomain(int id, RegionTable regions) {
        this.id = id;
        this.regions = regions;
    }

    boolean isOf(RegionTable table) {
        return regions == table;
    }

    int id() {
        return id;
    }

    /**
     * Registers off-heap memory of any kind: allocated, mapped, a slice. The region keeps the
     * segment; the segment's arena must stay open until the region is closed; closing it before
     * makes the operations fail that still use it. While the checksum of a packet is computed over
     * memory of an open region, {@code Arena.close} throws {@code IllegalStateException} and closes
     * nothing: close the region first, or try again. A confined arena serves only when its thread
     * drives the engine.
     *
     * @param access bits of {@link Access}; 0 allows local reads only
     * @throws IllegalArgumentException for heap memory, a closed arena, or a read-only segment with
     *     write access
     */
    public MemoryRegion register(MemorySegment segment, int access) {
        return regions.register(segment, access, id);
    }

    /**
     * Registers what lies between position and limit of a direct buffer: allocated, mapped, or a
     * slice of such a one. The region keeps the buffer's memory alive.
     *
     * @param access bits of {@link Access}; 0 allows local reads only
     * @throws IllegalArgumentException for a heap buffer, or a read-only one with write access
     */
    public MemoryRegion register(ByteBuffer buffer, int access) {
        if (!buffer.isDirect()) {
            throw new IllegalArgumentException(
                    "buffer is on the heap, where the collector moves it: use"
                            + " ByteBuffer.allocateDirect, or ProtectionDomain.allocate");
        }
        return register(MemorySegment.ofBuffer(buffer), access);
    }

    /**
     * Allocates zeroed memory and registers it; it lasts as long as the region or its segment is
     * used.
     *
     * @param bytes 0 or more
     * @param access bits of {@link Access}
     * @throws IllegalArgumentException for a negative size
     * @throws OutOfMemoryError when there is not so much
     */
    public MemoryRegion allocate(long bytes, int access) {
        if (bytes < 0) {
            throw new IllegalArgumentException("region of " + bytes + " bytes: must be 0 or more");
        }
        return register(Arena.ofAuto().allocate(bytes, ALIGNMENT), access);
    }

    /**
     * Registers addresses without bytes, for simulations that move lengths and no payload.
     *
     * @param length 0 or more bytes
     * @param access bits of {@link Access}
     * @throws IllegalArgumentException for a negative length
     */
    public MemoryRegion registerVirtual(long length, int access) {
        return regions.registerVirtual(length, access, id);
    }
}
