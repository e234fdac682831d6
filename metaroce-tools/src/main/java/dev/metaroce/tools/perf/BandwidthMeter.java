package dev.metaroce.tools.perf;

import org.jspecify.annotations.Nullable;

import java.util.Arrays;

/**
 * Times of posts and completions of a bandwidth test, and the best rate among them.
 *
 * <p>With the k-th post of the run at {@code p[k]} and the k-th completion at {@code c[k]}, at
 * least w messages were both posted and completed between {@code p[k]} and {@code c[k+w-1]}. The
 * peak is the largest such rate over windows of w = 1, 2, 4, ... messages. Runs without a known
 * count, or of very many messages, keep no times; their peak is the best whole {@link #SLICE_NS}.
 */
final class BandwidthMeter {
    static final int TIMES_MAX = 1 << 20;
    static final long SLICE_NS = 10_000_000;

    private final long @Nullable [] posted;
    private final long @Nullable [] completed;
    private long posts;
    private long completions;
    private long firstPostNs;
    private long lastCompletionNs;
    private long sliceStartNs;
    private long sliceMessages;
    private double bestSlice;

    /**
     * @param messages how many there will be, 0 when not known
     */
    BandwidthMeter(long messages) {
        boolean keep = messages > 0 && messages <= TIMES_MAX;
        posted = keep ? new long[(int) messages] : null;
        completed = keep ? new long[(int) messages] : null;
    }

    /** So many messages were posted, at this time or a little later. */
    void onPosts(int count, long nowNs) {
        if (posts == 0) {
            firstPostNs = nowNs;
            sliceStartNs = nowNs;
        }
        if (posted != null) {
            Arrays.fill(posted, (int) posts, (int) posts + count, nowNs);
        }
        posts += count;
    }

    /** So many messages completed, at this time or a little earlier. */
    void onCompletions(int count, long nowNs) {
        if (completed != null) {
            Arrays.fill(completed, (int) completions, (int) completions + count, nowNs);
        }
        completions += count;
        sliceMessages += count;
        lastCompletionNs = nowNs;
        long sliceNs = nowNs - sliceStartNs;
        if (sliceNs >= SLICE_NS) {
            bestSlice = Math.max(bestSlice, (double) sliceMessages / sliceNs);
            sliceStartNs = nowNs;
            sliceMessages = 0;
        }
    }

    long posts() {
        return posts;
    }

    long completions() {
        return completions;
    }

    /** From the first post to the last completion. */
    long elapsedNs() {
        return lastCompletionNs - firstPostNs;
    }

    /** Messages per nanosecond of the best stretch; the average when no stretch was whole. */
    double peakMessagesPerNs() {
        double average = (double) completions / elapsedNs();
        if (posted == null || completed == null) {
            return Math.max(bestSlice, average);
        }
        double best = average;
        int n = (int) completions;
        for (int width = 1; width <= n; width *= 2) {
            for (int k = 0; k + width <= n; k++) {
                long ns = completed[k + width - 1] - posted[k];
                if (ns > 0) {
                    best = Math.max(best, (double) width / ns);
                }
            }
        }
        return best;
    }
}
