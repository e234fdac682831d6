package dev.metaroce.verbs;

/**
 * What is promised about two work requests of one queue pair, posted one after the other; the table
 * of section 4.2 of the specification as a question. Requests of different queue pairs promise
 * nothing to each other.
 *
 * <p>Whatever the answer, completions come in post order at the side that posted, and a successful
 * one says that its request and all before it were carried out at the peer.
 *
 * <pre>{@code
 * Ordering.of(Ordering.Kind.READ, Ordering.Kind.WRITE, false);   // NONE: post the WRITE fenced
 * }</pre>
 */
public enum Ordering {
    /** The second may be carried out before the first, or in the middle of it. */
    NONE("none"),
    /**
     * The second may be placed before the first is carried out, but its receive completes only when
     * that is done.
     */
    RECEIVE_AFTER("receive after"),
    /** The second is carried out at the peer when the first is done there. */
    EXECUTES_AFTER("executes after"),
    /** Nothing of the second is sent before the first completed at the side that posted it. */
    STARTS_AFTER("starts after");

    /** What orders are told apart by. */
    public enum Kind {
        WRITE,
        /** SEND, with or without immediate, and WRITE with immediate: all that takes a receive. */
        SEND,
        READ,
        /** Compare-and-swap, fetch-and-add. */
        ATOMIC
    }

    private final String words;

    Ordering(String words) {
        this.words = words;
    }

    /**
     * @param fenced true when the second is posted with FENCE ({@code IBV_SEND_FENCE}): it waits
     *     for earlier READs and atomics
     */
    public static Ordering of(Kind first, Kind second, boolean fenced) {
        boolean waitedFor =
                switch (first) {
                    case READ, ATOMIC -> fenced;
                    case WRITE, SEND -> false;
                };
        if (waitedFor) {
            return STARTS_AFTER;
        }
        return switch (second) {
            case WRITE -> NONE;
            case SEND -> RECEIVE_AFTER;
            case READ, ATOMIC -> EXECUTES_AFTER;
        };
    }

    /** As the specification writes it. */
    @Override
    public String toString() {
        return words;
    }
}
