package dev.metaroce.bench;

import dev.metaroce.ring.CompletionRing;
import dev.metaroce.ring.PostResult;
import dev.metaroce.ring.WcOpcode;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.ring.WorkQueue;
import dev.metaroce.verbs.SendRequest;

import org.openjdk.jmh.annotations.Benchmark;

/**
 * The way of one work request through the rings: posted, completed by the engine, polled. One
 * thread plays application and engine, so no cache line travels between cores.
 */
public class RingBenchmark extends HotPathBenchmark {
    private static final int DEPTH = 128;

    private final WorkQueue queue = WorkQueue.sends(this, 0, DEPTH, 1, 0, false);
    private final SendRequest request = new SendRequest().write(4096, 0xC0DE);
    private final CompletionRing completions = new CompletionRing(DEPTH);
    private final WorkCompletion completion = new WorkCompletion();
    private long sequence;

    @Benchmark
    public WorkCompletion postCompletePoll() {
        long id = sequence++;
        boolean posted = queue.offer(request.wrId(id)) == PostResult.OK;
        completions.push(
                queue,
                id,
                queue.wrId(id),
                WcStatus.SUCCESS,
                WcOpcode.WRITE,
                64,
                0,
                CompletionRing.Extra.NONE);
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
