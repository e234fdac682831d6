package dev.metaroce.util;

/** A fact our own code relies on does not hold: a bug here, never the doing of a peer. */
public final class InvariantViolation extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /**
     * @param what the fact that should have held
     */
    public InvariantViolation(String what) {
        super("invariant broken: " + what);
    }
}
