package dev.metaroce.ring;

import dev.metaroce.wire.Opcode;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * Completions from one engine thread (producer) to one polling thread (consumer). It cannot
 * overflow: every work queue has a {@link Reservation} of its depth, and a slot of it is free again
 * only when its completion was polled. Its memory comes with the completions that waited at once.
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

    private static final int FIRST_SLOTS = 256;

    /** Places for completions, a power of two. */
    private static final class Slots {
        final int mask;
        final long[] wrId;
        final long[] byteLength;
        final long[] sequence;
        final int[] immediate;
        final byte[] status;
        final byte[] opcode;
        final byte[] extra;
        final WorkQueue[] queue;

        Slots(int count) {
            mask = count - 1;
            wrId = new long[count];
            byteLength = new long[count];
            sequence = new long[count];
            immediate = new int[count];
            status = new byte[count];
            opcode = new byte[count];
            extra = new byte[count];
            queue = new WorkQueue[count];
        }

        void copy(Slots from, long position) {
            int at = (int) position & mask;
            int source = (int) position & from.mask;
            wrId[at] = from.wrId[source];
            byteLength[at] = from.byteLength[source];
            sequence[at] = from.sequence[source];
            immediate[at] = from.immediate[source];
            status[at] = from.status[source];
            opcode[at] = from.opcode[source];
            extra[at] = from.extra[source];
            queue[at] = from.queue[source];
        }
    }

    private final int capacity;

    /** Only the engine thread replaces them; what waits is in the new ones before they are seen. */
    private volatile Slots slots;

    /** The engine's own reference to them, and the latest head that it knows of. */
    private Slots pushSlots;

    private long knownHead;
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
        int most = Integer.highestOneBit(Math.max(1, capacity - 1)) << 1;
        pushSlots = new Slots(Math.min(most, FIRST_SLOTS));
        slots = pushSlots;
    }

    public int capacity() {
        return capacity;
    }

    /**
     * Engine thread: a request of a send queue ended. Success that nobody asked to be told of is
     * not reported.
     */
    public void pushSend(WorkQueue source, long sequence, WcStatus wcStatus) {
        boolean success = wcStatus == WcStatus.SUCCESS;
        if (success && !source.signaled(sequence)) {
            return;
        }
        push(
                source,
                sequence,
                source.wrId(sequence),
                wcStatus,
                opcodeOf(Opcode.ofValid(source.opcode(sequence))),
                success ? source.length(sequence) : 0,
                0,
                Extra.NONE);
    }

    private static WcOpcode opcodeOf(Opcode opcode) {
        return switch (opcode) {
            case READ_REQ -> WcOpcode.READ;
            case CMP_SWAP -> WcOpcode.COMPARE_SWAP;
            case FETCH_ADD -> WcOpcode.FETCH_ADD;
            default -> opcode.hasReth() ? WcOpcode.WRITE : WcOpcode.SEND;
        };
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
        Slots to = room();
        int at = (int) tail & to.mask;
        to.wrId[at] = id;
        to.status[at] = (byte) wcStatus.ordinal();
        to.opcode[at] = (byte) wcOpcode.ordinal();
        to.byteLength[at] = bytes;
        to.immediate[at] = value;
        to.extra[at] = (byte) what.ordinal();
        to.sequence[at] = sequenceOfSlot;
        to.queue[at] = source;
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

    /** The slots with room for one more: twice as many when more wait than ever did. */
    private Slots room() {
        Slots now = pushSlots;
        if (tail - knownHead <= now.mask) {
            return now;
        }
        knownHead = (long) HEAD.getAcquire(this);
        if (tail - knownHead <= now.mask) {
            return now;
        }
        Slots twice = new Slots(2 * (now.mask + 1));
        for (long position = knownHead; position < tail; position++) {
            twice.copy(now, position);
        }
        pushSlots = twice;
        slots = twice;
        return twice;
    }

    /** Polling thread: fills {@code into} with the oldest completion, or returns false. */
    public boolean poll(WorkCompletion into) {
        long h = head;
        if (h == (long) TAIL.getAcquire(this)) {
            return false;
        }
        Slots from = slots;
        int at = (int) h & from.mask;
        WorkQueue source = from.queue[at];
        into.wrId = from.wrId[at];
        into.status = STATUS[from.status[at]];
        into.opcode = OPCODE[from.opcode[at]];
        into.byteLength = from.byteLength[at];
        into.immediate = from.immediate[at];
        into.extra = EXTRA[from.extra[at]];
        into.owner = source.owner();
        source.freeThrough(from.sequence[at]);
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
