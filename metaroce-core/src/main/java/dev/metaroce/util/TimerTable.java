package dev.metaroce.util;

import java.util.Arrays;

/**
 * Deadlines keyed by small ids, in an updatable binary heap: arming, moving and cancelling a timer
 * cost O(log n). Among equal deadlines the lower id comes first, so runs repeat exactly.
 *
 * <p>Times are compared by difference and may wrap; all armed deadlines and the "now" asked with
 * must lie within 2^63 - 1 ns of each other. Owned by one thread. Allocates only when an id is
 * larger than every id before.
 */
public final class TimerTable {
    private static final int NOT_ARMED = -1;

    private long[] deadlineNs;
    private int[] heapIndex;
    private int[] heap;
    private int armed;

    /**
     * @param initialIds ids 0..initialIds-1 need no growth; at least 0
     */
    public TimerTable(int initialIds) {
        deadlineNs = new long[initialIds];
        heapIndex = new int[initialIds];
        heap = new int[initialIds];
        Arrays.fill(heapIndex, NOT_ARMED);
    }

    /**
     * Arms the timer {@code id}, or moves it when it is armed already.
     *
     * @param id 0 or more, and small: memory grows with the largest id
     * @param deadlineNs when to expire; {@code Long.MAX_VALUE} means never and cancels
     */
    public void set(int id, long deadlineNs) {
        Invariant.check(id >= 0, "timer id is not negative", id, 0);
        if (deadlineNs == Long.MAX_VALUE) {
            cancel(id);
            return;
        }
        if (id >= heapIndex.length) {
            grow(id);
        }
        int index = heapIndex[id];
        this.deadlineNs[id] = deadlineNs;
        if (index == NOT_ARMED) {
            siftUp(armed++, id);
        } else {
            replace(index, id);
        }
    }

    /** Disarms the timer; nothing happens when it is not armed. */
    public void cancel(int id) {
        if (!isArmed(id)) {
            return;
        }
        int index = heapIndex[id];
        heapIndex[id] = NOT_ARMED;
        int last = heap[--armed];
        if (last != id) {
            replace(index, last);
        }
    }

    public boolean isArmed(int id) {
        return id >= 0 && id < heapIndex.length && heapIndex[id] != NOT_ARMED;
    }

    /** The deadline of one timer, {@code Long.MAX_VALUE} when it is not armed. */
    public long deadlineNs(int id) {
        return isArmed(id) ? deadlineNs[id] : Long.MAX_VALUE;
    }

    /** The earliest deadline, {@code Long.MAX_VALUE} when no timer is armed. */
    public long nextDeadlineNs() {
        return armed == 0 ? Long.MAX_VALUE : deadlineNs[heap[0]];
    }

    /** Takes the earliest timer out and returns its id when it is due at {@code nowNs}, else -1. */
    public int pollExpired(long nowNs) {
        if (armed == 0 || deadlineNs[heap[0]] - nowNs > 0) {
            return -1;
        }
        int id = heap[0];
        cancel(id);
        return id;
    }

    private void grow(int id) {
        int before = heapIndex.length;
        int after = Math.max(id + 1, before * 2);
        deadlineNs = Arrays.copyOf(deadlineNs, after);
        heap = Arrays.copyOf(heap, after);
        heapIndex = Arrays.copyOf(heapIndex, after);
        Arrays.fill(heapIndex, before, after, NOT_ARMED);
    }

    private boolean isEarlier(int id, int other) {
        long difference = deadlineNs[id] - deadlineNs[other];
        return difference < 0 || (difference == 0 && id < other);
    }

    /** Puts {@code id} where {@code index} is, then up or down to where it belongs. */
    private void replace(int index, int id) {
        if (index > 0 && isEarlier(id, heap[(index - 1) >>> 1])) {
            siftUp(index, id);
        } else {
            siftDown(index, id);
        }
    }

    private void siftUp(int start, int id) {
        int index = start;
        while (index > 0) {
            int parent = (index - 1) >>> 1;
            if (!isEarlier(id, heap[parent])) {
                break;
            }
            place(index, heap[parent]);
            index = parent;
        }
        place(index, id);
    }

    private void siftDown(int start, int id) {
        int index = start;
        int firstLeaf = armed >>> 1;
        while (index < firstLeaf) {
            int child = 2 * index + 1;
            if (child + 1 < armed && isEarlier(heap[child + 1], heap[child])) {
                child++;
            }
            if (!isEarlier(heap[child], id)) {
                break;
            }
            place(index, heap[child]);
            index = child;
        }
        place(index, id);
    }

    private void place(int index, int id) {
        heap[index] = id;
        heapIndex[id] = index;
    }
}
