package dev.metaroce.sim.fabric;

import org.jspecify.annotations.Nullable;

/**
 * One direction of a link: the queue of the sending node and the wire behind it. Owned by the
 * simulation's thread.
 */
public final class Port {
    static final int NONE = -1;
    private static final long PS_PER_SECOND = 1_000_000_000_000L;

    final int id;
    final int toNode;

    /** The sending switch; null when a host sends. */
    final @Nullable Switch owner;

    final long rateBitsPerSecond;
    final long delayPs;
    private final long psPerByte;
    private long remainder;

    /** When the packet being sent will have left. */
    long freeAtPs;

    /** An event for that time is in the queue. */
    boolean armed;

    boolean down;

    /** Marks "congestion experienced" whatever waits. */
    boolean marksAll;

    /** When the link went down last. */
    long downAtPs = Long.MIN_VALUE;

    @Nullable LinkFaults faults;

    private int head = NONE;
    private int tail = NONE;
    private long queueBytes;
    private int queuePackets;
    final long markFromBytes;
    final long markAllBytes;

    // For reports
    long txPackets;
    long txBytes;
    long drops;
    long lost;
    long marks;
    long queueBytesMax;

    Port(
            int id,
            int toNode,
            @Nullable Switch owner,
            long rateBitsPerSecond,
            long delayPs,
            FabricConfig config) {
        this.id = id;
        this.toNode = toNode;
        this.owner = owner;
        this.rateBitsPerSecond = rateBitsPerSecond;
        this.delayPs = delayPs;
        boolean exact = 8 * PS_PER_SECOND % rateBitsPerSecond == 0;
        psPerByte = exact ? 8 * PS_PER_SECOND / rateBitsPerSecond : 0;
        double scale = rateBitsPerSecond / 100e9;
        markFromBytes = (long) (config.markFromBytes() * scale);
        markAllBytes = (long) (config.markAllBytes() * scale);
    }

    /** Time that the next packet of so many bytes takes on the wire; keeps what is rounded off. */
    long serializationPs(int bytes) {
        if (psPerByte > 0) {
            return bytes * psPerByte;
        }
        long work = 8L * bytes * PS_PER_SECOND + remainder;
        remainder = work % rateBitsPerSecond;
        return work / rateBitsPerSecond;
    }

    boolean isEmpty() {
        return head == NONE;
    }

    /** Bytes waiting, without the packet being sent. */
    public long queueBytes() {
        return queueBytes;
    }

    int queuePackets() {
        return queuePackets;
    }

    /** Longest queue so far, in bytes. */
    public long queueBytesMax() {
        return queueBytesMax;
    }

    /** Packets that left on the wire so far. */
    public long txPackets() {
        return txPackets;
    }

    /** Bytes that left on the wire so far, with all that a packet has there. */
    public long txBytes() {
        return txBytes;
    }

    /** Packets that found no room in the queue. */
    public long drops() {
        return drops;
    }

    /** Packets that left and got lost on the wire. */
    public long lost() {
        return lost;
    }

    /** Packets marked "congestion experienced". */
    public long marks() {
        return marks;
    }

    void append(Packets packets, int packet) {
        int bytes = packets.get(packet, Packets.WIRE_BYTES);
        packets.set(packet, Packets.NEXT, NONE);
        if (tail == NONE) {
            head = packet;
        } else {
            packets.set(tail, Packets.NEXT, packet);
        }
        tail = packet;
        queueBytes += bytes;
        queuePackets++;
        queueBytesMax = Math.max(queueBytesMax, queueBytes);
    }

    /** Takes the packet to be sent next, or {@link #NONE}. */
    int take(Packets packets) {
        int packet = head;
        if (packet != NONE) {
            head = packets.get(packet, Packets.NEXT);
            tail = head == NONE ? NONE : tail;
            queueBytes -= packets.get(packet, Packets.WIRE_BYTES);
            queuePackets--;
        }
        return packet;
    }
}
