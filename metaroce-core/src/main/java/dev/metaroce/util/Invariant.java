package dev.metaroce.util;

/**
 * Checks on our own code. They are always on: each is one compare on values already at hand, and a
 * broken invariant must stop the engine before it touches a peer's memory. Input of peers is never
 * checked here; it gets a verdict and a counter.
 */
public final class Invariant {
    private Invariant() {}

    /**
     * @param what the fact that should hold, as a constant string
     * @throws InvariantViolation when {@code ok} is false
     */
    public static void check(boolean ok, String what) {
        if (!ok) {
            throw new InvariantViolation(what);
        }
    }

    /**
     * As {@link #check(boolean, String)}, with two values that are put into the message only when
     * the check fails.
     *
     * @throws InvariantViolation when {@code ok} is false
     */
    public static void check(boolean ok, String what, long a, long b) {
        if (!ok) {
            throw new InvariantViolation(what + " (" + a + ", " + b + ")");
        }
    }
}
