package dev.metaroce.transport;

import dev.metaroce.util.WindowBitmap;

import org.jspecify.annotations.Nullable;

import java.util.Arrays;

/**
 * The receive contexts of a device, indexed by CID: all that a target remembers of its active
 * senders, packed into one row of words each. There are as many rows as contexts were in use at
 * once, so that an endpoint nobody talks to costs nothing; the most there can be depends on the
 * limits only.
 *
 * <pre>
 *   slot, 9 words   0 nonce | 1 srcCtx 16, paths 8, profile 8, initial PSN 32 | 2 payload bytes
 *                   3 last heard 32, granted 32 (4096 ns units)
 *                   4 grant to first data 32 (4096 ns units), flags 32
 *                   5 bytes since ack 32, rate hint 24, hint sequence 8
 *                   6..8 a bit per path: owed an answer | last packet marked | probed
 *   path, 6 words   0 next expected PSN 32, CE packets 32 | 1 echo 32, arrival 32 (64 ns units)
 *                   2..5 bitmap of the 256 PSNs after the expected one
 *   open message    stream 16, MSN 16, bytes counted 32
 *
 *   beside the row, from the first atomic operation of a holder on:
 *   open message    1 17, stream 16, MSN 32 | value before the operation
 * </pre>
 *
 * <p>Profile S needs the slot and two words of one path: 88 B. Profile M needs 72 B and 48 B per
 * path. Owner: the engine thread.
 */
final class RxContexts {
    static final int SLOT_WORDS = 9;
    static final int PATH_WORDS = 2 + WindowBitmap.WORDS;

    /** Flag: an acknowledgement is due at once. */
    static final int ACK_NOW = 1;

    /** Flag: in the list of contexts whose acknowledgement is due. */
    static final int ACK_LISTED = 2;

    /** Flag: the holder was asked to give the context back. */
    static final int RECLAIM_ASKED = 4;

    /** Flag, profile S: the present gap was reported. */
    static final int NAK_SENT = 16;

    /** Flag: the message in the REQUEST was executed, and no DATA came yet. */
    static final int ONLY_EARLY = 8;

    /** Flag: it was asked because it was idle, not because it used its quota. */
    static final int IDLE_ASKED = 64;

    /** Flag: the holder repeated itself or asked, so answers may be lost on their route. */
    static final int ANSWERS_MISSED = 32;

    /** Flag: the holder has more to send than its hint lets it. */
    static final int WANTS_MORE = 128;

    /** Flag: the holder is to be told its hint, with or without news of a path. */
    static final int HINT_OWED = 256;

    private static final int BITMAP = 2;
    private static final int ATOMIC_WORDS = 2;
    private static final int COARSE_SHIFT = 12;
    private static final int FIRST_CIDS = 4;
    private static final long[] NO_ROW = {};

    private final int contexts;
    private final int maxPaths;
    private final int openMessages;
    private final int messagesAt;

    // By CID, as far as CIDs were ever granted. Only a context in use has a connection; its row is
    // NO_ROW otherwise.
    private @Nullable TransportConnection[] connections = {};
    private long[][] rows = {};
    private short[] peers = {};
    private long[][] atomics = {};
    private int inUse;

    private final DeferredPulls deferred = new DeferredPulls();

    /** Rows of contexts that were given back, the first {@link #spareCount} of them. */
    private long[][] spare = new long[FIRST_CIDS][];

    private int spareCount;

    RxContexts(DeviceLimits limits) {
        contexts = limits.contexts();
        maxPaths = limits.maxPaths();
        openMessages = limits.openMessages();
        messagesAt = SLOT_WORDS + PATH_WORDS * maxPaths;
    }

    /** Bytes of one context in use: what {@code devinfo} reports and a test asserts. */
    static int contextBytes(boolean selective, int paths) {
        return Long.BYTES * (selective ? SLOT_WORDS + PATH_WORDS * paths : SLOT_WORDS + BITMAP);
    }

    /** Bytes of all tables when every context is in use. */
    long bytes() {
        long row = Long.BYTES * (messagesAt + (1L + ATOMIC_WORDS) * openMessages);
        return contexts * (row + 4L * Integer.BYTES + Short.BYTES);
    }

    void init(
            int cid,
            TransportConnection connection,
            int peer,
            long nonce,
            int srcCtx,
            int paths,
            boolean selective,
            int initialPsn,
            long nowNs) {
        if (cid >= connections.length) {
            growTo(cid);
        }
        long[] row = spareCount > 0 ? spare[--spareCount] : new long[messagesAt + openMessages];
        // Also counts of messages that the last holder abandoned.
        Arrays.fill(row, 0);
        row[0] = nonce;
        row[1] =
                (long) srcCtx << 48
                        | (long) paths << 40
                        | (selective ? 1L << 32 : 0)
                        | Integer.toUnsignedLong(initialPsn);
        row[3] = coarse(nowNs) << 32 | coarse(nowNs);
        for (int path = 0; path < paths; path++) {
            row[path(path)] = (long) initialPsn << 32;
        }
        rows[cid] = row;
        connections[cid] = connection;
        peers[cid] = (short) peer;
        Arrays.fill(atomics[cid], 0);
        inUse++;
    }

    private void growTo(int cid) {
        int before = connections.length;
        int after = Math.min(contexts, Math.max(FIRST_CIDS, Math.max(cid + 1, 2 * before)));
        connections = Arrays.copyOf(connections, after);
        rows = Arrays.copyOf(rows, after);
        Arrays.fill(rows, before, after, NO_ROW);
        peers = Arrays.copyOf(peers, after);
        Arrays.fill(peers, before, after, (short) -1);
        atomics = Arrays.copyOf(atomics, after);
        Arrays.fill(atomics, before, after, NO_ROW);
    }

    void clear(int cid) {
        if (spareCount == spare.length) {
            spare = Arrays.copyOf(spare, 2 * spareCount);
        }
        spare[spareCount++] = rows[cid];
        rows[cid] = NO_ROW;
        TransportConnection holder = connections[cid];
        if (holder != null) {
            deferred.drop(holder);
        }
        connections[cid] = null;
        inUse--;
    }

    /** One more than the highest CID that was ever granted, or a little more. */
    int end() {
        return connections.length;
    }

    /** Contexts that have a connection. */
    int inUse() {
        return inUse;
    }

    @Nullable TransportConnection connection(int cid) {
        return cid < connections.length ? connections[cid] : null;
    }

    /** UDP port of the holder, for events; 0 without one. */
    int holderPort(int cid) {
        TransportConnection holder = connection(cid);
        return holder == null ? 0 : holder.peer.port();
    }

    /** Entry in the peer table of the present or last holder; -1 when there was none. */
    int peer(int cid) {
        return cid < peers.length ? peers[cid] : -1;
    }

    long nonce(int cid) {
        return rows[cid][0];
    }

    int srcCtx(int cid) {
        return (int) (rows[cid][1] >>> 48);
    }

    int paths(int cid) {
        return (int) (rows[cid][1] >>> 40) & 0xFF;
    }

    boolean selective(int cid) {
        return (rows[cid][1] >>> 32 & 1) != 0;
    }

    int initialPsn(int cid) {
        return (int) rows[cid][1];
    }

    long payloadBytes(int cid) {
        return rows[cid][2];
    }

    /** Adds accepted payload; returns the bytes since the last acknowledgement. */
    long addPayload(int cid, int bytes) {
        long[] row = rows[cid];
        row[2] += bytes;
        row[5] += (long) bytes << 32;
        return row[5] >>> 32;
    }

    void clearBytesSinceAck(int cid) {
        rows[cid][5] &= 0xFFFF_FFFFL;
    }

    int rateHint(int cid) {
        return (int) (rows[cid][5] >>> 8) & 0xFF_FFFF;
    }

    int hintSeq(int cid) {
        return (int) rows[cid][5] & 0xFF;
    }

    /** Stores a new hint; its sequence number grows when the value changes. */
    void rateHint(int cid, int hint) {
        long[] row = rows[cid];
        if (rateHint(cid) != hint) {
            //= MR-5.6-4
            int seq = (hintSeq(cid) + 1) & 0xFF;
            row[5] = (row[5] & ~0xFFFF_FFFFL) | ((long) hint << 8) | seq;
        }
    }

    private static long coarse(long nowNs) {
        return nowNs >>> COARSE_SHIFT & 0xFFFF_FFFFL;
    }

    void heard(int cid, long nowNs) {
        long[] row = rows[cid];
        row[3] = (row[3] & 0xFFFF_FFFFL) | (coarse(nowNs) << 32);
    }

    /** Nanoseconds since the holder was last heard, to 4 us, never negative. */
    long silenceNs(int cid, long nowNs) {
        return elapsedNs((int) (rows[cid][3] >>> 32), nowNs);
    }

    /** Nanoseconds since the grant, to 4 us. */
    long heldNs(int cid, long nowNs) {
        return elapsedNs((int) rows[cid][3], nowNs);
    }

    /** The first data of the lease came. */
    void noteFirstData(int cid, long nowNs) {
        long[] row = rows[cid];
        long units = heldNs(cid, nowNs) >>> COARSE_SHIFT;
        row[4] = (row[4] & 0xFFFF_FFFFL) | units << 32;
    }

    /** Nanoseconds from the grant to the first data, to 4 us: a round trip, if it was in use. */
    long firstDataNs(int cid) {
        return (rows[cid][4] >>> 32) << COARSE_SHIFT;
    }

    /** The time held counts from now on: the holder was asked to give the context back. */
    void restartHeld(int cid, long nowNs) {
        long[] row = rows[cid];
        row[3] = (row[3] & ~0xFFFF_FFFFL) | coarse(nowNs);
    }

    private static long elapsedNs(int then, long nowNs) {
        return Integer.toUnsignedLong((int) coarse(nowNs) - then) << COARSE_SHIFT;
    }

    /** A bit for each path with news that the initiator was not told. */
    long ackMask(int cid) {
        return rows[cid][6];
    }

    /** A bit for each path whose latest packet carried CE. */
    long ceMask(int cid) {
        return rows[cid][7];
    }

    /** A bit for each path with a probe that was not answered. */
    long probeMask(int cid) {
        return rows[cid][8];
    }

    void owePathAck(int cid, int path) {
        rows[cid][6] |= 1L << path;
    }

    void notePathProbe(int cid, int path) {
        rows[cid][8] |= 1L << path;
    }

    /** Records whether the latest packet of the path carried CE; true when that changed. */
    boolean notePathCe(int cid, int path, boolean ce) {
        long[] row = rows[cid];
        long bit = 1L << path;
        boolean before = (row[7] & bit) != 0;
        row[7] = ce ? row[7] | bit : row[7] & ~bit;
        return before != ce;
    }

    /**
     * After an acknowledgement of these paths went out: nothing of them is owed, CE states stay.
     * True when other paths are owed one.
     */
    boolean settleAcks(int cid, long paths) {
        long[] row = rows[cid];
        row[4] &= ~(long) (ACK_NOW | ACK_LISTED | HINT_OWED);
        row[6] &= ~paths;
        row[8] &= ~paths;
        return row[6] != 0;
    }

    boolean has(int cid, int flag) {
        return (rows[cid][4] & flag) != 0;
    }

    void set(int cid, int flag) {
        rows[cid][4] |= flag;
    }

    void note(int cid, int flag, boolean is) {
        if (is) {
            set(cid, flag);
        } else {
            unset(cid, flag);
        }
    }

    void unset(int cid, int flag) {
        rows[cid][4] &= ~(long) flag;
    }

    // Paths

    /** Where a path starts in the row of its context. */
    private static int path(int path) {
        return SLOT_WORDS + path * PATH_WORDS;
    }

    /** Next expected PSN of the path. */
    int cumPsn(int cid, int path) {
        return (int) (rows[cid][path(path)] >>> 32);
    }

    int cePackets(int cid, int path) {
        return (int) rows[cid][path(path)];
    }

    int echoTime(int cid, int path) {
        return (int) (rows[cid][path(path) + 1] >>> 32);
    }

    int arrivalTime(int cid, int path) {
        return (int) rows[cid][path(path) + 1];
    }

    void arrived(int cid, int path, int txTime, int arrivalTime, boolean ce) {
        long[] row = rows[cid];
        int at = path(path);
        row[at + 1] = ((long) txTime << 32) | Integer.toUnsignedLong(arrivalTime);
        if (ce) {
            row[at] = (row[at] & ~0xFFFF_FFFFL) | ((row[at] + 1) & 0xFFFF_FFFFL);
        }
    }

    /** The row of a context in use; its owner may read bitmaps in it. */
    long[] row(int cid) {
        return rows[cid];
    }

    /** Index of the path's bitmap in {@link #row}. */
    int bitmapAt(int path) {
        return path(path) + BITMAP;
    }

    boolean hasHole(int cid, int path) {
        return !WindowBitmap.isEmpty(rows[cid], bitmapAt(path));
    }

    /** True when the packet {@code ahead} PSNs after the expected one (1..256) was received. */
    boolean received(int cid, int path, int ahead) {
        return WindowBitmap.get(rows[cid], bitmapAt(path), ahead - 1);
    }

    /** Marks the packet {@code ahead} (0..256) PSNs after the expected one as received. */
    void mark(int cid, int path, int ahead) {
        long[] row = rows[cid];
        int at = path(path);
        if (ahead > 0) {
            WindowBitmap.set(row, at + BITMAP, ahead - 1);
            return;
        }
        row[at] += (long) WindowBitmap.advance(row, at + BITMAP) << 32;
    }

    // Open messages

    /**
     * Counts payload of a multi-packet message; returns the bytes counted so far. A slot that still
     * holds an abandoned message starts afresh.
     */
    long countMessage(int cid, int slot, int stream, int msn, int bytes) {
        long[] row = rows[cid];
        int at = messagesAt + slot;
        long tag = (long) stream << 48 | (msn & 0xFFFFL) << 32;
        long entry = row[at];
        long counted = (entry & ~0xFFFF_FFFFL) == tag ? entry & 0xFFFF_FFFFL : 0;
        counted += bytes;
        row[at] = tag | counted;
        return counted;
    }

    void closeMessage(int cid, int slot) {
        rows[cid][messagesAt + slot] = 0;
    }

    // READs and atomics

    /** READs and atomics of all contexts that wait for their turn. */
    DeferredPulls deferred() {
        return deferred;
    }

    /** Two words for each message slot: what was executed under it, and what it found. */
    long[] atomicResults(int cid) {
        if (atomics[cid].length == 0) {
            atomics[cid] = new long[ATOMIC_WORDS * openMessages];
        }
        return atomics[cid];
    }

    // All of it

    /** True when a part of something came, a packet or a message, and the rest did not. */
    boolean isIncomplete(int cid) {
        for (int path = 0; path < paths(cid); path++) {
            if (selective(cid) && hasHole(cid, path)) {
                return true;
            }
        }
        long[] row = rows[cid];
        for (int slot = 0; slot < openMessages; slot++) {
            if (row[messagesAt + slot] != 0) {
                return true;
            }
        }
        return false;
    }

    boolean isMessageSlot(int slot) {
        return slot < openMessages;
    }
}
