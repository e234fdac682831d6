package dev.metaroce.sim.fabric;

import org.jspecify.annotations.Nullable;

/**
 * One direction of a link: the queue of the sending node and the wire behind it. Unless there are
 * traffic classes the port is its own queue. Owned by the simulation's thread.
 */
public final class Port extends PacketQueue {
    private static final long PS_PER_SECOND = 1_000_000_000_000L;
    private static final long[] NO_LOSSES = {};

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

    /** Packets in all queues, kept here so that most packets need not look there. */
    private int waiting;

    /** What arrives up to this time was on the wire when the link went down. */
    long lostUntilPs = Long.MIN_VALUE;

    @Nullable LinkFaults faults;

    /** The queues by class; null when there is but one lossy class. */
    final @Nullable Scheduler scheduler;

    long markFromBytes;
    long markAllBytes;

    // For reports
    long txPackets;
    long txBytes;
    long marks;
    private long[] losses = NO_LOSSES;

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
        scheduler = config.isPlain() ? null : new Scheduler(config.classes());
        Marking marking = config.marking();
        markFromBytes = marking.bytes(marking.fromBytes(), rateBitsPerSecond);
        markAllBytes = marking.bytes(marking.allBytes(), rateBitsPerSecond);
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

    public long rateBitsPerSecond() {
        return rateBitsPerSecond;
    }

    /** How long a packet that comes now would have to wait, roughly. */
    double waitPs(long nowPs) {
        double queuePs = queueBytes() * 8.0 * PS_PER_SECOND / rateBitsPerSecond;
        return Math.max(0, freeAtPs - nowPs) + queuePs;
    }

    // The queue

    @Override
    boolean isEmpty() {
        return waiting == 0;
    }

    /** True when a packet that comes now need not wait. */
    boolean isIdle(long nowPs) {
        return freeAtPs <= nowPs && !armed && isEmpty();
    }

    /** True when a packet waits that may be sent. */
    boolean hasNext() {
        return waiting > 0 && (scheduler == null || scheduler.hasNext());
    }

    @Override
    void append(Packets packets, int packet) {
        waiting++;
        if (scheduler == null) {
            super.append(packets, packet);
        } else {
            scheduler.append(packets, packet);
        }
    }

    @Override
    int take(Packets packets) {
        int packet = scheduler == null ? super.take(packets) : scheduler.take(packets);
        waiting -= packet == NONE ? 0 : 1;
        return packet;
    }

    /** Takes the first packet of a class, paused or not; {@link #NONE} when there is none. */
    int take(Packets packets, int trafficClass) {
        int packet =
                scheduler == null ? super.take(packets) : scheduler.take(packets, trafficClass);
        waiting -= packet == NONE ? 0 : 1;
        return packet;
    }

    /** The queue that packets of a class wait in. */
    PacketQueue queue(int trafficClass) {
        return scheduler == null ? this : scheduler.queue(trafficClass);
    }

    /** Bytes waiting, without the packet being sent. */
    public long queueBytes() {
        return scheduler == null ? bytes() : scheduler.bytes();
    }

    /** Longest queue so far, in bytes. */
    public long queueBytesMax() {
        return scheduler == null ? bytesMax() : scheduler.bytesMax();
    }

    // What happened

    /** Packets that left on the wire so far. */
    public long txPackets() {
        return txPackets;
    }

    /** Bytes that left on the wire so far, with all that a packet has there. */
    public long txBytes() {
        return txBytes;
    }

    /** Packets marked "congestion experienced". */
    public long marks() {
        return marks;
    }

    /** Packets that came to this port, and did not get on for the reason given. */
    public long losses(LossReason reason) {
        return losses.length == 0 ? 0 : losses[reason.ordinal()];
    }

    /** Packets dropped at the queue. */
    public long drops() {
        return losses(LossReason.QUEUE_FULL)
                + losses(LossReason.LOSSLESS)
                + losses(LossReason.WATCHDOG);
    }

    /** How often flow control stopped a class of this port. */
    public long pauses() {
        return scheduler == null ? 0 : scheduler.pauses();
    }

    /** For how long flow control stopped classes of this port, in all; ended stops only. */
    public long pausedPs() {
        return scheduler == null ? 0 : scheduler.pausedPs();
    }

    /** Packets that were lost for any other reason. */
    public long lost() {
        long sum = 0;
        for (long n : losses) {
            sum += n;
        }
        return sum - drops();
    }

    void countLoss(LossReason reason) {
        if (losses.length == 0) {
            losses = new long[LossReason.values().length];
        }
        losses[reason.ordinal()]++;
    }
}
