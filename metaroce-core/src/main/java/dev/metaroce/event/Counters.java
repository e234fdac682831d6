package dev.metaroce.event;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/** Counters of one engine: written by its thread, readable from any. */
public final class Counters {
    private static final VarHandle VALUE = MethodHandles.arrayElementVarHandle(long[].class);
    private final long[] values = new long[CounterId.values().length];

    /** Engine thread only. */
    public void add(CounterId id, long amount) {
        int at = id.ordinal();
        VALUE.setOpaque(values, at, values[at] + amount);
    }

    /** Engine thread only. */
    public void increment(CounterId id) {
        add(id, 1);
    }

    public long get(CounterId id) {
        return (long) VALUE.getOpaque(values, id.ordinal());
    }
}
