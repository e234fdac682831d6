package dev.metaroce.bench;

import dev.metaroce.ring.CompletionRing;
import dev.metaroce.ring.WcOpcode;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.ring.WorkQueue;
import dev.metaroce.wire.Opcode;

import org.openjdk.jmh.annotations.Benchmark;

/**
 * The way of one work request through the rings: posted, completed by the engine, polled. One
 * thread plays application and engine, so no cache line travels between cores.
 */
public class RingBenchmark extends HotPathBenchmark {
    private static final int DEPTH = 128;

    private final WorkQueue queue = new WorkQueue(this, DEPTH);
    private final CompletionRing completions = new CompletionRing(DEPTH);
    private final WorkCompletion completion = new WorkCompletion();
    private long sequence;

    @Benchmark
    public WorkCompletion postCompletePoll() {
        long id = sequence++;
        boolean posted =
                queue.offer(
                        id, Opcode.WRITE.code(), WorkQueue.SIGNALED, null, 0, 64, 4096, 0xC0DE, 0);
        completions.push(queue, id, queue.wrId(id), WcStatus.SUCCESS, WcOpcode.WRITE, 64, 0, false);
        if (!posted || !completions.poll(completion)) {
            throw new IllegalStateException("the rings lost work request " + id);
        }
        return completion;
    }

    /** What a busy application does most of the time. */
    @Benchmark
    public boolean pollEmpty() {
        return completions.poll(completion);
    }
}
