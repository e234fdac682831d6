package dev.metaroce.transport;

import dev.metaroce.util.IntRing;

import org.jspecify.annotations.Nullable;

import java.util.Arrays;

/**
 * The source contexts of a device: the 16-bit numbers to which peers address their answers. A
 * connection has one from the time it wants a lease until it neither has nor wants any; so there
 * may be more connections than numbers. Owner: the engine thread.
 *
 * <p>A number may pass to another connection at once: what still comes for the one before names a
 * nonce or a token that is not the other's.
 */
final class SourceContexts {
    /** Most numbers that are given out at once. */
    static final int MOST = 65_535;

    /** The number of a connection that has none. */
    static final int NONE = MOST;

    private static final int FIRST_NUMBERS = 4;

    private @Nullable TransportConnection[] holder = new TransportConnection[FIRST_NUMBERS];

    /** Numbers given back, the longest ago first; those from {@link #used} on were never given. */
    private final IntRing free = new IntRing();

    private int used;

    /** Gives the connection a number, unless it has one; false when there is none. */
    boolean give(TransportConnection to) {
        if (to.srcCtx != NONE) {
            return true;
        }
        if (free.isEmpty() && used == MOST) {
            return false;
        }
        to.srcCtx = free.isEmpty() ? add() : free.poll();
        holder[to.srcCtx] = to;
        return true;
    }

    private int add() {
        if (used == holder.length) {
            holder = Arrays.copyOf(holder, Math.min(MOST, 2 * used));
        }
        return used++;
    }

    /** Takes the number of the connection back, if it has one. */
    void takeBack(TransportConnection from) {
        if (from.srcCtx != NONE) {
            holder[from.srcCtx] = null;
            free.add(from.srcCtx);
            from.srcCtx = NONE;
        }
    }

    /** The connection with this number, or null. */
    @Nullable TransportConnection holder(int number) {
        return number < used ? holder[number] : null;
    }

    /** Numbers from this one on belong to nobody. */
    int end() {
        return used;
    }

    /** Numbers given out now. */
    int inUse() {
        return used - free.size();
    }
}
