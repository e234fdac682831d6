package dev.metaroce.memory;

import dev.metaroce.wire.PacketMemory;
import dev.metaroce.wire.Sealer;

import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;

/**
 * Memory of the application that the engine may read and write for a peer that knows its key.
 *
 * <p>Made by {@link RegionTable#register} and closed by its owner, on any thread. When {@link
 * #close} returns, the engine neither reads nor writes the memory any more and the key is unknown;
 * the memory itself stays, it belongs to its arena. The engine thread looks a region up anew in
 * every turn and keeps no reference across turns without asking {@link #isOpen} again.
 *
 * <p>A <em>virtual</em> region is addresses without bytes, for simulations that move lengths and no
 * payload. Keys, rights and bounds hold for it as for any other; what is written to it is dropped,
 * and packets are only sent from it by a port that gathers.
 */
public final class MemoryRegion implements AutoCloseable {
    private static final VarHandle VALUE = ValueLayout.JAVA_LONG.varHandle();
    private static final ByteBuffer NOTHING = ByteBuffer.allocate(0);

    private final RegionTable table;
    private final MemorySegment segment;
    private final long address;
    private final long length;
    private final int rkey;
    private final int access;
    private final int domain;
    private final boolean virtual;
    private final @Nullable ByteBuffer view;
    private volatile boolean open = true;
    private volatile boolean revoked;

    /** A region of bytes. */
    MemoryRegion(RegionTable table, MemorySegment segment, int rkey, int access, int domain) {
        this.table = table;
        this.segment = segment;
        this.address = segment.address();
        this.length = segment.byteSize();
        this.rkey = rkey;
        this.access = access;
        this.domain = domain;
        virtual = false;
        view = length <= Integer.MAX_VALUE ? segment.asByteBuffer() : null;
    }

    /** A virtual region. */
    MemoryRegion(RegionTable table, long address, long length, int rkey, int access, int domain) {
        this.table = table;
        this.segment = MemorySegment.NULL;
        this.address = address;
        this.length = length;
        this.rkey = rkey;
        this.access = access;
        this.domain = domain;
        virtual = true;
        view = null;
    }

    /** The registered memory; of a virtual region, a segment of no bytes. */
    public MemorySegment segment() {
        return segment;
    }

    /** True when there are addresses, but no bytes. */
    public boolean isVirtual() {
        return virtual;
    }

    /** Virtual address of byte 0, as peers are told. */
    public long address() {
        return address;
    }

    /** Bytes of the region, 0 or more. */
    public long length() {
        return length;
    }

    /** The key, never 0. */
    public int rkey() {
        return rkey;
    }

    /** Flags of {@link Access}. */
    public int access() {
        return access;
    }

    /** Id of the protection domain. */
    public int domain() {
        return domain;
    }

    /** False from the moment {@link #close} was called. */
    public boolean isOpen() {
        return open;
    }

    /**
     * Takes the remote rights: the key never works again. The owner's device goes on using the
     * region until it is closed. Engine thread, on behalf of a peer that had the key.
     */
    public void revoke() {
        revoked = true;
    }

    /** True when a peer's SEND took the remote rights. */
    public boolean isRevoked() {
        return revoked;
    }

    /** What to tell a peer. */
    public RegionDescriptor descriptor() {
        return new RegionDescriptor(address, rkey, length);
    }

    /**
     * Deregisters the region and waits until the engine's current turn is over. Closing again does
     * the same wait and nothing else.
     */
    @Override
    public void close() {
        open = false;
        //= MR-4.1-6
        table.deregister(this);
    }

    /**
     * Copies payload into a region; none into a virtual one. Never throws for what a peer sent or
     * an owner closed.
     *
     * @param from packet memory, {@code length} bytes from {@code offset} are inside it
     * @param va virtual address of the first byte to write
     * @param length 0 or more
     * @return false, with nothing written, when the range is outside the region, the region is
     *     closed or not writable, or its arena was closed; also when the payload is elided and the
     *     region is not virtual
     */
    public static boolean place(
            PacketMemory from, int offset, MemoryRegion to, long va, int length) {
        //= MR-6-2
        if (!to.open
                || (to.access & Access.ANY_WRITE) == 0
                || !RegionTable.covers(to, va, length)) {
            return false;
        }
        if (to.virtual) {
            return true;
        }
        return from.elidedBytes() == 0
                && copy(from.segment(), offset, to.segment, va - to.address, length);
    }

    /**
     * Copies bytes of a region into a packet.
     *
     * @param localOffset first byte, counted from the start of the region
     * @param to packet memory, {@code length} bytes from {@code offset} are inside it
     * @param length 0 or more
     * @return false when the range is outside the region, the region is closed or virtual, or its
     *     arena was closed
     */
    public static boolean fill(
            MemoryRegion from, long localOffset, PacketMemory to, int offset, int length) {
        if (!from.open
                || from.virtual
                || !RegionTable.covers(from, from.address + localOffset, length)) {
            return false;
        }
        return copy(from.segment, localOffset, to.segment(), offset, length);
    }

    /**
     * Seals a packet whose payload stays in the region: like {@link #fill}, but the sender gathers
     * the payload from here. From a virtual region it gathers nothing. Engine thread.
     *
     * @param localOffset first byte, counted from the start of the region
     * @param sealer puts checksums behind packets
     * @param to packet memory with the header, {@code headerBytes} from {@code at} on
     * @return false when the range is outside the region, the region is closed or longer than
     *     2^31-1 bytes, or its arena was closed
     */
    public static boolean lend(
            MemoryRegion from,
            long localOffset,
            Sealer sealer,
            PacketMemory to,
            int at,
            int headerBytes,
            int length) {
        if (!from.open || !RegionTable.covers(from, from.address + localOffset, length)) {
            return false;
        }
        if (from.virtual) {
            sealer.seal(to, at, headerBytes, length, NOTHING);
            return true;
        }
        ByteBuffer payload = from.view;
        if (payload == null) {
            return false;
        }
        try {
            payload.limit((int) localOffset + length).position((int) localOffset);
            sealer.seal(to, at, headerBytes, length, payload);
            return true;
        } catch (IllegalStateException | WrongThreadException e) {
            return false;
        }
    }

    /**
     * Adds to a 64-bit value, or swaps it, in one step for every thread of this process. Values are
     * in the byte order of the machine. A virtual region gives 0 and keeps nothing.
     *
     * @param va virtual address of the value, a multiple of 8
     * @param swaps true to store {@code operand} when {@code compare} is there, false to add it
     * @param old receives the value before, at {@code oldAt}
     * @return false, with nothing changed, when the value is outside the region, the region is
     *     closed or not writable, or its arena was closed
     */
    public static boolean atomic(
            MemoryRegion to,
            long va,
            boolean swaps,
            long operand,
            long compare,
            long[] old,
            int oldAt) {
        if (!to.open
                || (to.access & Access.ANY_WRITE) == 0
                || !RegionTable.covers(to, va, Long.BYTES)) {
            return false;
        }
        if (to.virtual) {
            old[oldAt] = 0;
            return true;
        }
        long offset = va - to.address;
        try {
            //= MR-4.7-2
            old[oldAt] =
                    swaps
                            ? (long) VALUE.compareAndExchange(to.segment, offset, compare, operand)
                            : (long) VALUE.getAndAdd(to.segment, offset, operand);
            return true;
        } catch (IllegalStateException | WrongThreadException e) {
            return false;
        }
    }

    @Override
    public String toString() {
        return "region 0x" + Long.toHexString(address) + "+" + length;
    }

    private static boolean copy(
            MemorySegment from, long fromOffset, MemorySegment to, long toOffset, long bytes) {
        try {
            MemorySegment.copy(from, fromOffset, to, toOffset, bytes);
            return true;
        } catch (IllegalStateException | WrongThreadException e) {
            // The owner closed the arena under a registered region, or took a confined arena for
            // memory that another thread serves. Either way the memory is out of reach.
            return false;
        }
    }
}
