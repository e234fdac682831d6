package dev.metaroce.ring;

import dev.metaroce.memory.Access;
import dev.metaroce.memory.MemoryRegion;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/**
 * What a work request says, before it is stored in a {@link WorkQueue}: the common part of {@code
 * SendRequest} and {@code ReceiveRequest}, which have the methods to say it. Belongs to the thread
 * that fills and posts it and is reused from post to post.
 */
public abstract class WorkRequest {
    /** Most pieces of a scatter/gather list. */
    public static final int MAX_SGE = 16;

    /** Longest message, in bytes: 2^31. */
    public static final long MAX_MESSAGE_BYTES = 1L << 31;

    protected long wrId;

    /** Code of the wire operation; 0 for receives, and for a send that has none yet. */
    protected int operation;

    /** Flags of {@link WorkQueue}. */
    protected int flags = WorkQueue.SIGNALED;

    protected long remoteAddress;
    protected int rkey;

    /** The immediate, or the key to invalidate. */
    protected int immediate;

    /** True when payload is to be stored in the local memory. */
    protected boolean stores;

    /** True for a request that stores one 64-bit value. */
    protected boolean atomic;

    /** Operand of a compare-and-swap: the value that must be there. */
    protected long compare;

    /** Operand of an atomic: what to store or to add. */
    protected long swapOrAdd;

    /** Payload to be copied at the post; meaningful with flag INLINE. */
    protected MemorySegment inlineData = MemorySegment.NULL;

    private int pieces;
    private MemoryRegion[] region = new MemoryRegion[1];
    private long[] offset = new long[1];
    private long[] length = new long[1];

    /** Empties the scatter/gather list. */
    protected final void clearPieces() {
        pieces = 0;
        flags &= ~WorkQueue.INLINE;
    }

    /** Adds a piece to the scatter/gather list; what it says is checked at the post. */
    protected final void addPiece(MemoryRegion local, long from, long bytes) {
        if (pieces == MAX_SGE) {
            throw new IllegalArgumentException(
                    "scatter/gather list of more than " + MAX_SGE + " pieces: post two requests");
        }
        if (pieces == region.length) {
            region = Arrays.copyOf(region, 2 * pieces);
            offset = Arrays.copyOf(offset, 2 * pieces);
            length = Arrays.copyOf(length, 2 * pieces);
        }
        flags &= ~WorkQueue.INLINE;
        region[pieces] = local;
        offset[pieces] = from;
        length[pieces] = bytes;
        pieces++;
    }

    final boolean has(int flag) {
        return (flags & flag) != 0;
    }

    /** Pieces of the scatter/gather list; 0 when the payload is inline. */
    final int pieces() {
        return has(WorkQueue.INLINE) ? 0 : pieces;
    }

    final MemoryRegion region(int piece) {
        return region[piece];
    }

    final long offset(int piece) {
        return offset[piece];
    }

    final long length(int piece) {
        return length[piece];
    }

    /** Bytes of the message. */
    final long bytes() {
        long bytes = has(WorkQueue.INLINE) ? inlineData.byteSize() : 0;
        for (int i = 0; i < pieces(); i++) {
            bytes += length[i];
        }
        return bytes;
    }

    /**
     * Checks all that can be known before anything is sent.
     *
     * @throws IllegalArgumentException naming what is wrong, its value and the limit
     */
    final void check(int domain, int maxSge, int maxInline) {
        if (has(WorkQueue.INLINE)) {
            checkInline(maxInline);
            return;
        }
        if (pieces > maxSge) {
            throw new IllegalArgumentException(
                    "scatter/gather list of "
                            + pieces
                            + " pieces: the queue takes at most "
                            + maxSge
                            + (operation == 0 ? " (maxReceiveSge)" : " (maxSendSge)"));
        }
        long bytes = 0;
        for (int i = 0; i < pieces; i++) {
            checkPiece(i, domain);
            bytes += length[i];
            if (bytes > MAX_MESSAGE_BYTES) {
                throw tooLong(bytes);
            }
        }
        if (atomic && bytes != Long.BYTES) {
            throw new IllegalArgumentException(
                    "local memory of " + bytes + " bytes for an atomic request: it takes 8");
        }
    }

    private void checkInline(int maxInline) {
        long bytes = inlineData.byteSize();
        if (stores) {
            throw new IllegalArgumentException(
                    "inline payload for a request that stores what comes: give it local memory");
        }
        if (bytes > maxInline) {
            throw new IllegalArgumentException(
                    "inline payload of "
                            + bytes
                            + " bytes: the queue takes at most "
                            + maxInline
                            + " (maxInline)");
        }
        if (!inlineData.scope().isAlive()) {
            throw new IllegalArgumentException("the arena of the inline payload is closed");
        }
    }

    private static IllegalArgumentException tooLong(long bytes) {
        return new IllegalArgumentException(
                "length " + bytes + " is not in 0.." + MAX_MESSAGE_BYTES);
    }

    private void checkPiece(int piece, int domain) {
        MemoryRegion local = region[piece];
        long from = offset[piece];
        long bytes = length[piece];
        if (bytes < 0 || bytes > MAX_MESSAGE_BYTES) {
            throw tooLong(bytes);
        }
        if (from < 0 || from > local.length() - bytes) {
            throw new IllegalArgumentException(
                    "range "
                            + from
                            + "+"
                            + bytes
                            + " is not inside the region of "
                            + local.length()
                            + " bytes");
        }
        if (!local.isOpen()) {
            throw new IllegalArgumentException(local + " is closed: register the memory again");
        }
        if (!local.segment().scope().isAlive()) {
            throw new IllegalArgumentException(
                    "the arena of " + local + " is closed: close regions before their arena");
        }
        if (local.domain() != domain) {
            throw new IllegalArgumentException(
                    local
                            + " is of protection domain "
                            + local.domain()
                            + ", the queue pair of "
                            + domain
                            + ": register it in the queue pair's");
        }
        if (stores && (local.access() & Access.LOCAL_WRITE) == 0) {
            throw new IllegalArgumentException(
                    local
                            + " is not writable here: register it with LOCAL_WRITE, what comes is"
                            + " stored in it");
        }
        if (local.isVirtual() && pieces > 1) {
            throw new IllegalArgumentException(
                    local + " is virtual: it must be the only piece of a request");
        }
    }
}
