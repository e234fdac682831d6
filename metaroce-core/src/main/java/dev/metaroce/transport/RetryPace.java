package dev.metaroce.transport;

import dev.metaroce.util.Rng;

/**
 * When those who were refused may ask again: soon while they are few, and so late that their asking
 * takes little of the line when they are many. How many they are is told by the refusals of one
 * round of asking. Owner: the engine thread.
 */
final class RetryPace {
    private static final int SHORTEST_US = 5_000;
    private static final int LONGEST_US = 500_000;

    /** Of a round, for each of the refused. */
    private static final int EACH_US = 1;

    private final Rng rng;
    private boolean started;
    private long roundEndNs;
    private int refused;
    private int refusedBefore;

    RetryPace(Rng rng) {
        this.rng = rng;
    }

    /** One more is refused; returns after how many microseconds it may ask again. */
    int refuse(long nowNs) {
        if (!started || nowNs - roundEndNs >= 0) {
            boolean justOver = started && nowNs - roundEndNs < 2_000L * LONGEST_US;
            refusedBefore = justOver ? refused : 0;
            refused = 0;
            started = true;
            roundEndNs = nowNs + 2_000L * pauseUs();
        }
        refused++;
        int pauseUs = pauseUs();
        //= MR-3.5-11
        return pauseUs + rng.nextInt(pauseUs);
    }

    private int pauseUs() {
        long crowd = Math.max(refused, refusedBefore);
        return Math.clamp(EACH_US * crowd, SHORTEST_US, LONGEST_US);
    }
}
