package dev.metaroce.verbs;

import dev.metaroce.memory.Access;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.memory.RegionTable;

import java.lang.foreign.MemorySegment;

/**
 * Groups memory regions and queue pairs: a request that arrives on a queue pair reaches only
 * regions of the same domain.
 *
 * <p>Any thread may register memory.
 */
public final class ProtectionDomain {
    private final int id;
    private final RegionTable regions;

    ProtectionDomain(int id, RegionTable regions) {
        this.id = id;
        this.regions = regions;
    }

    int id() {
        return id;
    }

    /**
     * Registers off-heap memory. The region keeps the segment; the segment's arena must stay open
     * until the region is closed.
     *
     * @param access bits of {@link Access}; 0 allows local reads only
     * @throws IllegalArgumentException for heap memory, a closed arena, or a read-only segment with
     *     write access
     */
    public MemoryRegion register(MemorySegment segment, int access) {
        return regions.register(segment, access, id);
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
