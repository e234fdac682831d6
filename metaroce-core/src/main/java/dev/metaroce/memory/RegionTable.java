package dev.metaroce.memory;

import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.function.IntSupplier;

/**
 * The registered regions of one device by key, and the access check.
 *
 * <p>Application threads register and deregister under a lock; the engine thread looks up without
 * one and without allocating. The table is open-addressed, at most half full, and a region is
 * published by one store of its reference, so a reader never sees a key without its region. Inside
 * one array a free place only ever becomes a taken one (removal leaves a marker), so a chain of
 * places that leads to a present key is never broken for a concurrent reader. A new array replaces
 * the old one whole when it fills up.
 *
 * <p>Keys are 32 random bits, never 0, unlike every key in use and unlike the last {@value
 * RetiredKeys#DISTANCE} keys that were freed. Guessing one is a matter of luck, not of arithmetic;
 * it is no substitute for authentication.
 */
public final class RegionTable {
    private static final VarHandle PLACE =
            MethodHandles.arrayElementVarHandle(MemoryRegion[].class);

    private static final int INITIAL_PLACES = 16;
    private static final int MAX_DRAWS = 1_000;
    private static final int HASH_FACTOR = 0x9E37_79B9;

    /** Where virtual regions start: above every address of a process. */
    private static final long VIRTUAL_ADDRESSES = 1L << 62;

    /** Virtual regions start at multiples of this, so that none begins where another ends. */
    private static final long VIRTUAL_STEP = 4096;

    private final IntSupplier keySource;
    private final EngineGate gate = new EngineGate();
    private final RetiredKeys retired = new RetiredKeys();

    /** Stands where a region was; its key is 0, which no region has. */
    private final MemoryRegion removed;

    private volatile @Nullable MemoryRegion[] places = new MemoryRegion[INITIAL_PLACES];
    private int taken;
    private int live;
    private long nextVirtual = VIRTUAL_ADDRESSES;

    /**
     * @param keySource gives random 32-bit keys; a secure generator in production, a seeded one in
     *     simulation. Called under the lock of the table.
     */
    public RegionTable(IntSupplier keySource) {
        this.keySource = keySource;
        this.removed = new MemoryRegion(this, 0, 0, 0, 0, 0);
    }

    /** The gate that the engine thread passes around every turn. */
    public EngineGate gate() {
        return gate;
    }

    /**
     * Registers memory; control plane, any thread. The engine thread must be able to access the
     * segment: an automatic, shared or global arena, or a confined one of the engine thread itself.
     * A segment of length 0 is accepted and covers ranges of length 0 only.
     *
     * @param segment native memory that stays alive until the region is closed
     * @param access flags of {@link Access}; reading by the owner's device is always allowed
     * @param domain id of the protection domain
     * @throws IllegalArgumentException when the memory cannot be registered, saying why and what to
     *     do
     */
    public MemoryRegion register(MemorySegment segment, int access, int domain) {
        requireRegistrable(segment, access);
        synchronized (this) {
            makeRoom();
            MemoryRegion region = new MemoryRegion(this, segment, newKey(), access, domain);
            insert(places, region);
            live++;
            return region;
        }
    }

    /**
     * Registers addresses without bytes, for simulations; control plane, any thread. Addresses are
     * above those of any process and belong to one region of this table only, also after it was
     * closed.
     *
     * @param length 0 or more bytes; all virtual regions of a table, open and closed, have 2^62
     *     addresses
     * @param access flags of {@link Access}
     * @param domain id of the protection domain
     * @throws IllegalArgumentException for a negative length, or one beyond the addresses left
     */
    public MemoryRegion registerVirtual(long length, int access, int domain) {
        requireFlags(access);
        synchronized (this) {
            long left = Long.MAX_VALUE - VIRTUAL_STEP - nextVirtual;
            if (length < 0 || length > left) {
                throw new IllegalArgumentException(
                        "virtual region of " + length + " bytes: must be in 0.." + left);
            }
            makeRoom();
            long address = nextVirtual;
            nextVirtual += (length / VIRTUAL_STEP + 1) * VIRTUAL_STEP;
            MemoryRegion region = new MemoryRegion(this, address, length, newKey(), access, domain);
            insert(places, region);
            live++;
            return region;
        }
    }

    private static void requireFlags(int access) {
        if ((access & ~Access.ALL) != 0) {
            throw new IllegalArgumentException(
                    "access " + Access.describe(access) + ": use the flags of Access only");
        }
    }

    private static void requireRegistrable(MemorySegment segment, int access) {
        requireFlags(access);
        if (!segment.isNative()) {
            throw new IllegalArgumentException(
                    "segment is on the heap, where the collector moves it: allocate it from an"
                            + " Arena, for example Arena.ofShared().allocate(bytes, 64)");
        }
        if (!segment.scope().isAlive()) {
            throw new IllegalArgumentException(
                    "the arena of the segment is closed: register memory of an open arena and"
                            + " close the region before the arena");
        }
        if (segment.isReadOnly() && (access & Access.ANY_WRITE) != 0) {
            throw new IllegalArgumentException(
                    "segment is read-only but access is "
                            + Access.describe(access)
                            + ": ask for REMOTE_READ only, or register a writable segment");
        }
    }

    /** Removes the region, then waits until no turn of the engine can be using it. */
    void deregister(MemoryRegion region) {
        synchronized (this) {
            remove(region);
        }
        gate.awaitQuiescent(gate.isInTurnOfCaller());
    }

    /** Regions that are registered now. */
    public synchronized int live() {
        return live;
    }

    /** The region of a key, or null; engine thread. */
    public @Nullable MemoryRegion lookup(int rkey) {
        if (rkey == 0) {
            return null;
        }
        @Nullable MemoryRegion[] now = places;
        int mask = now.length - 1;
        int at = firstPlace(rkey, mask);
        for (int i = 0; i <= mask; i++) {
            MemoryRegion region = at(now, at);
            if (region == null) {
                return null;
            }
            if (region.rkey() == rkey) {
                return region;
            }
            at = (at + 1) & mask;
        }
        return null;
    }

    /**
     * True when {@code length} bytes from {@code va} lie inside the region, for every value of
     * both. A range of length 0 may also stand right behind the last byte.
     */
    public static boolean covers(MemoryRegion r, long va, long length) {
        // The offset is taken modulo 2^64: an address below the region becomes a huge offset, and
        // nothing is added that could overflow.
        return length >= 0
                && length <= r.length()
                && Long.compareUnsigned(va - r.address(), r.length() - length) <= 0;
    }

    /**
     * The access check of one operation. It is made for a length of 0 too; a caller to whom the key
     * of an empty operation does not matter skips it.
     *
     * @param r what {@link #lookup} gave
     * @param neededAccess flags of {@link Access}, all of which the region must grant
     * @param domain protection domain of the operation
     */
    public static AccessVerdict check(
            @Nullable MemoryRegion r, int neededAccess, int domain, long va, long length) {
        if (r == null || !r.isOpen() || r.isRevoked()) {
            return AccessVerdict.UNKNOWN_KEY;
        }
        if (r.domain() != domain) {
            return AccessVerdict.DOMAIN;
        }
        if ((r.access() & neededAccess) != neededAccess) {
            return AccessVerdict.RIGHTS;
        }
        return covers(r, va, length) ? AccessVerdict.OK : AccessVerdict.BOUNDS;
    }

    private int newKey() {
        for (int draw = 0; draw < MAX_DRAWS; draw++) {
            int key = keySource.getAsInt();
            //= MR-4.1-5
            if (key != 0 && lookup(key) == null && !retired.contains(key)) {
                return key;
            }
        }
        throw new IllegalStateException(
                "no unused key in " + MAX_DRAWS + " draws: the key source is not random");
    }

    /** Keeps at least half of the places free, counting markers of removed regions as taken. */
    private void makeRoom() {
        @Nullable MemoryRegion[] old = places;
        if ((taken + 1) * 2 <= old.length) {
            return;
        }
        int size = INITIAL_PLACES;
        while (size < (live + 1) * 4) {
            size *= 2;
        }
        @Nullable MemoryRegion[] fresh = new MemoryRegion[size];
        taken = 0;
        for (MemoryRegion region : old) {
            if (region != null && region != removed) {
                insert(fresh, region);
            }
        }
        places = fresh;
    }

    private void insert(@Nullable MemoryRegion[] into, MemoryRegion region) {
        int mask = into.length - 1;
        int at = firstPlace(region.rkey(), mask);
        while (into[at] != null) {
            at = (at + 1) & mask;
        }
        PLACE.setRelease(into, at, region);
        taken++;
    }

    private void remove(MemoryRegion region) {
        @Nullable MemoryRegion[] now = places;
        int mask = now.length - 1;
        int at = firstPlace(region.rkey(), mask);
        while (now[at] != null) {
            if (now[at] == region) {
                PLACE.setRelease(now, at, removed);
                live--;
                retired.add(region.rkey());
                return;
            }
            at = (at + 1) & mask;
        }
        // Not there: it was closed before.
    }

    private static @Nullable MemoryRegion at(@Nullable MemoryRegion[] places, int index) {
        return (MemoryRegion) PLACE.getAcquire(places, index);
    }

    private static int firstPlace(int rkey, int mask) {
        return ((rkey * HASH_FACTOR) >>> 7) & mask;
    }
}
