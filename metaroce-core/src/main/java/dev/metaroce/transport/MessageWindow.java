package dev.metaroce.transport;

import dev.metaroce.util.WindowBitmap;

/**
 * Which messages of a stream are complete in a lease: all before the oldest that is not, and some
 * of the 255 after that. Owner: the engine thread.
 */
final class MessageWindow {
    /** Messages from the oldest that is not complete on that may be told apart. */
    static final int SIZE = WindowBitmap.BITS;

    private int oldest;
    private final long[] complete = new long[WindowBitmap.WORDS];

    /** A new lease: no message is complete. */
    void reset() {
        oldest = 0;
        WindowBitmap.clear(complete, 0);
    }

    /** The oldest message that is not complete: READs and atomics have their turn with it. */
    int oldest() {
        return oldest;
    }

    /** How far a message is behind that one: 0 has its turn, less than 0 is complete. */
    int ahead(int messageNumber) {
        return messageNumber - oldest;
    }

    /** True when the message is inside the window and not complete. */
    boolean isOpen(int messageNumber) {
        int ahead = ahead(messageNumber);
        return ahead == 0
                || (ahead > 0 && ahead < SIZE && !WindowBitmap.get(complete, 0, ahead - 1));
    }

    /** A message that is open is complete now; true when it was the oldest. */
    boolean complete(int messageNumber) {
        int ahead = ahead(messageNumber);
        if (ahead > 0) {
            WindowBitmap.set(complete, 0, ahead - 1);
            return false;
        }
        oldest += WindowBitmap.advance(complete, 0);
        return true;
    }
}
