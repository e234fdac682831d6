package dev.metaroce.transport;

import dev.metaroce.util.WindowBitmap;

import org.jspecify.annotations.Nullable;

import java.util.Arrays;

/**
 * The receive contexts of a device, indexed by CID: all that a target remembers of its active
 * senders, packed into one array whose size depends on the limits only. Allocated when the first
 * context is granted, so that an endpoint nobody talks to costs nothing.
 *
 * <pre>
 *   slot, 6 words   0 nonce | 1 srcCtx 16, paths 8, profile 8, initial PSN 32 | 2 payload bytes
 *                   3 last heard 32, granted 32 (4096 ns units)
 *                   4 masks: ack 16, CE 16, probe 16, flags 16
 *                   5 bytes since ack 32, rate hint 24, hint sequence 8
 *   path, 6 words   0 next expected PSN 32, CE packets 32 | 1 echo 32, arrival 32 (64 ns units)
 *                   2..5 bitmap of the 256 PSNs after the expected one
 * </pre>
 *
 * <p>Profile S needs the slot and two words of one path: 64 B. Profile M needs 48 B and 48 B per
 * path. Owner: the engine thread.
 */
final class RxContexts {
    static final int SLOT_WORDS = 6;
    static final int PATH_WORDS = 2 + WindowBitmap.WORDS;

    /** Flag: an acknowledgement is due at once. */
    static final int ACK_NOW = 1;

    /** Flag: in the list of contexts whose acknowledgement is due. */
    static final int ACK_LISTED = 2;

    /** Flag: the holder was asked to give the context back. */
    static final int RECLAIM_ASKED = 4;

    /** Flag, profile S: the present gap was reported. */
    static final int NAK_SENT = 16;

    /** Flag: the holder repeated itself or asked, so answers may be lost on their route. */
    static final int ANSWERS_MISSED = 32;

    private static final int BITMAP = 2;
    private static final int COARSE_SHIFT = 12;

    private final int contexts;
    private final int maxPaths;
    private final int openMessages;
    private final int stride;
    private long[] words = {};
    private long[] messages = {};
    private @Nullable TransportConnection[] connections = {};
    private int[] peers = {};

    RxContexts(DeviceLimits limits) {
        contexts = limits.contexts();
        maxPaths = limits.maxPaths();
        openMessages = limits.openMessages();
        stride = SLOT_WORDS + PATH_WORDS * maxPaths;
    }

    /** Bytes of one context in use: what {@code devinfo} reports and a test asserts. */
    static int contextBytes(boolean selective, int paths) {
        return Long.BYTES * (selective ? SLOT_WORDS + PATH_WORDS * paths : SLOT_WORDS + BITMAP);
    }

    /** Bytes of all tables once the first context was granted. */
    long bytes() {
        return contexts * (Long.BYTES * ((long) stride + openMessages) + 2L * Integer.BYTES);
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
        if (words.length == 0) {
            words = new long[contexts * stride];
            messages = new long[contexts * openMessages];
            connections = new TransportConnection[contexts];
            peers = new int[contexts];
            Arrays.fill(peers, -1);
        }
        int at = cid * stride;
        words[at] = nonce;
        words[at + 1] =
                (long) srcCtx << 48
                        | (long) paths << 40
                        | (selective ? 1L << 32 : 0)
                        | Integer.toUnsignedLong(initialPsn);
        words[at + 2] = 0;
        words[at + 3] = coarse(nowNs) << 32 | coarse(nowNs);
        words[at + 4] = 0;
        words[at + 5] = 0;
        for (int path = 0; path < paths; path++) {
            int p = path(cid, path);
            words[p] = (long) initialPsn << 32;
            words[p + 1] = 0;
            WindowBitmap.clear(words, p + BITMAP);
        }
        for (int i = 0; i < openMessages; i++) {
            messages[cid * openMessages + i] = 0;
        }
        connections[cid] = connection;
        peers[cid] = peer;
    }

    void clear(int cid) {
        connections[cid] = null;
        words[cid * stride] = 0;
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
        return words[cid * stride];
    }

    int srcCtx(int cid) {
        return (int) (words[cid * stride + 1] >>> 48);
    }

    int paths(int cid) {
        return (int) (words[cid * stride + 1] >>> 40) & 0xFF;
    }

    boolean selective(int cid) {
        return (words[cid * stride + 1] >>> 32 & 1) != 0;
    }

    int initialPsn(int cid) {
        return (int) words[cid * stride + 1];
    }

    long payloadBytes(int cid) {
        return words[cid * stride + 2];
    }

    /** Adds accepted payload; returns the bytes since the last acknowledgement. */
    long addPayload(int cid, int bytes) {
        int at = cid * stride;
        words[at + 2] += bytes;
        words[at + 5] += (long) bytes << 32;
        return words[at + 5] >>> 32;
    }

    void clearBytesSinceAck(int cid) {
        words[cid * stride + 5] &= 0xFFFF_FFFFL;
    }

    int rateHint(int cid) {
        return (int) (words[cid * stride + 5] >>> 8) & 0xFF_FFFF;
    }

    int hintSeq(int cid) {
        return (int) words[cid * stride + 5] & 0xFF;
    }

    /** Stores a new hint; its sequence number grows when the value changes. */
    void rateHint(int cid, int hint) {
        int at = cid * stride + 5;
        if (rateHint(cid) != hint) {
            //= MR-5.6-4
            int seq = (hintSeq(cid) + 1) & 0xFF;
            words[at] = (words[at] & ~0xFFFF_FFFFL) | ((long) hint << 8) | seq;
        }
    }

    private static long coarse(long nowNs) {
        return nowNs >>> COARSE_SHIFT & 0xFFFF_FFFFL;
    }

    void heard(int cid, long nowNs) {
        int at = cid * stride + 3;
        words[at] = (words[at] & 0xFFFF_FFFFL) | (coarse(nowNs) << 32);
    }

    /** Nanoseconds since the holder was last heard, to 4 us, never negative. */
    long silenceNs(int cid, long nowNs) {
        return elapsedNs((int) (words[cid * stride + 3] >>> 32), nowNs);
    }

    /** Nanoseconds since the grant, to 4 us. */
    long heldNs(int cid, long nowNs) {
        return elapsedNs((int) words[cid * stride + 3], nowNs);
    }

    /** The time held counts from now on: the holder was asked to give the context back. */
    void restartHeld(int cid, long nowNs) {
        int at = cid * stride + 3;
        words[at] = (words[at] & ~0xFFFF_FFFFL) | coarse(nowNs);
    }

    private static long elapsedNs(int then, long nowNs) {
        return Integer.toUnsignedLong((int) coarse(nowNs) - then) << COARSE_SHIFT;
    }

    int ackMask(int cid) {
        return (int) (words[cid * stride + 4] >>> 48);
    }

    int ceMask(int cid) {
        return (int) (words[cid * stride + 4] >>> 32) & 0xFFFF;
    }

    int probeMask(int cid) {
        return (int) (words[cid * stride + 4] >>> 16) & 0xFFFF;
    }

    void owePathAck(int cid, int path) {
        words[cid * stride + 4] |= 1L << (48 + path);
    }

    void notePathProbe(int cid, int path) {
        words[cid * stride + 4] |= 1L << (16 + path);
    }

    /** Records whether the latest packet of the path carried CE; true when that changed. */
    boolean notePathCe(int cid, int path, boolean ce) {
        int at = cid * stride + 4;
        long bit = 1L << (32 + path);
        boolean before = (words[at] & bit) != 0;
        words[at] = ce ? words[at] | bit : words[at] & ~bit;
        return before != ce;
    }

    /** After an acknowledgement went out: nothing is owed, CE states stay. */
    void settleAcks(int cid) {
        words[cid * stride + 4] &= 0x0000_FFFF_0000_FFFFL & ~(long) (ACK_NOW | ACK_LISTED);
    }

    boolean has(int cid, int flag) {
        return (words[cid * stride + 4] & flag) != 0;
    }

    void set(int cid, int flag) {
        words[cid * stride + 4] |= flag;
    }

    void unset(int cid, int flag) {
        words[cid * stride + 4] &= ~(long) flag;
    }

    // Paths

    private int path(int cid, int path) {
        return cid * stride + SLOT_WORDS + path * PATH_WORDS;
    }

    /** Next expected PSN of the path. */
    int cumPsn(int cid, int path) {
        return (int) (words[path(cid, path)] >>> 32);
    }

    int cePackets(int cid, int path) {
        return (int) words[path(cid, path)];
    }

    int echoTime(int cid, int path) {
        return (int) (words[path(cid, path) + 1] >>> 32);
    }

    int arrivalTime(int cid, int path) {
        return (int) words[path(cid, path) + 1];
    }

    void arrived(int cid, int path, int txTime, int arrivalTime, boolean ce) {
        int at = path(cid, path);
        words[at + 1] = ((long) txTime << 32) | Integer.toUnsignedLong(arrivalTime);
        if (ce) {
            words[at] = (words[at] & ~0xFFFF_FFFFL) | ((words[at] + 1) & 0xFFFF_FFFFL);
        }
    }

    long[] words() {
        return words;
    }

    /** Index of the path's bitmap in {@link #words}. */
    int bitmapAt(int cid, int path) {
        return path(cid, path) + BITMAP;
    }

    boolean hasHole(int cid, int path) {
        return !WindowBitmap.isEmpty(words, bitmapAt(cid, path));
    }

    /** True when the packet {@code ahead} PSNs after the expected one (1..256) was received. */
    boolean received(int cid, int path, int ahead) {
        return WindowBitmap.get(words, bitmapAt(cid, path), ahead - 1);
    }

    /** Marks the packet {@code ahead} (0..256) PSNs after the expected one as received. */
    void mark(int cid, int path, int ahead) {
        int at = path(cid, path);
        if (ahead > 0) {
            WindowBitmap.set(words, at + BITMAP, ahead - 1);
            return;
        }
        words[at] += (long) WindowBitmap.advance(words, at + BITMAP) << 32;
    }

    // Open messages

    /**
     * Counts payload of a multi-packet message; returns the bytes counted so far. A slot that still
     * holds an abandoned message starts afresh.
     */
    long countMessage(int cid, int slot, int stream, int msn, int bytes) {
        int at = cid * openMessages + slot;
        long tag = (long) stream << 48 | (msn & 0xFFFFL) << 32;
        long entry = messages[at];
        long counted = (entry & ~0xFFFF_FFFFL) == tag ? entry & 0xFFFF_FFFFL : 0;
        counted += bytes;
        messages[at] = tag | counted;
        return counted;
    }

    void closeMessage(int cid, int slot) {
        messages[cid * openMessages + slot] = 0;
    }

    boolean isMessageSlot(int slot) {
        return slot < openMessages;
    }
}
