package dev.metaroce.net;

import dev.metaroce.wire.NetAddress;

import org.jspecify.annotations.Nullable;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/** What the sockets of a port did: written by the port's thread, read by any. */
final class PortCounters {
    static final int RX_DATAGRAMS = 0;
    static final int RX_BYTES = 1;
    static final int RX_CALLS = 2;
    static final int RX_ERRORS = 3;
    static final int TX_DATAGRAMS = 4;
    static final int TX_BYTES = 5;
    static final int TX_CALLS = 6;
    static final int TX_FULL = 7;
    static final int TX_DROPPED = 8;
    static final int TX_ERRORS = 9;
    private static final int COUNTS = 10;

    private static final VarHandle COUNT = MethodHandles.arrayElementVarHandle(long[].class);

    private final long[] counts = new long[COUNTS];
    private volatile String lastError = "";
    private @Nullable Unsent unsent;

    void add(int which, long amount) {
        COUNT.setOpaque(counts, which, counts[which] + amount);
    }

    void lastError(String text) {
        lastError = text;
    }

    /** Port's thread: a datagram was refused by the system. */
    void unsent(NetAddress to, String why) {
        lastError = "send to " + to + ": " + why;
        unsent = new Unsent(to, why);
    }

    /** Port's thread: the last one since the call before; null when there was none. */
    @Nullable Unsent takeUnsent() {
        Unsent taken = unsent;
        if (taken != null) {
            unsent = null;
        }
        return taken;
    }

    private long get(int which) {
        return (long) COUNT.getOpaque(counts, which);
    }

    PortStats snapshot() {
        return new PortStats(
                get(RX_DATAGRAMS),
                get(RX_BYTES),
                get(RX_CALLS),
                get(RX_ERRORS),
                get(TX_DATAGRAMS),
                get(TX_BYTES),
                get(TX_CALLS),
                get(TX_FULL),
                get(TX_DROPPED),
                get(TX_ERRORS),
                lastError);
    }
}
