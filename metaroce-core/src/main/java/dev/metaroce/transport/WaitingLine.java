package dev.metaroce.transport;

import dev.metaroce.util.IntRing;
import dev.metaroce.util.Invariant;

import org.jspecify.annotations.Nullable;

import java.util.Arrays;
import java.util.Objects;

/**
 * The requests behind the tickets of the CID pool's waiting line: what is needed to grant later.
 * Its capacity is fixed, its memory comes with the requests there were at once. Owner: the engine
 * thread.
 */
final class WaitingLine {
    private static final int FIRST_TICKETS = 4;

    private final int capacity;
    private long[] nonce = {};
    private long[] heardNs = {};
    private int[] peer = {};
    private int[] srcCtx = {};
    private byte[] paths = {};
    private boolean[] selective = {};
    private @Nullable TransportConnection[] connection = {};

    /** Tickets given back; those from {@link #used} on were never given out. */
    private final IntRing free = new IntRing();

    private int used;
    private int reclaiming;

    WaitingLine(int capacity) {
        // One more than may wait: the request being decided needs a ticket too.
        this.capacity = capacity + 1;
    }

    /** The most that a line of so many waiters takes. */
    static long bytes(int waiters) {
        return (waiters + 1L) * (2 * Long.BYTES + 4 * Integer.BYTES + 2);
    }

    /** Stores a request; returns its ticket, or -1 when the line is full. */
    int prepare(
            int fromPeer,
            long withNonce,
            int toSrcCtx,
            int pathCount,
            boolean sack,
            TransportConnection about,
            long nowNs) {
        if (free.isEmpty() && used == capacity) {
            return -1;
        }
        int ticket = free.isEmpty() ? addTicket() : free.poll();
        nonce[ticket] = withNonce;
        heardNs[ticket] = nowNs;
        peer[ticket] = fromPeer;
        srcCtx[ticket] = toSrcCtx;
        paths[ticket] = (byte) pathCount;
        selective[ticket] = sack;
        connection[ticket] = about;
        return ticket;
    }

    private int addTicket() {
        if (used == connection.length) {
            int tickets = Math.min(capacity, Math.max(FIRST_TICKETS, 2 * used));
            nonce = Arrays.copyOf(nonce, tickets);
            heardNs = Arrays.copyOf(heardNs, tickets);
            peer = Arrays.copyOf(peer, tickets);
            srcCtx = Arrays.copyOf(srcCtx, tickets);
            paths = Arrays.copyOf(paths, tickets);
            selective = Arrays.copyOf(selective, tickets);
            connection = Arrays.copyOf(connection, tickets);
        }
        return used++;
    }

    void drop(int ticket) {
        Invariant.check(connection[ticket] != null, "a ticket is dropped once");
        connection[ticket] = null;
        free.add(ticket);
    }

    int find(int fromPeer, long withNonce) {
        for (int ticket = 0; ticket < used; ticket++) {
            if (connection[ticket] != null
                    && nonce[ticket] == withNonce
                    && peer[ticket] == fromPeer) {
                return ticket;
            }
        }
        return -1;
    }

    int find(TransportConnection about) {
        for (int ticket = 0; ticket < used; ticket++) {
            if (connection[ticket] == about) {
                return ticket;
            }
        }
        return -1;
    }

    /** A ticket whose owner has not asked for {@code limitNs}, or -1. */
    int silent(long nowNs, long limitNs) {
        for (int ticket = 0; ticket < used; ticket++) {
            if (connection[ticket] != null && nowNs - heardNs[ticket] > limitNs) {
                return ticket;
            }
        }
        return -1;
    }

    void heard(int ticket, long nowNs) {
        heardNs[ticket] = nowNs;
    }

    int peer(int ticket) {
        return peer[ticket];
    }

    long nonce(int ticket) {
        return nonce[ticket];
    }

    int srcCtx(int ticket) {
        return srcCtx[ticket];
    }

    int paths(int ticket) {
        return paths[ticket];
    }

    boolean selective(int ticket) {
        return selective[ticket];
    }

    TransportConnection connection(int ticket) {
        return Objects.requireNonNull(connection[ticket]);
    }

    /** Contexts asked back and not yet returned. */
    int reclaiming() {
        return reclaiming;
    }

    void reclaiming(int change) {
        reclaiming += change;
    }
}
