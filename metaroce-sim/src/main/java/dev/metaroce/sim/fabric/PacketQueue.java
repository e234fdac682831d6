package dev.metaroce.sim.fabric;

/** Packets that wait, first come first served. Owned by the simulation's thread. */
class PacketQueue {
    static final int NONE = -1;

    private int head = NONE;
    private int tail = NONE;
    private long bytes;
    private long bytesMax;

    boolean isEmpty() {
        return head == NONE;
    }

    /** The packet that waits longest, or {@link #NONE}. */
    int head() {
        return head;
    }

    /** Bytes waiting. */
    long bytes() {
        return bytes;
    }

    /** Most bytes that ever waited. */
    long bytesMax() {
        return bytesMax;
    }

    void append(Packets packets, int packet) {
        packets.set(packet, Packets.NEXT, NONE);
        if (tail == NONE) {
            head = packet;
        } else {
            packets.set(tail, Packets.NEXT, packet);
        }
        tail = packet;
        bytes += packets.get(packet, Packets.WIRE_BYTES);
        bytesMax = Math.max(bytesMax, bytes);
    }

    /** Takes the packet that waits longest, or {@link #NONE}. */
    int take(Packets packets) {
        int packet = head;
        if (packet != NONE) {
            head = packets.get(packet, Packets.NEXT);
            tail = head == NONE ? NONE : tail;
            bytes -= packets.get(packet, Packets.WIRE_BYTES);
        }
        return packet;
    }

    /** True when a packet waits that came over a port. */
    boolean holdsFrom(Packets packets, int inPort) {
        for (int at = head; at != NONE; at = packets.get(at, Packets.NEXT)) {
            if (packets.get(at, Packets.IN_PORT) == inPort) {
                return true;
            }
        }
        return false;
    }
}
