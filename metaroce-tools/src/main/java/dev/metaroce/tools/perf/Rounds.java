package dev.metaroce.tools.perf;

/** The rounds of a latency test, as its loop plays them. No method blocks. */
interface Rounds {
    /** Part of the time of a round that is reported. */
    double share();

    /** True when the next round may begin. */
    boolean canSend();

    /** Begins the next round. */
    void send();

    /** True once for every round: it is over. */
    boolean hasArrived();

    /** True when the round that was begun last is over. */
    boolean isOver();

    /** True when nothing is under way any more. */
    boolean isDrained();
}
