package dev.metaroce.ring;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * Completions from one engine thread (producer) to one polling thread (consumer). It cannot
 * overflow: every work queue has a {@link Reservation} of its depth, and a slot of it is free again
 * only when its completion was polled.
 */
public final class CompletionRing {
    /** What the 32 bits of a completion are. */
    public enum Extra {
        NONE,
        IMMEDIATE,
        /** The key of a region that the peer took remote rights from. */
        INVALIDATED
    }

    private static final VarHandle TAIL;
    private static final VarHandle HEAD;
    private static final VarHandle WATCHED;
    private static final VarHandle ARMED;

    static {
        try {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            TAIL = lookup.findVarHandle(CompletionRing.class, "tail", long.class);
            HEAD = lookup.findVarHandle(CompletionRing.class, "head", long.class);
            WATCHED = lookup.findVarHandle(CompletionRing.class, "watched", boolean.class);
            ARMED = lookup.findVarHandle(CompletionRing.class, "armed", boolean.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final int capacity;
    private final int mask;
    private final long[] wrId;
    private final long[] byteLength;
    private final long[] sequence;
    private final int[] immediate;
    private final byte[] status;
    private final byte[] opcode;
    private final byte[] extra;
    private final WorkQueue[] queue;
    private static final WcStatus[] STATUS = WcStatus.values();
    private static final WcOpcode[] OPCODE = WcOpcode.values();
    private static final Extra[] EXTRA = Extra.values();

    private long tail;
    private long head;
    private final Runnable alarm;
    private boolean watched;
    private boolean armed;

    /** A ring that is only polled. */
    public CompletionRing(int capacity) {
        this(capacity, () -> {});
    }

    /**
     * @param capacity completions it can hold, 1..2^24
     * @param alarm run by the engine thread when a completion comes after {@link #arm}
     */
    public CompletionRing(int capacity, Runnable alarm) {
        if (capacity < 1 || capacity > 1 << 24) {
            throw new IllegalArgumentException(
                    "completion queue capacity " + capacity + " is not in 1.." + (1 << 24));
        }
        this.capacity = capacity;
        this.alarm = alarm;
        int slots = Integer.highestOneBit(Math.max(1, capacity - 1)) << 1;
        mask = slots - 1;
        wrId = new long[slots];
        byteLength = new long[slots];
        sequence = new long[slots];
        immediate = new int[slots];
        status = new byte[slots];
        opcode = new byte[slots];
        extra = new byte[slots];
        queue = new WorkQueue[slots];
    }

    public int capacity() {
        return capacity;
    }

    /** Engine thread: adds a completion of slot {@code sequenceOfSlot} of {@code source}. */
    public void push(
            WorkQueue source,
            long sequenceOfSlot,
            long id,
            WcStatus wcStatus,
            WcOpcode wcOpcode,
            long bytes,
            int value,
            Extra what) {
        int at = (int) tail & mask;
        wrId[at] = id;
        status[at] = (byte) wcStatus.ordinal();
        opcode[at] = (byte) wcOpcode.ordinal();
        byteLength[at] = bytes;
        immediate[at] = value;
        extra[at] = (byte) what.ordinal();
        sequence[at] = sequenceOfSlot;
        queue[at] = source;
        TAIL.setRelease(this, tail + 1);
        if ((boolean) WATCHED.getOpaque(this)) {
            soundIfArmed();
        }
    }

    /**
     * Store the completion, then look whether anyone waits; {@link #arm} stores that, then its
     * caller looks for completions. The fences keep each store before the look that follows, so
     * that one of the two sees the other.
     */
    private void soundIfArmed() {
        VarHandle.fullFence();
        if ((boolean) ARMED.getAcquire(this) && ARMED.compareAndSet(this, true, false)) {
            alarm.run();
        }
    }

    /**
     * Any thread, before the first {@link #arm}; lasting. A ring that is not watched never pays for
     * a fence. The engine's turn that runs meanwhile may not know of it yet.
     *
     * @return true when this call changed it
     */
    public boolean watch() {
        return WATCHED.compareAndSet(this, false, true);
    }

    /**
     * Any thread: the next completion sounds the alarm, once. Completions that came before do not,
     * so poll again after this call, and wait only when nothing was there.
     */
    public void arm() {
        ARMED.setVolatile(this, true);
        VarHandle.fullFence();
    }

    /** Polling thread: fills {@code into} with the oldest completion, or returns false. */
    public boolean poll(WorkCompletion into) {
        long h = head;
        if (h == (long) TAIL.getAcquire(this)) {
            return false;
        }
        int at = (int) h & mask;
        WorkQueue source = queue[at];
        into.wrId = wrId[at];
        into.status = STATUS[status[at]];
        into.opcode = OPCODE[opcode[at]];
        into.byteLength = byteLength[at];
        into.immediate = immediate[at];
        into.extra = EXTRA[extra[at]];
        into.owner = source.owner();
        source.freeThrough(sequence[at]);
        HEAD.setRelease(this, h + 1);
        return true;
    }

    /** Engine thread: where the next completion goes. */
    long tail() {
        return tail;
    }

    /** Any thread: true when all completions before {@code position} were polled. */
    boolean isPolled(long position) {
        return (long) HEAD.getAcquire(this) - position >= 0;
    }

    /** Completions waiting to be polled. */
    public int size() {
        return (int) ((long) TAIL.getAcquire(this) - (long) HEAD.getAcquire(this));
    }
}
