package dev.metaroce.transport;

import dev.metaroce.util.Invariant;

import org.jspecify.annotations.Nullable;

import java.util.Objects;

/**
 * The requests behind the tickets of the CID pool's waiting line: what is needed to grant later.
 * Fixed size, allocated when the first request comes. Owner: the engine thread.
 */
final class WaitingLine {
    private final int capacity;
    private long[] nonce = {};
    private long[] heardNs = {};
    private int[] peer = {};
    private int[] srcCtx = {};
    private byte[] paths = {};
    private boolean[] selective = {};
    private @Nullable TransportConnection[] connection = {};
    private int[] free = {};
    private int freeCount;
    private int reclaiming;

    WaitingLine(int capacity) {
        // One more than may wait: the request being decided needs a ticket too.
        this.capacity = capacity + 1;
    }

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
        if (free.length == 0) {
            allocate();
        }
        if (freeCount == 0) {
            return -1;
        }
        int ticket = free[--freeCount];
        nonce[ticket] = withNonce;
        heardNs[ticket] = nowNs;
        peer[ticket] = fromPeer;
        srcCtx[ticket] = toSrcCtx;
        paths[ticket] = (byte) pathCount;
        selective[ticket] = sack;
        connection[ticket] = about;
        return ticket;
    }

    private void allocate() {
        nonce = new long[capacity];
        heardNs = new long[capacity];
        peer = new int[capacity];
        srcCtx = new int[capacity];
        paths = new byte[capacity];
        selective = new boolean[capacity];
        connection = new TransportConnection[capacity];
        free = new int[capacity];
        for (int i = 0; i < capacity; i++) {
            free[i] = capacity - 1 - i;
        }
        freeCount = capacity;
    }

    void drop(int ticket) {
        Invariant.check(connection[ticket] != null, "a ticket is dropped once");
        connection[ticket] = null;
        free[freeCount++] = ticket;
    }

    int find(int fromPeer, long withNonce) {
        for (int ticket = 0; ticket < connection.length; ticket++) {
            if (connection[ticket] != null
                    && nonce[ticket] == withNonce
                    && peer[ticket] == fromPeer) {
                return ticket;
            }
        }
        return -1;
    }

    int find(TransportConnection about) {
        for (int ticket = 0; ticket < connection.length; ticket++) {
            if (connection[ticket] == about) {
                return ticket;
            }
        }
        return -1;
    }

    /** A ticket whose owner has not asked for {@code limitNs}, or -1. */
    int silent(long nowNs, long limitNs) {
        for (int ticket = 0; ticket < connection.length; ticket++) {
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
