package dev.metaroce.ring;

import dev.metaroce.memory.MemoryRegion;

import org.jspecify.annotations.Nullable;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The send or the receive queue of a queue pair: a ring of work requests written by one posting
 * thread and read in place by the engine thread, so that a request is stored once however often its
 * packets are sent.
 *
 * <p>Slots are named by their sequence number (0, 1, 2, ...), which never wraps. A slot passes from
 * the application ({@link #tail}) to the engine and back ({@link #freeThrough}, called when its
 * completion is polled). The posting thread and the polling thread may differ; two threads must not
 * post to one queue at the same time.
 */
public final class WorkQueue {
    private static final VarHandle TAIL;
    private static final VarHandle FREED;

    static {
        try {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            TAIL = lookup.findVarHandle(WorkQueue.class, "tail", long.class);
            FREED = lookup.findVarHandle(WorkQueue.class, "freed", long.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /** The most work requests outstanding in one queue. */
    public static final int MAX_DEPTH = 32_768;

    /** Work request flag: a completion is wanted also on success. */
    public static final int SIGNALED = 1;

    private Object owner;
    private final int depth;
    private final int mask;
    private final long[] wrId;
    private final @Nullable MemoryRegion[] region;
    private final long[] localOffset;
    private final long[] length;
    private final long[] remoteAddress;
    private final int[] rkey;
    private final int[] immediate;
    private final byte[] opcode;
    private final byte[] flags;

    private long tail;
    private long freed;

    /**
     * @param owner what completions name as their origin
     * @param depth outstanding work requests, 1..32768
     */
    public WorkQueue(Object owner, int depth) {
        if (depth < 1 || depth > MAX_DEPTH) {
            throw new IllegalArgumentException("queue depth " + depth + " is not in 1..32768");
        }
        this.owner = owner;
        this.depth = depth;
        int slots = depth == 1 ? 1 : Integer.highestOneBit(depth - 1) << 1;
        mask = slots - 1;
        wrId = new long[slots];
        region = new MemoryRegion[slots];
        localOffset = new long[slots];
        length = new long[slots];
        remoteAddress = new long[slots];
        rkey = new int[slots];
        immediate = new int[slots];
        opcode = new byte[slots];
        flags = new byte[slots];
    }

    public Object owner() {
        return owner;
    }

    /** Changes what completions name as their origin; before the first post. */
    public void owner(Object newOwner) {
        owner = newOwner;
    }

    public int depth() {
        return depth;
    }

    /** Index of the arrays that belong to the slot {@code sequence}; engine tables use it too. */
    public int index(long sequence) {
        return (int) sequence & mask;
    }

    /** Number of array slots: depth rounded up to a power of two. */
    public int slots() {
        return mask + 1;
    }

    /**
     * Posting thread: adds a work request.
     *
     * @param op wire opcode of a send request, ignored for receives
     * @return false when the queue is full; nothing was stored then
     */
    public boolean offer(
            long id,
            int op,
            int flagBits,
            @Nullable MemoryRegion local,
            long offset,
            long bytes,
            long remote,
            int key,
            int imm) {
        long t = tail;
        if (t - (long) FREED.getAcquire(this) >= depth) {
            return false;
        }
        int at = index(t);
        wrId[at] = id;
        opcode[at] = (byte) op;
        flags[at] = (byte) flagBits;
        region[at] = local;
        localOffset[at] = offset;
        length[at] = bytes;
        remoteAddress[at] = remote;
        rkey[at] = key;
        immediate[at] = imm;
        TAIL.setRelease(this, t + 1);
        return true;
    }

    /** Sequence number after the last posted request. */
    public long tail() {
        return (long) TAIL.getAcquire(this);
    }

    /** Polling thread: gives back every slot up to and including {@code sequence}. */
    void freeThrough(long sequence) {
        if (sequence + 1 - freed > 0) {
            FREED.setRelease(this, sequence + 1);
        }
    }

    /** Work requests posted and not yet given back by polling. */
    public int outstanding() {
        return (int) (tail() - (long) FREED.getAcquire(this));
    }

    public long wrId(long sequence) {
        return wrId[index(sequence)];
    }

    public int opcode(long sequence) {
        return opcode[index(sequence)];
    }

    public boolean signaled(long sequence) {
        return (flags[index(sequence)] & SIGNALED) != 0;
    }

    public @Nullable MemoryRegion region(long sequence) {
        return region[index(sequence)];
    }

    public long localOffset(long sequence) {
        return localOffset[index(sequence)];
    }

    /** Bytes of the request, 0..2^31. */
    public long length(long sequence) {
        return length[index(sequence)];
    }

    public long remoteAddress(long sequence) {
        return remoteAddress[index(sequence)];
    }

    public int rkey(long sequence) {
        return rkey[index(sequence)];
    }

    public int immediate(long sequence) {
        return immediate[index(sequence)];
    }
}
