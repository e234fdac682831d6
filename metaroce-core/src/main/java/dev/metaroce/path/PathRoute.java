package dev.metaroce.path;

/**
 * Which way a path goes, and what is thought of that way. A path that left a way which did not
 * answer asks after it from time to time and returns when it answers again. Decides nothing by
 * itself. Owner: the engine thread.
 */
public final class PathRoute {
    /** Answers of the first route after which a path returns. */
    private static final int HOME_ANSWERS = 2;

    /** Each time a path has to leave its first route again, it asks half as often, down to this. */
    private static final int MOST_FALLS = 7;

    private int number;
    private int home;
    private boolean suspect;
    private int askedTime;
    private boolean returning;
    private int homeTime;
    private boolean homeAsked;
    private int homeAnswers;
    private long askHomeNs;
    private int falls;

    void reset(int route) {
        number = route;
        home = route;
        suspect = false;
        returning = false;
        homeAsked = false;
        homeAnswers = 0;
        falls = 0;
    }

    int number() {
        return number;
    }

    /** The route that the path had at first and returns to. */
    public int home() {
        return home;
    }

    /** True when the path had to leave its first route and is not back. */
    public boolean isAway() {
        return number != home;
    }

    /** True while nothing new is sent: the route is suspect, or about to be left for the first. */
    boolean isClosed() {
        return suspect || returning;
    }

    // Suspicion

    /**
     * Packets that went other ways later are known to have arrived, but none of this one.
     *
     * @param txTime when the path is asked
     */
    public void suspect(int txTime) {
        suspect = true;
        askedTime = txTime;
        returning = false;
    }

    public boolean isSuspect() {
        return suspect;
    }

    /** When the suspect path was asked, as a send time of packets. */
    public int askedTime() {
        return askedTime;
    }

    /** The path answered. */
    void clear() {
        suspect = false;
    }

    void moveTo(int route) {
        number = route;
        suspect = false;
        returning = false;
        homeAnswers = 0;
        homeAsked = false;
    }

    // The way back

    /** The first route was left, or has to be left again. */
    public void onFall(long nowNs, long intervalNs) {
        falls = Math.min(falls + 1, MOST_FALLS);
        askHomeNs = nowNs + askIntervalNs(intervalNs);
    }

    private long askIntervalNs(long intervalNs) {
        return intervalNs << (falls - 1);
    }

    /** When a path that is away asks its first route the next time. */
    public long askHomeNs() {
        return askHomeNs;
    }

    /** The first route is to be asked now, and again after the interval. */
    public void onHomeDue(long nowNs, long intervalNs) {
        askHomeNs = nowNs + askIntervalNs(intervalNs);
    }

    /** The first route is asked by a probe with this time. */
    public void onHomeAsked(int txTime) {
        homeTime = txTime;
        homeAsked = true;
    }

    /** True for the answer to the last question to the first route; such an answer counts once. */
    public boolean isHomeAnswer(int echoTime) {
        return homeAsked && echoTime == homeTime;
    }

    /** The first route answered. */
    public void onHomeAnswer() {
        homeAsked = false;
        homeAnswers++;
        returning = !suspect && homeAnswers >= HOME_ANSWERS;
    }

    /** True when the path goes home as soon as nothing of it is on the way. */
    public boolean isReturning() {
        return returning;
    }
}
