package dev.metaroce.tools.perf;

import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkCompletion;

import java.util.Arrays;

/**
 * The sending half of a bandwidth test at one end of a connection: keeps every queue pair filled to
 * the depth until all messages are posted or the time is over, and counts completions until the
 * last. No method blocks or allocates; whoever drives the device calls {@link #step} in turns, with
 * one look at the clock for all that a turn posts and completes.
 *
 * <p>A work request's id is its queue pair and how many were posted there up to and including it,
 * so that one completion stands for the unsignalled messages before it as well.
 */
final class BandwidthFlow {
    private static final int COMPLETIONS = 64;
    private static final int PAIR_BITS = 8;

    private final PerfEnd peer;
    private final long messageBytes;
    private final Posting posting;
    private final long durationNs;
    private final BandwidthMeter meter;
    private final WorkCompletion[] completions = new WorkCompletion[COMPLETIONS];

    /** Per queue pair: how many messages there are to be. */
    private final long[] goal;

    private final long[] posted;
    private final long[] completed;
    private final int[] unsignalled;
    private int unfinished;
    private boolean started;
    private boolean timed;
    private long startNs;

    /**
     * @param peer with its source filled, and the other end's memory known if that is written to
     * @param iterations messages per queue pair, ignored with a duration
     * @param durationNs how long to post, from the first step; 0 for a number of messages
     * @param meter is told of posts and completions; flows of one thread may share it
     */
    BandwidthFlow(
            PerfEnd peer,
            long messageBytes,
            long iterations,
            long durationNs,
            BandwidthMeter meter) {
        this.peer = peer;
        this.messageBytes = messageBytes;
        this.durationNs = durationNs;
        this.meter = meter;
        PerfParameters parameters = peer.parameters;
        posting = parameters.posting().fitting(messageBytes);
        timed = durationNs > 0;
        int qps = parameters.qps();
        goal = new long[qps];
        posted = new long[qps];
        completed = new long[qps];
        unsignalled = new int[qps];
        unfinished = qps;
        Arrays.fill(goal, timed ? Long.MAX_VALUE : iterations);
        Arrays.setAll(completions, i -> new WorkCompletion());
    }

    /** Takes completions and posts what there is room for; true when there was anything to do. */
    boolean step(long nowNs) {
        if (!started) {
            started = true;
            startNs = nowNs;
        } else if (timed && nowNs - startNs >= durationNs) {
            timed = false;
            stopPosting();
        }
        int moved = reap(nowNs);
        if (unfinished > 0) {
            moved += post(nowNs);
        }
        return moved > 0;
    }

    /** True when every message that there is to be has completed. */
    boolean isDone() {
        return unfinished == 0;
    }

    /** Ends each queue pair with the message that is its last, or with one more that tells. */
    private void stopPosting() {
        for (int q = 0; q < goal.length; q++) {
            goal[q] = posted[q] + (unsignalled[q] > 0 ? 1 : 0);
            if (completed[q] == goal[q]) {
                unfinished--;
            }
        }
    }

    private int post(long nowNs) {
        int count = 0;
        for (int q = 0; q < goal.length; q++) {
            while (true) {
                long left = goal[q] - posted[q];
                int group = (int) Math.min(posting.list(), left);
                if (group == 0 || posting.depth() - (posted[q] - completed[q]) < group) {
                    break;
                }
                for (int i = 1; i <= group; i++) {
                    postOne(q, group > 1 && i == group);
                }
                count += group;
            }
        }
        if (count > 0) {
            meter.onPosts(count, nowNs);
        }
        return count;
    }

    private void postOne(int q, boolean endsList) {
        long number = posted[q] + 1;
        boolean signalled =
                ++unsignalled[q] == posting.signalEvery() || endsList || number == goal[q];
        peer.post(q, number << PAIR_BITS | q, messageBytes, signalled);
        posted[q] = number;
        if (signalled) {
            unsignalled[q] = 0;
        }
    }

    private int reap(long nowNs) {
        long before = meter.completions();
        int n;
        do {
            n = peer.sends.poll(completions);
            for (int i = 0; i < n; i++) {
                onCompletion(completions[i], nowNs);
            }
        } while (n == COMPLETIONS);
        return (int) (meter.completions() - before);
    }

    private void onCompletion(WorkCompletion completion, long nowNs) {
        int q = (int) completion.wrId() & ((1 << PAIR_BITS) - 1);
        if (completion.status() != WcStatus.SUCCESS) {
            throw peer.failure("message of " + messageBytes + " B on queue pair " + q, completion);
        }
        long number = completion.wrId() >>> PAIR_BITS;
        meter.onCompletions((int) (number - completed[q]), nowNs);
        completed[q] = number;
        if (number == goal[q]) {
            unfinished--;
        }
    }
}
