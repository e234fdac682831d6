package dev.metaroce.transport;

import dev.metaroce.congestion.Pacer;
import dev.metaroce.path.PathSelector;
import dev.metaroce.path.PathState;
import dev.metaroce.util.Rng;
import dev.metaroce.wire.AckHeader;
import dev.metaroce.wire.CommonHeader;
import dev.metaroce.wire.ControlMessage;
import dev.metaroce.wire.NetAddress;

import org.jspecify.annotations.Nullable;

/**
 * The initiator's side of a lease while it is open: token, paths, and what the target allows. Taken
 * from a pool when a lease opens and given back when it ends. Owner: the engine thread.
 */
final class TxLease {
    /** Packets the paths of a lease together may send before the first answer. */
    private static final int INITIAL_WINDOW_PACKETS = 32;

    /** The same for one path that starts or moves, when the paths are many. */
    static final int FEWEST_PACKETS = 4;

    private static final int PACER_BURST_BYTES_MAX = 64 << 10;

    /** Part of what a hint gives in a round trip that may go back to back. */
    private static final int BURST_PART = 4;

    /** Longest wait of a new lease for its turn, at the hint it starts with. */
    private static final int START_ROUND_TRIPS = 32;

    /** Longest time between two full packets, whatever the hint, in RTO floors. */
    private static final int LONGEST_PAUSE_RTOS = 16;

    /** What a packet has on the wire of an Ethernet beside its payload: 38 + 28 + 48 + 4. */
    private static final int WIRE_BYTES = 118;

    /**
     * What a packet costs in a kernel socket buffer beside its payload: headers and bookkeeping,
     * about 0.5 to 0.8 KiB on Linux. Without it a flood of small packets would overrun the buffer
     * long before its bytes fill the window.
     */
    private static final int PACKET_OVERHEAD_BYTES = 512;

    /**
     * So many losses in a row, each told by an answer, are no bad luck: of packets that get lost
     * nine times out of ten, a row of this length is one in a thousand.
     */
    private static final int LONG_LOSSES_MIN = 64;

    private final Mechanisms mechanisms;
    private final int routes;
    private final long rtoFloorNs;
    final TxPath[] paths;
    final PathState[] states;
    final PathSelector selector;
    final Pacer pacer = new Pacer(0);
    private final Rng rng;
    final OpenMessages messages = new OpenMessages();
    NetAddress peer;

    /** The planes over which the paths are spread; null for one. */
    private @Nullable PeerPlanes planes;

    int cid;
    int epoch;
    int token;
    int pathCount;
    boolean selective;
    int mtu;

    /** Bits of a SACK that are looked at; 0: none, so that one hole at a time is found. */
    final int sackBits;

    /** PSNs of a path from the oldest unacknowledged one on that may be in use. */
    final int psnSpan;

    private int turnOfRoutes;

    /** Counts the leases of its connection. */
    int number;

    private long longestBytes;
    private long pieceBytes;

    private long windowBytes;
    private long inFlightBytes;
    private long rateBitsPerSecond;
    private final long ownRateBitsPerSecond;
    private long payloadInFlightBytes;
    private long hintWindowBytes;
    private long minRttNs;
    private int hintSeq;

    /** The last packet was the last there was. */
    private boolean dry;

    private int longestArrivedBytes;
    private int longLosses;
    int poolLoad;
    boolean slotWanted;
    private final PullBudget pulls;
    private int maxReads;
    private int unanswered;
    private long unansweredBytes;

    /** A READ or atomic waits until others are answered. */
    boolean pullWanted;

    /** When the newest packet that is known to have arrived, on any path, was sent. */
    private int newestArrival;

    private boolean anyArrived;

    /** When silent paths are looked for the next time. */
    long lookNs;

    /**
     * @param limits whose inbound rate is, supposedly, also what this endpoint can send
     */
    TxLease(DeviceLimits limits, NetAddress nobody, PullBudget pulls, Rng rng) {
        peer = nobody;
        this.pulls = pulls;
        this.rng = rng;
        ownRateBitsPerSecond = limits.inboundRateBitsPerSecond();
        mechanisms = limits.mechanisms();
        selector = mechanisms.paths().create(limits.maxPaths());
        routes = limits.routes();
        rtoFloorNs = limits.rtoFloorNs();
        sackBits = mechanisms.sackBits();
        //= MR-4.3-9
        psnSpan = sackBits == 0 ? TxPath.WINDOW : sackBits;
        int maxPaths = limits.maxPaths();
        paths = new TxPath[maxPaths];
        states = new PathState[maxPaths];
        for (int i = 0; i < maxPaths; i++) {
            states[i] = new PathState(mechanisms.congestion());
            paths[i] = new TxPath(this, states[i]);
        }
    }

    void open(NetAddress target, int newCid, int newEpoch, int newToken, int count, boolean sack) {
        peer = target;
        cid = newCid;
        epoch = newEpoch;
        token = newToken;
        pathCount = count;
        selective = sack;
        selector.reset();
        pacer.reset();
        inFlightBytes = 0;
        payloadInFlightBytes = 0;
        minRttNs = 0;
        hintSeq = -1;
        dry = true;
        slotWanted = false;
        pullWanted = false;
        poolLoad = 0;
        // The REQUEST that was granted is the first proof of what the way carries.
        longestArrivedBytes = ControlMessage.REQUEST_BYTES;
        longLosses = 0;
        anyArrived = false;
    }

    /**
     * @param quotaBytes what the lease may send before it may be asked back
     * @param reads requests that may wait for their replies; 0: the target serves none
     */
    void start(int initialPsn, int payloadMtu, int openMessages, long quotaBytes, int reads) {
        mtu = payloadMtu;
        messages.reset(openMessages);
        maxReads = reads;
        pieceBytes = Math.max(1, quotaBytes / mtu) * mtu;
        longestBytes = Math.max(quotaBytes, pieceBytes);
        //= MR-5.2-4
        int fewest = Math.min(FEWEST_PACKETS, 2 * INITIAL_WINDOW_PACKETS / pathCount);
        int window = Math.max(fewest, INITIAL_WINDOW_PACKETS / pathCount);
        for (int i = 0; i < pathCount; i++) {
            states[i].congestion().onLine(ownRateBitsPerSecond, mtu, pathCount);
            states[i].reset(firstRoute(i), window);
            paths[i].reset(initialPsn);
        }
    }

    // Planes. Routes are numbered so that neighbours are on different planes.

    void spread(@Nullable PeerPlanes over) {
        planes = over;
    }

    int planes() {
        PeerPlanes several = planes;
        return several == null ? 1 : several.count();
    }

    private int firstRoute(int path) {
        PeerPlanes several = planes;
        if (several == null) {
            return path + 1;
        }
        //= MR-3.10-4
        int plane = (several.lastHeard() + path) % several.count();
        return 1 + plane + path / several.count() * several.count();
    }

    /** Where packets of a route go. */
    NetAddress peer(int route) {
        PeerPlanes several = planes;
        return several == null ? peer : several.at((route - 1) % several.count());
    }

    /** The sending socket of a route, among those of its plane. */
    int socket(int route) {
        return 1 + (route - 1) / planes();
    }

    /** A path left a route that did not answer. */
    void onLeft(int route) {
        PeerPlanes several = planes;
        if (several != null) {
            several.leave((route - 1) % several.count());
        }
    }

    /** True when it is known that the peer is at the other end of a route. */
    boolean isProved(int route) {
        PeerPlanes several = planes;
        return several == null || several.isProved((route - 1) % several.count());
    }

    /** The message in the REQUEST was executed: it took the first PSN of path 0. */
    void onEarlyDone(int initialPsn, int load) {
        //= MR-3.7-10
        paths[0].reset(initialPsn + 1);
        poolLoad = load;
    }

    /** The route of the next packet of a path. */
    int route(int pathId, boolean again) {
        if (selective && mechanisms.sequence() == SequenceSpace.LEASE) {
            turnOfRoutes = (turnOfRoutes + 1) % paths.length;
            return 1 + (states[pathId].route() - 1 + turnOfRoutes) % routes;
        }
        boolean elsewhere = again && mechanisms.resend() == ResendRoute.OTHER_PATH;
        return states[elsewhere ? (pathId + 1) % pathCount : pathId].route();
    }

    /** What the target allows now, from GRANT or ACK. */
    void allow(long nowNs, int windowKib, int rateHintMbps, int seq) {
        windowBytes = windowKib == AckHeader.WINDOW_NONE ? Long.MAX_VALUE : (long) windowKib << 10;
        //= MR-5.6-12
        if (hintSeq >= 0 && (byte) (seq - hintSeq) < 0) {
            return;
        }
        hintSeq = seq;
        rateBitsPerSecond =
                rateHintMbps == AckHeader.RATE_NONE
                        ? Long.MAX_VALUE
                        : Math.max(leastRateBitsPerSecond(), rateHintMbps * 1_000_000L);
        pacer.onRate(nowNs, rateBitsPerSecond);
        limitByHint();
    }

    /** A target whose hint got lost is heard again only when something is sent to it. */
    private long leastRateBitsPerSecond() {
        //= MR-5.5-5
        return Math.max(1, (mtu + WIRE_BYTES) * 8_000_000_000L / (LONGEST_PAUSE_RTOS * rtoFloorNs));
    }

    /** A round trip took so long, or is guessed to. */
    void onRoundTrip(long rttNs) {
        if (minRttNs == 0 || rttNs < minRttNs) {
            minRttNs = rttNs;
            limitByHint();
        }
    }

    /**
     * What a hint allows in flight. Who has most of a line to himself is held up by ways that are
     * not equally long, and fills their queues with more than is on the way already; who shares it
     * needs room for answers that come late, but no more than that.
     */
    private void limitByHint() {
        if (rateBitsPerSecond == Long.MAX_VALUE || minRttNs == 0) {
            hintWindowBytes = Long.MAX_VALUE;
            return;
        }
        long perRoundTrip = hintPerRoundTrip();
        long burst = perRoundTrip / BURST_PART - mtu - WIRE_BYTES;
        pacer.burst(Math.clamp(burst, 0, PACER_BURST_BYTES_MAX));
        //= MR-5.5-2
        int roundTrips = rateBitsPerSecond > ownRateBitsPerSecond / 2 ? 2 : 4;
        hintWindowBytes = perRoundTrip * roundTrips;
    }

    /** Bytes that the hint gives in the smallest round trip. */
    private long hintPerRoundTrip() {
        return (long) (rateBitsPerSecond / 8e9 * minRttNs);
    }

    /**
     * The lease is new. When its hint gives less than a packet in a round trip many others start,
     * too: all at once they would fill a queue, so each waits for a random part of the time of a
     * packet.
     */
    void startLate(long nowNs) {
        long perRoundTrip = hintPerRoundTrip();
        int wire = mtu + WIRE_BYTES;
        //= MR-5.5-4
        if (rateBitsPerSecond != Long.MAX_VALUE && perRoundTrip < wire) {
            int most = (int) Math.min(wire, START_ROUND_TRIPS * perRoundTrip);
            pacer.onSent(nowNs, rng.nextInt(most + 1), rateBitsPerSecond);
        }
    }

    long rateBitsPerSecond() {
        return rateBitsPerSecond;
    }

    /** A packet that was sent then arrived. */
    void noteArrival(int txTime) {
        if (!anyArrived || txTime - newestArrival > 0) {
            newestArrival = txTime;
            anyArrived = true;
        }
    }

    /** True when a packet that was sent at least so much later is known to have arrived. */
    boolean hasArrivedSince(int txTime, long laterNs, long delayNs) {
        long newerNs = (newestArrival - txTime) * (long) CommonHeader.TX_TIME_UNIT_NS;
        return anyArrived && newerNs - delayNs >= laterNs;
    }

    /** For reports. */
    SendingState sending() {
        long window = 0;
        long inFlight = 0;
        int bad = 0;
        for (int i = 0; i < pathCount; i++) {
            window += states[i].congestion().windowPackets();
            inFlight += states[i].inFlight();
            bad += states[i].way().isSuspect() || states[i].way().isAway() ? 1 : 0;
        }
        return new SendingState(window * mtu, inFlight * mtu, rateBitsPerSecond, pathCount, bad);
    }

    /** True when the target allows one more packet; one may always be on the way. */
    boolean admits(int bytes) {
        //= MR-5.7-1, MR-5.5-2
        return inFlightBytes == 0
                || (payloadInFlightBytes < hintWindowBytes
                        && inFlightBytes + costBytes(bytes) <= windowBytes);
    }

    /** True when the target allows a packet of so many bytes, and no other before an answer. */
    boolean isFullWith(int bytes) {
        return payloadInFlightBytes + bytes >= hintWindowBytes;
    }

    /** A packet with so much payload goes now, and takes its time of the hint. */
    void pace(long nowNs, int bytes) {
        if (rateBitsPerSecond == Long.MAX_VALUE) {
            return;
        }
        //= MR-5.5-1, MR-5.5-3
        int wire = bytes + WIRE_BYTES;
        int phase = dry && pacer.isIdle(nowNs) ? rng.nextInt(wire) : 0;
        dry = false;
        pacer.onSent(nowNs, wire + phase, rateBitsPerSecond);
    }

    /** Nothing is left to send. */
    void onDry() {
        dry = true;
    }

    /** True when the hint keeps back whatever follows a packet of so many bytes. */
    boolean isHeldBack(long nowNs, int bytes) {
        return rateBitsPerSecond != Long.MAX_VALUE
                && !isOwnLineSlower()
                && (pacer.nextSendNs(nowNs) - nowNs > 0 || isFullWith(bytes));
    }

    /** More than the own line carries does not help. */
    private boolean isOwnLineSlower() {
        return ownRateBitsPerSecond > 0 && rateBitsPerSecond >= ownRateBitsPerSecond;
    }

    void onSent(int bytes) {
        payloadInFlightBytes += bytes;
        inFlightBytes += costBytes(bytes);
    }

    /** What a packet with so much payload takes of a socket buffer. */
    static long costBytes(long bytes) {
        return bytes + PACKET_OVERHEAD_BYTES;
    }

    void onGone(int bytes) {
        payloadInFlightBytes -= bytes;
        inFlightBytes -= costBytes(bytes);
    }

    /** True when the answer to a probe is worth more than what it costs: no reply can tell. */
    boolean probesTails() {
        return selective && unanswered == 0;
    }

    // READ and atomics

    /** False when the target serves no READ and no atomics. */
    boolean servesPulls() {
        return maxReads > 0;
    }

    /** True when one more reply may be asked for. */
    boolean mayPull(int bytes) {
        //= MR-4.6-8
        return unanswered < maxReads && pulls.admits(bytes);
    }

    /** What replies that are waited for take, with overhead. */
    long unansweredBytes() {
        return unansweredBytes;
    }

    /** The shortest round trip so far, the guess of the REQUEST included; 0 for none. */
    long minRttNs() {
        return minRttNs;
    }

    /** A reply is asked for. */
    void onPull(int bytes) {
        if (unanswered++ == 0) {
            pulls.enter();
        }
        unansweredBytes += costBytes(bytes);
        pulls.ask(bytes);
    }

    /** A reply came, or nobody waits for it any more. */
    void onAnswered(int bytes) {
        if (--unanswered == 0) {
            pulls.leave();
        }
        unansweredBytes -= costBytes(bytes);
        pulls.giveBack(costBytes(bytes));
    }

    /** The lease is gone, and the replies with it. */
    void dropPulls() {
        pulls.giveBack(unansweredBytes);
        if (unanswered > 0) {
            pulls.leave();
        }
        unanswered = 0;
        unansweredBytes = 0;
    }

    /** A packet of the lease is known to have reached the target. */
    void onArrived(int packetBytes) {
        if (packetBytes > longestArrivedBytes) {
            longestArrivedBytes = packetBytes;
            longLosses = 0;
        }
    }

    /** An answer told that the oldest packet of a path did not reach the target. */
    void onOldestLost(int packetBytes) {
        if (packetBytes > longestArrivedBytes) {
            longLosses++;
        }
    }

    /** The longest packet of the lease known to have reached the target, in bytes. */
    int longestArrivedBytes() {
        return longestArrivedBytes;
    }

    /** True when the way seems to swallow packets of this length, and only those. */
    boolean isTooLong(int packetBytes) {
        return packetBytes > longestArrivedBytes && longLosses >= LONG_LOSSES_MIN;
    }

    boolean isAllAcked() {
        for (int i = 0; i < pathCount; i++) {
            if (!paths[i].isAllAcked()) {
                return false;
            }
        }
        return true;
    }

    /** Bytes of the next message of a WRITE of which so much is left. */
    long messageBytes(long left) {
        // Whole packets, so that only the last message ends with a short one.
        //= MR-4.2-11
        return left <= longestBytes ? left : pieceBytes;
    }

    /** A RESET quotes path and PSN of our packet: a stranger would have to guess 32 bits. */
    boolean isProof(long proof) {
        long path = proof >>> 32;
        //= MR-3.2-6
        if (path >= pathCount) {
            return false;
        }
        TxPath p = paths[(int) path];
        int psn = (int) proof;
        return psn - p.una() >= -TxPath.WINDOW && psn - p.nextPsn() <= 0;
    }
}
