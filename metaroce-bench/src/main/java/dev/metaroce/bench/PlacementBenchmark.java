package dev.metaroce.bench;

import dev.metaroce.memory.Access;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.memory.RegionTable;
import dev.metaroce.util.Rng;
import dev.metaroce.wire.PacketMemory;

import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Setup;

import java.lang.foreign.Arena;

/**
 * Payload copied between a packet and registered memory, checks included. The region is walked from
 * front to back, so a large one shows the price of memory that is not in cache.
 */
@BenchmarkMode(Mode.Throughput)
public class PlacementBenchmark extends HotPathBenchmark {
    private static final int HEADER_BYTES = 48;

    private final PacketMemory packet = new PacketMemory(1 << 16);

    @Param({"64", "4096", "8896"})
    private int payloadBytes;

    /** A message of the bandwidth test, and 128 of them: its default depth. */
    @Param({"1", "128"})
    private int regionMib;

    private MemoryRegion region = register(0);
    private long offset;

    /** Registers memory and touches all of it. */
    @Setup
    public void prepare() {
        region = register((long) regionMib << 20);
        region.segment().fill((byte) 1);
    }

    private static MemoryRegion register(long bytes) {
        return new RegionTable(new Rng(1)::nextInt)
                .register(Arena.ofAuto().allocate(bytes, 64), Access.REMOTE_WRITE, 1);
    }

    /** What the responder does with a payload. */
    @Benchmark
    public boolean place(BytesMoved moved) {
        moved.bytes += payloadBytes;
        long va = region.address() + advance();
        return MemoryRegion.place(packet, HEADER_BYTES, region, va, payloadBytes);
    }

    /** What the requester does with a payload. */
    @Benchmark
    public boolean fill(BytesMoved moved) {
        moved.bytes += payloadBytes;
        return MemoryRegion.fill(region, advance(), packet, HEADER_BYTES, payloadBytes);
    }

    private long advance() {
        long at = offset;
        offset = at + 2L * payloadBytes <= region.length() ? at + payloadBytes : 0;
        return at;
    }
}
