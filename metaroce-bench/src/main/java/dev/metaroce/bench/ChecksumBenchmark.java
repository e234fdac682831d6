package dev.metaroce.bench;

import dev.metaroce.wire.PacketMemory;

import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.Param;

/** CRC-32C of one packet in cache; every packet pays it once at each end. */
@BenchmarkMode(Mode.Throughput)
public class ChecksumBenchmark extends HotPathBenchmark {
    private final PacketMemory memory = new PacketMemory(1 << 16);

    @Param({"64", "1024", "4096", "8896"})
    private int packetBytes;

    @Benchmark
    public int crc32c(BytesMoved moved) {
        moved.bytes += packetBytes;
        return memory.crc32c(0, packetBytes);
    }
}
