package dev.metaroce.bench;

import org.openjdk.jmh.annotations.AuxCounters;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/**
 * Bytes handled by a throughput benchmark beside its operations. Per nanosecond, as the benchmarks
 * report, that is GB/s (10^9 bytes).
 */
@State(Scope.Thread)
@AuxCounters(AuxCounters.Type.OPERATIONS)
public class BytesMoved {
    /** Bytes since the iteration began; the name is the one in JMH's report. */
    public long bytes;

    @Setup(Level.Iteration)
    public void reset() {
        bytes = 0;
    }
}
