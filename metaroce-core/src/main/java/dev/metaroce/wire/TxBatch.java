package dev.metaroce.wire;

import org.jspecify.annotations.Nullable;

import java.util.Objects;

/**
 * Where an engine puts the packets it wants sent: one block of memory, cut into <em>runs</em>. A
 * run is a row of packets back to back with one destination, one route and one size; only its last
 * packet may be shorter. That is exactly what UDP segmentation offload can send with one system
 * call.
 *
 * <p>Owned by the driver thread. {@code append} merges into the last run where it can; nothing
 * allocates after construction.
 */
public final class TxBatch {
    /** Largest number of bytes in a run: what one UDP datagram may hold before segmentation. */
    public static final int MAX_RUN_BYTES = 65_000;

    private final PacketMemory memory;
    private final int maxRunPackets;
    private final int[] runOffset;
    private final int[] runBytes;
    private final int[] runSegment;
    private final int[] runPackets;
    private final int[] runRoute;
    private final boolean[] runEct;
    private final int[] runFirstPacket;
    private final boolean[] runLends;
    private final long[] payloadAddress;
    private final int[] payloadBytes;
    private final int[] payloadAt;
    private final boolean gathers;
    private final @Nullable NetAddress[] runDestination;
    private int runs;
    private int used;
    private int packets;
    private boolean lastRunClosed;

    /**
     * @param capacityBytes memory for packets, at least one datagram
     * @param maxRuns runs per batch, at least 1
     * @param maxRunPackets packets per run, 1..64 (1 switches merging off)
     */
    public TxBatch(int capacityBytes, int maxRuns, int maxRunPackets) {
        this(new PacketMemory(capacityBytes), maxRuns, maxRunPackets, false);
    }

    /**
     * @param memory for packets, at least one datagram
     * @param maxRuns runs per batch, at least 1
     * @param maxRunPackets packets per run, 1..64 (1 switches merging off)
     * @param gathers the sender takes payload from where {@link #lend} says; whoever fills the
     *     batch must then send it before the memory can be closed
     */
    public TxBatch(PacketMemory memory, int maxRuns, int maxRunPackets, boolean gathers) {
        this.memory = memory;
        this.gathers = gathers;
        int maxPackets = gathers ? maxRuns * maxRunPackets : 0;
        runFirstPacket = new int[maxRuns];
        runLends = new boolean[maxRuns];
        payloadAddress = new long[maxPackets];
        payloadBytes = new int[maxPackets];
        payloadAt = new int[maxPackets];
        this.maxRunPackets = maxRunPackets;
        runOffset = new int[maxRuns];
        runBytes = new int[maxRuns];
        runSegment = new int[maxRuns];
        runPackets = new int[maxRuns];
        runRoute = new int[maxRuns];
        runEct = new boolean[maxRuns];
        runDestination = new NetAddress[maxRuns];
    }

    public void clear() {
        for (int i = 0; i < runs; i++) {
            runDestination[i] = null;
        }
        runs = 0;
        used = 0;
        packets = 0;
        lastRunClosed = true;
    }

    /** True when a packet of {@code bytes} can certainly be appended. */
    public boolean hasRoom(int bytes) {
        return used + bytes <= memory.capacity() && runs < runOffset.length;
    }

    /**
     * Claims room for one packet; the caller must have asked {@link #hasRoom}.
     *
     * @param route index of the sending socket: 0 is the device's own port, 1..n its path sockets
     * @param ect true to mark the packet ECN-capable
     * @return offset of the packet in {@link #memory()}
     */
    public int append(NetAddress destination, int route, boolean ect, int bytes) {
        //= MR-2.1-2
        int offset = used;
        int last = runs - 1;
        if (last >= 0 && !lastRunClosed && fits(last, destination, route, ect, bytes)) {
            runBytes[last] += bytes;
            runPackets[last]++;
            lastRunClosed = bytes < runSegment[last] || runPackets[last] == maxRunPackets;
        } else {
            runOffset[runs] = offset;
            runFirstPacket[runs] = packets;
            runLends[runs] = false;
            runBytes[runs] = bytes;
            runSegment[runs] = bytes;
            runPackets[runs] = 1;
            runRoute[runs] = route;
            runEct[runs] = ect;
            runDestination[runs] = destination;
            runs++;
            lastRunClosed = maxRunPackets == 1;
        }
        if (gathers) {
            payloadBytes[packets] = 0;
        }
        used += bytes;
        packets++;
        return offset;
    }

    private boolean fits(int run, NetAddress destination, int route, boolean ect, int bytes) {
        return runRoute[run] == route
                && bytes <= runSegment[run]
                && runEct[run] == ect
                && runBytes[run] + bytes <= MAX_RUN_BYTES
                && destination.equals(runDestination[run]);
    }

    /** Most packets of a run, 1..64; 1: nothing is gained by packets in a row on one route. */
    public int maxRunPackets() {
        return maxRunPackets;
    }

    /** True when payload may stay where it is. */
    public boolean gathers() {
        return gathers;
    }

    /**
     * The payload of the packet appended last is at an address of its own; the bytes in {@link
     * #memory} between header and checksum mean nothing.
     *
     * @param headerBytes bytes of the packet before the payload
     */
    public void lend(int headerBytes, long address, int bytes) {
        payloadAt[packets - 1] = headerBytes;
        payloadAddress[packets - 1] = address;
        payloadBytes[packets - 1] = bytes;
        runLends[runs - 1] = true;
    }

    /** True when a packet of the run has its payload elsewhere. */
    public boolean lends(int run) {
        return runLends[run];
    }

    /** Number of the first packet of a run, for the three queries below. */
    public int firstPacket(int run) {
        return runFirstPacket[run];
    }

    /** Bytes of the payload that a packet has elsewhere, 0 when it is whole in {@link #memory}. */
    public int lentBytes(int packet) {
        return payloadBytes[packet];
    }

    /** Address of that payload; of a virtual region nothing is there. */
    public long lentAddress(int packet) {
        return payloadAddress[packet];
    }

    /** Bytes of the packet before that payload. */
    public int lentAt(int packet) {
        return payloadAt[packet];
    }

    public PacketMemory memory() {
        return memory;
    }

    public int packets() {
        return packets;
    }

    public int usedBytes() {
        return used;
    }

    public int runs() {
        return runs;
    }

    public int offset(int run) {
        return runOffset[run];
    }

    /** All bytes of the run. */
    public int bytes(int run) {
        return runBytes[run];
    }

    /** Size of every packet of the run but the last, which may be shorter. */
    public int segmentBytes(int run) {
        return runSegment[run];
    }

    public int packets(int run) {
        return runPackets[run];
    }

    public int route(int run) {
        return runRoute[run];
    }

    public boolean ect(int run) {
        return runEct[run];
    }

    public NetAddress destination(int run) {
        return Objects.requireNonNull(runDestination[run]);
    }
}
