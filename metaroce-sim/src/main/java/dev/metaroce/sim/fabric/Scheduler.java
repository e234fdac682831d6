package dev.metaroce.sim.fabric;

import java.util.List;

/**
 * The queues of a port that has classes, and which of them sends next: strict classes first, then
 * weighted ones by deficit round robin. A paused class keeps its packets. Owned by the simulation's
 * thread.
 */
final class Scheduler {
    /** What a weighted class of weight 1 may send in a round. */
    private static final int QUANTUM_BYTES = 1024;

    private static final int NONE = PacketQueue.NONE;

    private final PacketQueue[] queues;
    private final int[] weights;
    private final int strict;
    private final long[] deficits;
    private int turn;

    /** Bit c: class c has packets. */
    private int waiting;

    /** Bit c: class c must not send. */
    private int paused;

    /** Bit c: class c is paused and keeps nothing. */
    private int draining;

    private final long[] pausedAtPs;
    private long pauses;
    private long pausedPs;

    private long bytes;
    private long bytesMax;

    Scheduler(List<TrafficClass> classes) {
        int n = classes.size();
        queues = new PacketQueue[n];
        weights = new int[n];
        deficits = new long[n];
        pausedAtPs = new long[n];
        int strictClasses = 0;
        for (int c = 0; c < n; c++) {
            queues[c] = new PacketQueue();
            weights[c] = classes.get(c).weight();
            strictClasses |= classes.get(c).isStrict() ? 1 << c : 0;
        }
        strict = strictClasses;
    }

    PacketQueue queue(int trafficClass) {
        return queues[trafficClass];
    }

    /** True when a packet may be sent. */
    boolean hasNext() {
        return (waiting & ~paused) != 0;
    }

    long bytes() {
        return bytes;
    }

    long bytesMax() {
        return bytesMax;
    }

    void append(Packets packets, int packet) {
        int trafficClass = packets.get(packet, Packets.TRAFFIC_CLASS);
        queues[trafficClass].append(packets, packet);
        waiting |= 1 << trafficClass;
        bytes += packets.get(packet, Packets.WIRE_BYTES);
        bytesMax = Math.max(bytesMax, bytes);
    }

    /** Takes the packet to be sent next; {@link #NONE} when there is none that may. */
    int take(Packets packets) {
        int ready = waiting & ~paused;
        if (ready == 0) {
            return NONE;
        }
        int first = ready & strict;
        return take(
                packets,
                first != 0 ? Integer.numberOfTrailingZeros(first) : weighted(packets, ready));
    }

    private int weighted(Packets packets, int ready) {
        while (true) {
            int c = turn;
            if ((ready & 1 << c) != 0) {
                int need = packets.get(queues[c].head(), Packets.WIRE_BYTES);
                if (need <= deficits[c]) {
                    deficits[c] -= need;
                    return c;
                }
            }
            turn = c + 1 == weights.length ? 0 : c + 1;
            if ((ready & 1 << turn) != 0) {
                deficits[turn] += (long) weights[turn] * QUANTUM_BYTES;
            }
        }
    }

    /** Takes the first packet of a class, paused or not; {@link #NONE} when there is none. */
    int take(Packets packets, int trafficClass) {
        int packet = queues[trafficClass].take(packets);
        if (packet == NONE) {
            return NONE;
        }
        bytes -= packets.get(packet, Packets.WIRE_BYTES);
        if (queues[trafficClass].isEmpty()) {
            waiting &= ~(1 << trafficClass);
            deficits[trafficClass] = 0;
        }
        return packet;
    }

    /** True when a class is stopped, and was so at a time and ever since. */
    boolean isPausedSince(int trafficClass, long sincePs) {
        return (paused & 1 << trafficClass) != 0 && pausedAtPs[trafficClass] <= sincePs;
    }

    /** Stops a class, or lets it go on; also ends {@link #drain}. */
    void pause(long nowPs, int trafficClass, boolean on) {
        int bit = 1 << trafficClass;
        if (on == ((paused & bit) != 0)) {
            return;
        }
        paused ^= bit;
        if (on) {
            pausedAtPs[trafficClass] = nowPs;
            pauses++;
        } else {
            draining &= ~bit;
            pausedPs += nowPs - pausedAtPs[trafficClass];
        }
    }

    /** Lets all classes go on. */
    void resumeAll(long nowPs) {
        for (int c = 0; c < queues.length; c++) {
            pause(nowPs, c, false);
        }
    }

    /** A stopped class keeps nothing until it may go on. */
    void drain(int trafficClass) {
        draining |= 1 << trafficClass;
    }

    boolean isDraining(int trafficClass) {
        return (draining & 1 << trafficClass) != 0;
    }

    /** How often classes were stopped. */
    long pauses() {
        return pauses;
    }

    /** For how long classes were stopped, those that still are not counted. */
    long pausedPs() {
        return pausedPs;
    }
}
