package dev.metaroce.bench;

import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Setup;

import java.util.Objects;

/**
 * Two engines back to back in one thread, without sockets and loss: nanoseconds per DATA packet for
 * everything that both ends do, with checksums, copies, acknowledgements, posting and polling. One
 * core cannot move packets faster than this; with a core for each end it is about half.
 */
public class EngineBenchmark extends HotPathBenchmark {
    private static final int PACKETS = 1024;

    /** Bytes of a WRITE; all but the last size are one packet. */
    @Param({"64", "4096", "8896", "1048576"})
    private int messageBytes;

    private @Nullable EnginePair pair;

    @Setup
    public void connect() {
        pair = new EnginePair(messageBytes);
    }

    /** Runs both engines until so many more packets have arrived. */
    @Benchmark
    @OperationsPerInvocation(PACKETS)
    public long turn() {
        return Objects.requireNonNull(pair).move(PACKETS);
    }
}
