package dev.metaroce.ring;

import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.wire.PacketMemory;
import dev.metaroce.wire.Sealer;

import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Objects;

/**
 * The send or the receive queue of a queue pair, or a receive queue that several of them share: a
 * ring of work requests written by one posting thread and read in place by the engine thread, so
 * that a request is stored once however often its packets are sent.
 *
 * <p>Slots are named by their sequence number (0, 1, 2, ...), which never wraps. A slot passes from
 * the application ({@link #tail}) to the engine and back ({@link #freeThrough}, called when its
 * completion is polled). The posting thread and the polling thread may differ; two threads must not
 * post to one queue at the same time.
 *
 * <p>A request with one piece of memory, the usual one, needs a slot and nothing else. Tables for
 * further pieces, inline payload and the operands of atomics are made when the first request needs
 * them.
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

    /** Most work requests outstanding in a queue. */
    public static final int MAX_DEPTH = 32_768;

    /** Most bytes of inline payload. */
    public static final int MAX_INLINE = 4096;

    /** Send flag: a completion is wanted also on success. */
    public static final int SIGNALED = 1;

    /** Send flag: not before earlier reads and atomics of the queue pair are done. */
    public static final int FENCE = 2;

    /** Send flag: the payload was copied at the post. */
    public static final int INLINE = 4;

    /** Answer of {@link #lend}: the payload has to be copied. */
    public static final long NOT_LENT = 0;

    /** Slots that a queue starts with whose requests come from a shared one. */
    private static final int FIRST_SLOTS = 4;

    private static final long[] NO_LONGS = {};
    private static final int[] NO_INTS = {};
    private static final byte[] NO_BYTES = {};
    private static final @Nullable MemoryRegion[] NO_REGIONS = {};

    private Object owner;
    private final boolean receives;

    /** Flags that every request has. */
    private final int impliedFlags;

    private final int domain;
    private final int depth;
    private final int maxSge;
    private final int maxInline;

    /** The queue that the requests of this one are taken from; null when they are posted here. */
    private final @Nullable WorkQueue shared;

    private int mask;

    // What is in the slots; made with the first request, as many queues never have one
    private long[] wrId = NO_LONGS;
    private @Nullable MemoryRegion[] region = NO_REGIONS;
    private long[] localOffset = NO_LONGS;
    private long[] length = NO_LONGS;

    // Of a send queue only
    private long[] remoteAddress = NO_LONGS;
    private int[] rkey = NO_INTS;
    private int[] immediate = NO_INTS;
    private byte[] opcode = NO_BYTES;
    private byte[] flags = NO_BYTES;

    private @Nullable MorePieces more;

    /** {@link #maxInline} bytes for each slot. */
    private byte @Nullable [] inline;

    /** Two for each slot. */
    private long @Nullable [] operands;

    private long tail;
    private long freed;

    /** The pieces behind the first one, {@code maxSge - 1} places for each slot. */
    private static final class MorePieces {
        final byte[] count;
        final @Nullable MemoryRegion[] region;
        final long[] offset;
        final long[] length;

        MorePieces(int slots, int perSlot) {
            count = new byte[slots];
            region = new MemoryRegion[slots * perSlot];
            offset = new long[slots * perSlot];
            length = new long[slots * perSlot];
        }

        void copy(int at, MorePieces from, int source, int perSlot) {
            int pieces = from.count[source];
            count[at] = from.count[source];
            System.arraycopy(from.region, source * perSlot, region, at * perSlot, pieces);
            System.arraycopy(from.offset, source * perSlot, offset, at * perSlot, pieces);
            System.arraycopy(from.length, source * perSlot, length, at * perSlot, pieces);
        }
    }

    private WorkQueue(
            Object owner,
            int domain,
            int depth,
            int maxSge,
            int maxInline,
            boolean receives,
            boolean signalAll,
            @Nullable WorkQueue shared) {
        range("queue depth", depth, 1, MAX_DEPTH);
        range("scatter/gather limit", maxSge, 1, WorkRequest.MAX_SGE);
        range("inline limit", maxInline, 0, MAX_INLINE);
        this.owner = owner;
        this.domain = domain;
        this.depth = depth;
        this.maxSge = maxSge;
        this.maxInline = maxInline;
        this.receives = receives;
        impliedFlags = receives || signalAll ? SIGNALED : 0;
        this.shared = shared;
        int needed = shared == null ? depth : Math.min(depth, FIRST_SLOTS);
        int slots = needed == 1 ? 1 : Integer.highestOneBit(needed - 1) << 1;
        mask = slots - 1;
    }

    private void makeSlots() {
        int slots = slots();
        wrId = new long[slots];
        region = new MemoryRegion[slots];
        localOffset = new long[slots];
        length = new long[slots];
        if (!receives) {
            remoteAddress = new long[slots];
            rkey = new int[slots];
            immediate = new int[slots];
            opcode = new byte[slots];
            flags = new byte[slots];
        }
    }

    /**
     * A send queue.
     *
     * @param owner what completions name as their origin
     * @param domain id of the protection domain that local memory must be of
     * @param depth outstanding work requests, 1..{@value #MAX_DEPTH}
     * @param maxSge pieces of a request, 1..{@value WorkRequest#MAX_SGE}
     * @param maxInline bytes of inline payload, 0..{@value #MAX_INLINE}
     * @param signalAll every request has a completion, also on success
     */
    public static WorkQueue sends(
            Object owner, int domain, int depth, int maxSge, int maxInline, boolean signalAll) {
        return new WorkQueue(owner, domain, depth, maxSge, maxInline, false, signalAll, null);
    }

    /** A receive queue; see {@link #sends}. */
    public static WorkQueue receives(Object owner, int domain, int depth, int maxSge) {
        return new WorkQueue(owner, domain, depth, maxSge, 0, true, true, null);
    }

    /** A receive queue whose requests the engine takes from a shared one. */
    static WorkQueue takingFrom(WorkQueue shared, Object owner) {
        return new WorkQueue(
                owner, shared.domain, shared.depth, shared.maxSge, 0, true, true, shared);
    }

    private static void range(String what, int value, int min, int max) {
        if (value < min || value > max) {
            throw new IllegalArgumentException(
                    what + " " + value + " is not in " + min + ".." + max);
        }
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

    /** Number of array slots, a power of two: the depth rounded up, or fewer when they grow. */
    public int slots() {
        return mask + 1;
    }

    /**
     * Posting thread: stores a work request. The last free slot is kept for a request with a
     * completion: polling that one frees those of all requests before it, so a queue full of
     * requests that tell nothing can go on.
     *
     * @return QUEUE_FULL when nothing was stored
     * @throws IllegalArgumentException when the request is wrong in itself, saying how; nothing was
     *     stored then
     */
    public PostResult offer(WorkRequest request) {
        //= MR-4.9-2
        request.check(domain, maxSge, maxInline);
        long t = tail;
        int flagBits = request.flags | impliedFlags;
        //= MR-4.9-4
        int limit = (flagBits & SIGNALED) != 0 ? depth : depth - 1;
        if (t - (long) FREED.getAcquire(this) >= limit) {
            return PostResult.QUEUE_FULL;
        }
        store(index(t), request, flagBits);
        TAIL.setRelease(this, t + 1);
        return PostResult.OK;
    }

    private void store(int at, WorkRequest request, int flagBits) {
        if (wrId.length == 0) {
            makeSlots();
        }
        wrId[at] = request.wrId;
        int pieces = request.pieces();
        region[at] = pieces > 0 ? request.region(0) : null;
        localOffset[at] = pieces > 0 ? request.offset(0) : 0;
        length[at] = request.bytes();
        storeMore(at, request, pieces);
        if (receives) {
            return;
        }
        opcode[at] = (byte) request.operation;
        flags[at] = (byte) flagBits;
        remoteAddress[at] = request.remoteAddress;
        rkey[at] = request.rkey;
        immediate[at] = request.immediate;
        //= MR-4.9-3
        if (request.has(INLINE) && length[at] > 0) {
            storeInline(at, request.inlineData);
        }
        if ((request.compare | request.swapOrAdd) != 0 || operands != null) {
            storeOperands(at, request);
        }
    }

    private void storeMore(int at, WorkRequest request, int pieces) {
        MorePieces area = more;
        if (area == null) {
            if (pieces <= 1) {
                return;
            }
            area = new MorePieces(slots(), maxSge - 1);
            more = area;
        }
        area.count[at] = (byte) Math.max(0, pieces - 1);
        int to = at * (maxSge - 1);
        for (int i = 1; i < pieces; i++, to++) {
            area.region[to] = request.region(i);
            area.offset[to] = request.offset(i);
            area.length[to] = request.length(i);
        }
    }

    private void storeInline(int at, MemorySegment data) {
        byte[] area = inline;
        if (area == null) {
            area = new byte[slots() * maxInline];
            inline = area;
        }
        int bytes = (int) length[at];
        MemorySegment.copy(data, ValueLayout.JAVA_BYTE, 0, area, at * maxInline, bytes);
    }

    private void storeOperands(int at, WorkRequest request) {
        long[] area = operands;
        if (area == null) {
            area = new long[2 * slots()];
            operands = area;
        }
        area[2 * at] = request.compare;
        area[2 * at + 1] = request.swapOrAdd;
    }

    /**
     * Engine thread, of a queue that takes from a shared one: adds a copy of a request of that one.
     *
     * @param sequence of the request there
     * @param oldest the oldest request here that is needed; there is room for as many as are not
     *     yet completed
     */
    void copy(long sequence, long oldest) {
        WorkQueue from = Objects.requireNonNull(shared);
        if (wrId.length == 0) {
            makeSlots();
        } else if (tail - oldest == slots()) {
            grow();
        }
        int at = index(tail);
        int source = from.index(sequence);
        wrId[at] = from.wrId[source];
        region[at] = from.region[source];
        localOffset[at] = from.localOffset[source];
        length[at] = from.length[source];
        MorePieces pieces = from.more;
        if (pieces != null) {
            if (more == null) {
                more = new MorePieces(slots(), maxSge - 1);
            }
            more.copy(at, pieces, source, maxSge - 1);
        }
        TAIL.setRelease(this, tail + 1);
    }

    /**
     * Twice the slots. Whichever half a request's slot is in from now on, it finds itself there.
     */
    private void grow() {
        int slots = slots();
        wrId = twice(wrId, new long[2 * slots], slots);
        region = twice(region, new MemoryRegion[2 * slots], slots);
        localOffset = twice(localOffset, new long[2 * slots], slots);
        length = twice(length, new long[2 * slots], slots);
        MorePieces before = more;
        mask = 2 * slots - 1;
        if (before != null) {
            MorePieces after = new MorePieces(2 * slots, maxSge - 1);
            for (int i = 0; i < 2 * slots; i++) {
                after.copy(i, before, i & (slots - 1), maxSge - 1);
            }
            more = after;
        }
    }

    private static <T> T twice(T from, T to, int slots) {
        System.arraycopy(from, 0, to, 0, slots);
        System.arraycopy(from, 0, to, slots, slots);
        return to;
    }

    /** Sequence number after the last posted request. */
    public long tail() {
        return (long) TAIL.getAcquire(this);
    }

    /** Polling thread: gives back every slot up to and including {@code sequence}. */
    void freeThrough(long sequence) {
        WorkQueue posted = shared;
        if (posted != null) {
            // Completed in another order than posted, and polled by several threads perhaps.
            FREED.getAndAdd(posted, 1L);
        } else if (sequence + 1 - freed > 0) {
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

    public boolean fenced(long sequence) {
        return (flags[index(sequence)] & FENCE) != 0;
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

    /** The immediate, or the key to invalidate. */
    public int immediate(long sequence) {
        return immediate[index(sequence)];
    }

    /** Operand of a compare-and-swap: the value that must be there. */
    public long compare(long sequence) {
        long[] area = operands;
        return area == null ? 0 : area[2 * index(sequence)];
    }

    /** Operand of an atomic: what to store or to add. */
    public long swapOrAdd(long sequence) {
        long[] area = operands;
        return area == null ? 0 : area[2 * index(sequence) + 1];
    }

    // Payload

    private int pieces(int at) {
        MorePieces area = more;
        int first = region[at] == null ? 0 : 1;
        return area == null ? first : first + area.count[at];
    }

    private MemoryRegion pieceRegion(int at, int piece) {
        MorePieces area = more;
        MemoryRegion found =
                piece == 0 || area == null
                        ? region[at]
                        : area.region[at * (maxSge - 1) + piece - 1];
        return Objects.requireNonNull(found);
    }

    private long pieceOffset(int at, int piece) {
        MorePieces area = more;
        return piece == 0 || area == null
                ? localOffset[at]
                : area.offset[at * (maxSge - 1) + piece - 1];
    }

    private long pieceLength(int at, int piece) {
        MorePieces area = more;
        if (area == null) {
            return length[at];
        }
        int from = at * (maxSge - 1);
        if (piece > 0) {
            return area.length[from + piece - 1];
        }
        long first = length[at];
        for (int i = 0; i < area.count[at]; i++) {
            first -= area.length[from + i];
        }
        return first;
    }

    /**
     * Puts payload that arrived where the pieces of a request say. Never throws for what a peer
     * sent or an owner closed.
     *
     * @param messageOffset where this payload starts in the message
     * @param from packet memory, {@code bytes} from {@code at} on are inside it
     * @return false when not all of it could be placed: it reaches beyond the request, or a region
     *     is closed
     */
    public boolean scatter(
            long sequence, long messageOffset, PacketMemory from, int at, int bytes) {
        return move(index(sequence), messageOffset, from, at, bytes, true);
    }

    /**
     * Puts payload of a request into a packet.
     *
     * @param messageOffset where the payload of the packet starts in the message
     * @param to packet memory, {@code bytes} from {@code at} on are inside it
     * @return false when not all of it is within reach: a region is closed, or virtual
     */
    public boolean gather(long sequence, long messageOffset, PacketMemory to, int at, int bytes) {
        int slot = index(sequence);
        byte[] area = inline;
        if (area != null && (flags[slot] & INLINE) != 0) {
            to.bytes().put(at, area, slot * maxInline + (int) messageOffset, bytes);
            return true;
        }
        return move(slot, messageOffset, to, at, bytes, false);
    }

    private boolean move(
            int slot, long messageOffset, PacketMemory m, int at, int bytes, boolean place) {
        long skip = messageOffset;
        int moved = 0;
        int pieces = pieces(slot);
        for (int i = 0; i < pieces && moved < bytes; i++) {
            long piece = pieceLength(slot, i);
            if (skip >= piece) {
                skip -= piece;
                continue;
            }
            MemoryRegion local = pieceRegion(slot, i);
            long offset = pieceOffset(slot, i) + skip;
            int part = (int) Math.min(piece - skip, bytes - moved);
            boolean done =
                    place
                            ? MemoryRegion.place(
                                    m, at + moved, local, local.address() + offset, part)
                            : MemoryRegion.fill(local, offset, m, at + moved, part);
            if (!done) {
                return false;
            }
            moved += part;
            skip = 0;
        }
        return moved == bytes;
    }

    /**
     * Leaves the payload of a packet where it is, if one piece has it all, and seals the packet:
     * see {@link MemoryRegion#lend}.
     *
     * @param sealer puts checksums behind packets
     * @param headerBytes bytes of the header, which is in {@code m} from {@code at} on
     * @param worthwhileBytes real payload of fewer bytes is not lent
     * @return the address of the payload, or {@link #NOT_LENT}
     */
    public long lend(
            long sequence,
            long messageOffset,
            Sealer sealer,
            PacketMemory m,
            int at,
            int headerBytes,
            int bytes,
            int worthwhileBytes) {
        int slot = index(sequence);
        long skip = messageOffset;
        int pieces = pieces(slot);
        int piece = 0;
        while (piece < pieces && skip >= pieceLength(slot, piece)) {
            skip -= pieceLength(slot, piece);
            piece++;
        }
        if (bytes == 0 || piece == pieces || pieceLength(slot, piece) - skip < bytes) {
            return NOT_LENT;
        }
        MemoryRegion local = pieceRegion(slot, piece);
        long from = pieceOffset(slot, piece) + skip;
        boolean lent =
                (bytes >= worthwhileBytes || local.isVirtual())
                        && MemoryRegion.lend(local, from, sealer, m, at, headerBytes, bytes);
        return lent ? local.address() + from : NOT_LENT;
    }
}
