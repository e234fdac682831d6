package dev.metaroce.net;

import org.jspecify.annotations.Nullable;

import java.lang.foreign.Arena;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Memory for the packets a relay keeps, and the line in which delayed ones wait for their time.
 * Bounded; memory once taken is used again. Owned by the relay's thread.
 */
final class PacketStore implements AutoCloseable {
    /** Most packets are of the usual or the jumbo Ethernet size; the last class takes any. */
    private static final int[] CLASS_BYTES = {2048, 10_240, 65_536};

    private static final int HEAP_START = 256;

    // Shared, since the relay is put together on one thread and runs on another.
    private final Arena arena = Arena.ofShared();
    private final List<ArrayDeque<StoredPacket>> free = new ArrayList<>();
    private final long bytesMax;
    private long bytes;
    private long order;
    private @Nullable StoredPacket[] heap = new StoredPacket[HEAP_START];
    private int heapSize;

    PacketStore(long bytesMax) {
        this.bytesMax = bytesMax;
        for (int i = 0; i < CLASS_BYTES.length; i++) {
            free.add(new ArrayDeque<>());
        }
    }

    /** A copy of the packet, or null when the store is full. */
    @Nullable StoredPacket copyOf(
            ByteBuffer packet, RelayLane lane, RelayClient client, int copies) {
        int sizeClass = 0;
        while (CLASS_BYTES[sizeClass] < packet.remaining()) {
            sizeClass++;
        }
        StoredPacket stored = free.get(sizeClass).poll();
        if (stored == null) {
            int need = CLASS_BYTES[sizeClass];
            if (bytes + need > bytesMax) {
                return null;
            }
            bytes += need;
            stored = new StoredPacket(sizeClass, arena.allocate(need, 64).asByteBuffer());
        }
        int position = packet.position();
        stored.bytes.clear().put(packet).flip();
        packet.position(position);
        stored.lane = lane;
        stored.client = client;
        stored.copies = copies;
        stored.passesLeft = 0;
        stored.done = false;
        return stored;
    }

    void recycle(StoredPacket packet) {
        packet.lane = null;
        packet.client = null;
        free.get(packet.sizeClass).push(packet);
    }

    /** Lets the packet wait until {@code dueNs}. */
    void enqueue(StoredPacket packet, long dueNs) {
        packet.dueNs = dueNs;
        packet.order = order++;
        if (heapSize == heap.length) {
            heap = Arrays.copyOf(heap, heapSize * 2);
        }
        int at = heapSize++;
        while (at > 0) {
            StoredPacket parent = at((at - 1) / 2);
            if (!isBefore(packet, parent)) {
                break;
            }
            heap[at] = parent;
            at = (at - 1) / 2;
        }
        heap[at] = packet;
    }

    /** Nanoseconds until the first packet is due, 0 or less when it is; Long.MAX_VALUE if none. */
    long untilDueNs(long nowNs) {
        return heapSize == 0 ? Long.MAX_VALUE : at(0).dueNs - nowNs;
    }

    /** Takes the packet that is due first; the store is not empty. */
    StoredPacket takeFirst() {
        StoredPacket first = at(0);
        StoredPacket last = at(--heapSize);
        heap[heapSize] = null;
        int hole = 0;
        while (2 * hole + 1 < heapSize) {
            int child = 2 * hole + 1;
            if (child + 1 < heapSize && isBefore(at(child + 1), at(child))) {
                child++;
            }
            if (!isBefore(at(child), last)) {
                break;
            }
            heap[hole] = at(child);
            hole = child;
        }
        if (heapSize > 0) {
            heap[hole] = last;
        }
        return first;
    }

    private StoredPacket at(int index) {
        StoredPacket packet = heap[index];
        if (packet == null) {
            throw new IllegalStateException("hole in the delay line at " + index);
        }
        return packet;
    }

    private static boolean isBefore(StoredPacket a, StoredPacket b) {
        long difference = a.dueNs - b.dueNs;
        return difference < 0 || (difference == 0 && a.order < b.order);
    }

    @Override
    public void close() {
        arena.close();
    }
}
