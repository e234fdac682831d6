package dev.metaroce.transport;

import dev.metaroce.util.IntRing;
import dev.metaroce.util.Invariant;

import org.jspecify.annotations.Nullable;

import java.util.Arrays;

/**
 * The receiver's allocator of context ids (CIDs): free list, epochs, quarantine and the queue of
 * peers that wait for a slot. It decides and answers; it never sends and never reads a clock.
 *
 * <p>A slot and its epoch form the <em>token</em> that a holder's packets carry. The pool promises
 * that no token returns while packets of its last holder can still be in the network.
 *
 * <p>Owned by the engine thread. Memory comes with the slots that were granted and with the waiters
 * there were at once; a pool that has seen its most of both allocates no more. Order of calls per
 * slot:
 *
 * <pre>{@code
 * long d = pool.request(nowNs, peer, host, ticket, isShort);   // GRANT, QUEUED or DENY
 * pool.activate(CidPool.cid(d));                   // first DATA
 * pool.reclaim(CidPool.cid(d));                    // when others wait
 * pool.release(nowNs, CidPool.cid(d));             // or expire(...) when the holder went silent
 * for (long g; (g = pool.pollGrant(nowNs)) != CidPool.NONE; ) { ... }   // push the next GRANT
 * }</pre>
 *
 * <p>Who waits is served in the order of asking, with two exceptions. A <em>short</em> request goes
 * before the others while fewer than {@code shortSlots} slots are taken that were granted so. And
 * no host gets a slot while it holds half of them and another host waits; as a slot is free then,
 * there is one such host at most.
 *
 * <p>Costs: a grant at once and a release take constant time; whatever touches the queue scans the
 * waiters, and {@link #pollGrant} the slots too, so {@code maxWaiters} and {@code capacity} bound
 * them. Times are compared by difference and may wrap.
 */
public final class CidPool {
    /** Most slots a pool can have: a CID is 8 bits on the wire. */
    public static final int MAX_CAPACITY = 256;

    /** What {@link #pollGrant} answers when there is nobody to grant to, or nothing to grant. */
    public static final long NONE = -1;

    /** {@link #load()} when no CID can be granted. */
    public static final int LOAD_EXHAUSTED = 255;

    private static final int EPOCH_MASK = 0xFF;
    private static final int HALF_BIT = 0x80;
    private static final int LOAD_SCALE = 254;

    private static final Kind[] KINDS = Kind.values();
    private static final DenyCause[] CAUSES = DenyCause.values();

    /** The three answers to a request. */
    public enum Kind {
        GRANT,
        QUEUED,
        DENY
    }

    /** Why a request was refused. */
    public enum DenyCause {
        /** {@code maxWaiters} wait already. */
        QUEUE_FULL,
        /** {@code maxWaitersPerPeer} of this peer wait already. */
        PEER_CAP,
        /** Requests of this host fill half of the queue already. */
        HOST_CAP,
        /** The policy is {@link ExhaustionPolicy#DENY}. */
        POLICY
    }

    private static final int FIRST_SLOTS = 4;

    private final int capacity;
    private final int maxWaiters;
    private final int maxWaitersPerPeer;
    private final long packetLifetimeNs;
    private final ExhaustionPolicy policy;
    private final int firstEpoch;
    private final int shortSlots;

    // One row per slot that was ever granted; these are the lowest ones.
    private SlotState[] state = new SlotState[FIRST_SLOTS];
    private byte[] epoch = new byte[FIRST_SLOTS];
    private long[] halfEnteredNs = new long[FIRST_SLOTS];
    private long[] quarantineEndNs = new long[FIRST_SLOTS];
    private int[] holder = new int[FIRST_SLOTS];
    private boolean[] grantedShort = new boolean[FIRST_SLOTS];
    private int used;

    // Slots of those: given back and free, and in quarantine, which is sorted by end time.
    private final IntRing freeRing = new IntRing();
    private final IntRing quarantineRing = new IntRing();

    // Waiters, oldest first. The lowest bit beside a ticket says that its request is short.
    private final IntRing waiterTicket = new IntRing();
    private final IntRing waiterPeer = new IntRing();
    private final IntRing waiterHost = new IntRing();

    private int inUse;

    /** Slots of short requests that were preferred, from their grant until they are free again. */
    private int shortTaken;

    /**
     * @param capacity number of slots, 1..256
     * @param maxWaiters longest queue, 0 or more
     * @param maxWaitersPerPeer most waiters of one peer, 1 or more
     * @param packetLifetimeNs longest time a packet can survive in the network, 0 or more
     * @param policy what happens when no slot is free
     * @param firstEpoch epoch of the first grant of every slot, 0..255
     * @param shortSlots most slots held by requests that were preferred for being short, 0 or more;
     *     one slot at least is left for the others
     * @throws IllegalArgumentException naming the argument that is out of range
     */
    public CidPool(
            int capacity,
            int maxWaiters,
            int maxWaitersPerPeer,
            long packetLifetimeNs,
            ExhaustionPolicy policy,
            int firstEpoch,
            int shortSlots) {
        require(capacity >= 1 && capacity <= MAX_CAPACITY, "capacity", capacity, "1..256");
        require(maxWaiters >= 0, "maxWaiters", maxWaiters, "0 or more");
        require(maxWaitersPerPeer >= 1, "maxWaitersPerPeer", maxWaitersPerPeer, "1 or more");
        require(packetLifetimeNs >= 0, "packetLifetimeNs", packetLifetimeNs, "0 or more");
        require(firstEpoch >= 0 && firstEpoch <= EPOCH_MASK, "firstEpoch", firstEpoch, "0..255");
        require(shortSlots >= 0, "shortSlots", shortSlots, "0 or more");
        this.capacity = capacity;
        this.maxWaiters = maxWaiters;
        this.maxWaitersPerPeer = maxWaitersPerPeer;
        this.packetLifetimeNs = packetLifetimeNs;
        this.policy = policy;
        this.firstEpoch = firstEpoch;
        this.shortSlots = Math.min(shortSlots, capacity - 1);
    }

    /** As the longer form, with epochs that start at 0 and no slots for short requests. */
    public CidPool(
            int capacity,
            int maxWaiters,
            int maxWaitersPerPeer,
            long packetLifetimeNs,
            ExhaustionPolicy policy) {
        this(capacity, maxWaiters, maxWaitersPerPeer, packetLifetimeNs, policy, 0, 0);
    }

    private static void require(boolean ok, String name, long value, String range) {
        if (!ok) {
            throw new IllegalArgumentException(
                    "CidPool: " + name + " " + value + " is not " + range);
        }
    }

    // ---- decisions: kind 8 | cid or cause 8 | epoch 8 | unused 8 | position or ticket 32 ----

    // Ordinals are safe here: a decision never leaves the process.
    @SuppressWarnings("EnumOrdinal")
    private static long pack(Kind kind, int detail, int epoch, int high) {
        return ((long) high << 32) | (epoch << 16) | (detail << 8) | kind.ordinal();
    }

    /** Which of the three answers {@code decision} is. */
    public static Kind kind(long decision) {
        return KINDS[(int) decision & 0xFF];
    }

    /** The slot of a GRANT. */
    public static int cid(long decision) {
        return (int) (decision >>> 8) & 0xFF;
    }

    /** The epoch of a GRANT. */
    public static int epoch(long decision) {
        return (int) (decision >>> 16) & 0xFF;
    }

    /** The place in the queue of a QUEUED request, 1 for the head. */
    public static int position(long decision) {
        return (int) (decision >>> 32);
    }

    /** The reason of a DENY. */
    public static DenyCause cause(long decision) {
        return CAUSES[(int) (decision >>> 8) & 0xFF];
    }

    /** The caller's tag of the waiter that {@link #pollGrant} served. */
    public static int ticket(long grant) {
        return (int) (grant >>> 32);
    }

    // ---- requests and waiters ----

    /**
     * Decides on a request that is not a repetition: grants at once, queues or refuses.
     *
     * @param peer any int that stands for the requesting endpoint, for the cap of its waiters
     * @param host any int that stands for its host, for shares of hosts
     * @param ticket the caller's tag of this request, 0..2^30-1, unlike that of every waiter
     * @param isShort the request is for a short message and may be preferred
     * @return a decision, to be read with {@link #kind} and the accessors beside it
     */
    public long request(long nowNs, int peer, int host, int ticket, boolean isShort) {
        onTimeout(nowNs);
        //= MR-3.5-2
        if (waiterTicket.isEmpty() && free() > 0) {
            int cid = grant(nowNs, host, false);
            return pack(Kind.GRANT, cid, epoch(cid), 0);
        }
        //= MR-3.5-3
        if (policy == ExhaustionPolicy.DENY) {
            return deny(DenyCause.POLICY);
        }
        // The full queue comes first: under a flood the answer must cost nothing.
        //= MR-3.5-4
        if (waiting() == maxWaiters) {
            return deny(DenyCause.QUEUE_FULL);
        }
        DenyCause cap = capReached(peer, host, ticket);
        if (cap != null) {
            return deny(cap);
        }
        waiterTicket.add(ticket << 1 | (isShort ? 1 : 0));
        waiterPeer.add(peer);
        waiterHost.add(host);
        return pack(Kind.QUEUED, 0, 0, position(ticket));
    }

    @SuppressWarnings("EnumOrdinal")
    private static long deny(DenyCause cause) {
        return pack(Kind.DENY, cause.ordinal(), 0, 0);
    }

    /** Which cap keeps a request from waiting; null for none. */
    private @Nullable DenyCause capReached(int peer, int host, int newTicket) {
        Invariant.check(newTicket >= 0, "a ticket is 0 or more", newTicket, 0);
        int ofPeer = 0;
        int ofHost = 0;
        for (int i = 0; i < waiting(); i++) {
            Invariant.check(ticketAt(i) != newTicket, "one waiter per ticket", newTicket, i);
            ofPeer += waiterPeer.get(i) == peer ? 1 : 0;
            ofHost += waiterHost.get(i) == host ? 1 : 0;
        }
        //= MR-3.5-5
        if (ofPeer >= maxWaitersPerPeer) {
            return DenyCause.PEER_CAP;
        }
        //= MR-3.8-6
        return ofHost >= (maxWaiters + 1) / 2 ? DenyCause.HOST_CAP : null;
    }

    private int ticketAt(int at) {
        return waiterTicket.get(at) >>> 1;
    }

    private boolean isShortAt(int at) {
        return (waiterTicket.get(at) & 1) != 0;
    }

    /**
     * Grants a usable slot to the waiter whose turn it is.
     *
     * @return the grant ({@link #ticket}, {@link #cid(long)}, {@link #epoch(long)}), or {@link
     *     #NONE} when nobody waits or no slot is usable
     */
    public long pollGrant(long nowNs) {
        onTimeout(nowNs);
        if (waiterTicket.isEmpty() || free() == 0) {
            return NONE;
        }
        boolean preferShort = shortTaken < shortSlots;
        int at = next(preferShort, false, 0);
        //= MR-3.8-7
        if (holdsHalf(waiterHost.get(at))) {
            int other = next(preferShort, true, waiterHost.get(at));
            at = other < 0 ? at : other;
        }
        int ticket = ticketAt(at);
        int cid = grant(nowNs, waiterHost.get(at), preferShort && isShortAt(at));
        removeAt(at);
        return pack(Kind.GRANT, cid, epoch(cid), ticket);
    }

    /** The waiter to be served next, but for those of one host when asked so; -1 for none. */
    private int next(boolean preferShort, boolean passOver, int host) {
        int first = -1;
        for (int i = 0; i < waiting(); i++) {
            if (passOver && waiterHost.get(i) == host) {
                continue;
            }
            //= MR-3.8-3
            if (!preferShort || isShortAt(i)) {
                return i;
            }
            first = first < 0 ? i : first;
        }
        return first;
    }

    private boolean holdsHalf(int host) {
        int held = 0;
        for (int cid = 0; cid < used; cid++) {
            held += holder[cid] == host && isHeld(state[cid]) ? 1 : 0;
        }
        return 2 * held >= capacity;
    }

    private void removeAt(int at) {
        waiterTicket.remove(at);
        waiterPeer.remove(at);
        waiterHost.remove(at);
    }

    /** Takes a waiter out of the queue; those behind it move up. False when it does not wait. */
    public boolean cancelWaiter(int ticket) {
        for (int i = 0; i < waiting(); i++) {
            if (ticketAt(i) == ticket) {
                removeAt(i);
                return true;
            }
        }
        return false;
    }

    /**
     * Place of a waiter among those that asked before it and go before it: of a short one among the
     * short ones, if they are preferred. 1 for the head, 0 when it does not wait.
     */
    public int position(int ticket) {
        int shortBefore = 0;
        for (int i = 0; i < waiting(); i++) {
            if (ticketAt(i) == ticket) {
                //= MR-3.8-4
                return 1 + (shortSlots > 0 && isShortAt(i) ? shortBefore : i);
            }
            shortBefore += isShortAt(i) ? 1 : 0;
        }
        return 0;
    }

    // ---- slots ----

    private int grant(long nowNs, int host, boolean asShort) {
        //= MR-3.1-4
        // Slots that nobody had yet come before those that were given back.
        boolean fresh = used < capacity;
        int cid = fresh ? addSlot() : freeRing.poll();
        Invariant.check(state(cid) == SlotState.FREE, "a granted slot was free", cid, inUse);
        //= MR-3.1-5
        int next = (epoch[cid] + 1) & EPOCH_MASK;
        if (fresh || startsHalf(next)) {
            Invariant.check(
                    fresh || nowNs - halfEnteredNs[cid] >= packetLifetimeNs,
                    "half of the epoch space outlived its packets",
                    cid,
                    next);
            halfEnteredNs[cid] = nowNs;
        }
        epoch[cid] = (byte) next;
        state[cid] = SlotState.GRANTED;
        holder[cid] = host;
        grantedShort[cid] = asShort;
        shortTaken += asShort ? 1 : 0;
        inUse++;
        checkSums();
        return cid;
    }

    /** The next slot that was never granted. */
    private int addSlot() {
        int cid = used;
        if (cid == state.length) {
            int slots = Math.min(capacity, 2 * cid);
            state = Arrays.copyOf(state, slots);
            epoch = Arrays.copyOf(epoch, slots);
            halfEnteredNs = Arrays.copyOf(halfEnteredNs, slots);
            quarantineEndNs = Arrays.copyOf(quarantineEndNs, slots);
            holder = Arrays.copyOf(holder, slots);
            grantedShort = Arrays.copyOf(grantedShort, slots);
        }
        state[cid] = SlotState.FREE;
        epoch[cid] = (byte) (firstEpoch - 1);
        used++;
        return cid;
    }

    private static boolean startsHalf(int epoch) {
        return (epoch & (HALF_BIT - 1)) == 0;
    }

    /** The holder's first DATA packet was accepted. Later ones may call it again. */
    public void activate(int cid) {
        SlotState before = state(cid);
        Invariant.check(isHeld(before), "an activated slot is held", cid, inUse);
        if (before == SlotState.GRANTED) {
            state[cid] = SlotState.ACTIVE;
        }
    }

    /** The holder was asked to give the slot back. */
    public void reclaim(int cid) {
        Invariant.check(isHeld(state(cid)), "a reclaimed slot is held", cid, inUse);
        state[cid] = SlotState.RECLAIMING;
    }

    /**
     * The holder gave the slot back and everything it sent was acknowledged. The slot goes to the
     * tail of the free list, or into quarantine when its next epoch may not be used yet.
     */
    public void release(long nowNs, int cid) {
        leave(cid);
        // The half rule: a slot enters the other half of the epoch space (0..127, 128..255) only
        // when packetLifetimeNs have passed since it entered the half it is in. Why that is enough:
        // a token of half H can return only after the slot went through all of the other half H'.
        // It entered H' after the last release of every token of H, since a slot is granted only
        // when it is free, and it re-enters H at least packetLifetimeNs after it entered H'. So
        // every token rests that long. One time per slot does the work of 256. It costs a wait
        // only when a slot is granted 128 times within one packet lifetime.
        //= MR-3.1-6
        long halfEndNs = halfEnteredNs[cid] + packetLifetimeNs;
        if (startsHalf((epoch[cid] + 1) & EPOCH_MASK) && halfEndNs - nowNs > 0) {
            quarantine(cid, halfEndNs);
        } else {
            addFree(cid);
        }
        checkSums();
    }

    /**
     * The slot was freed by a time-out, so packets of its holder may still be on their way: it
     * rests for a whole packet lifetime. That end is never before the one of the half rule, because
     * the slot entered its half in the past.
     */
    public void expire(long nowNs, int cid) {
        leave(cid);
        //= MR-3.1-7
        quarantine(cid, nowNs + packetLifetimeNs);
        checkSums();
    }

    private void leave(int cid) {
        Invariant.check(isHeld(state(cid)), "a freed slot was held", cid, inUse);
        inUse--;
    }

    private static boolean isHeld(SlotState state) {
        return switch (state) {
            case GRANTED, ACTIVE, RECLAIMING -> true;
            case FREE, QUARANTINED -> false;
        };
    }

    private void addFree(int cid) {
        state[cid] = SlotState.FREE;
        // Not before: else short requests that are never used would take one slot after the other
        // into quarantine, and nobody else had a turn.
        shortTaken -= grantedShort[cid] ? 1 : 0;
        freeRing.add(cid);
    }

    /** Inserts behind every slot that ends no later, so equal ends keep their order of arrival. */
    private void quarantine(int cid, long endNs) {
        state[cid] = SlotState.QUARANTINED;
        quarantineEndNs[cid] = endNs;
        int hole = quarantineRing.size();
        quarantineRing.add(cid);
        while (hole > 0 && quarantineEndNs[quarantineRing.get(hole - 1)] - endNs > 0) {
            quarantineRing.set(hole, quarantineRing.get(hole - 1));
            hole--;
        }
        quarantineRing.set(hole, cid);
    }

    /** Moves slots whose quarantine is over to the free list, in the order of their end times. */
    public void onTimeout(long nowNs) {
        while (!quarantineRing.isEmpty() && nextDeadlineNs() - nowNs <= 0) {
            addFree(quarantineRing.poll());
        }
        checkSums();
    }

    /** End of the earliest quarantine, {@link Long#MAX_VALUE} when no slot is in quarantineRing. */
    public long nextDeadlineNs() {
        return quarantineRing.isEmpty() ? Long.MAX_VALUE : quarantineEndNs[quarantineRing.get(0)];
    }

    private void checkSums() {
        //= MR-3.1-2
        Invariant.check(
                inUse + quarantined() + freeRing.size() == used && inUse >= 0,
                "a slot that was ever granted is in use, in quarantine or free",
                inUse,
                used);
    }

    // ---- getters ----

    public SlotState state(int cid) {
        return cid < used ? state[cid] : SlotState.FREE;
    }

    /**
     * Epoch of the latest grant of the slot, 0..255. Before the first grant it is the one before
     * {@code firstEpoch}; no packet matches it because the slot is free.
     */
    public int epoch(int cid) {
        return (cid < used ? epoch[cid] : firstEpoch - 1) & EPOCH_MASK;
    }

    public int capacity() {
        return capacity;
    }

    /** True when the present or last holder of the slot was preferred for being short. */
    public boolean grantedShort(int cid) {
        return cid < used && grantedShort[cid];
    }

    /** Slots that a peer holds: granted, active or reclaiming. */
    public int inUse() {
        return inUse;
    }

    public int quarantined() {
        return quarantineRing.size();
    }

    /** Slots that can be granted now. */
    public int free() {
        return capacity - used + freeRing.size();
    }

    public int waiting() {
        return waiterTicket.size();
    }

    /** Use of the pool as ACKs tell it: 0..254 in proportion, 255 exactly when none is free. */
    public int load() {
        //= MR-3.5-7
        return free() == 0 ? LOAD_EXHAUSTED : LOAD_SCALE * inUse / capacity;
    }

    /**
     * The most that the tables take, without object headers; fixed by the arguments at
     * construction.
     */
    public long bytes() {
        // The epoch, whether short; the reference to the state, the holder, places in two rings;
        // two
        // times.
        long perSlot = 2 * Byte.BYTES + 4 * Integer.BYTES + 2 * Long.BYTES;
        return capacity * perSlot + maxWaiters * (3L * Integer.BYTES);
    }
}
