package dev.metaroce.util;

import java.util.Arrays;

/**
 * Deadlines keyed by small ids, in an updatable binary heap: arming, moving and cancelling a timer
 * cost O(log n). Among equal deadlines the lower id comes first, so runs repeat exactly.
 *
 * <p>Times are compared by difference and may wrap; all armed deadlines and the "now" asked with
 * must lie within 2^63 - 1 ns of each other. Owned by one thread. Allocates only when an id is
 * larger than every id before, or more timers are armed than ever before.
 */
public final class TimerTable {
    private static final int NOT_ARMED = -1;
    private static final int FIRST_ARMED = 4;

    /** By id: the place in the heap. */
    private int[] heapIndex;

    private int[] heapId = new int[FIRST_ARMED];
    private long[] heapDeadlineNs = new long[FIRST_ARMED];
    private int armed;

    /**
     * @param initialIds ids 0..initialIds-1 need no growth; at least 0
     */
    public TimerTable(int initialIds) {
        heapIndex = new int[initialIds];
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
            growIds(id);
        }
        int index = heapIndex[id];
        if (index == NOT_ARMED) {
            if (armed == heapId.length) {
                heapId = Arrays.copyOf(heapId, armed * 2);
                heapDeadlineNs = Arrays.copyOf(heapDeadlineNs, armed * 2);
            }
            siftUp(armed++, id, deadlineNs);
        } else {
            replace(index, id, deadlineNs);
        }
    }

    /** Disarms the timer; nothing happens when it is not armed. */
    public void cancel(int id) {
        if (!isArmed(id)) {
            return;
        }
        int index = heapIndex[id];
        heapIndex[id] = NOT_ARMED;
        armed--;
        if (index != armed) {
            replace(index, heapId[armed], heapDeadlineNs[armed]);
        }
    }

    public boolean isArmed(int id) {
        return id >= 0 && id < heapIndex.length && heapIndex[id] != NOT_ARMED;
    }

    /** The deadline of one timer, {@code Long.MAX_VALUE} when it is not armed. */
    public long deadlineNs(int id) {
        return isArmed(id) ? heapDeadlineNs[heapIndex[id]] : Long.MAX_VALUE;
    }

    /** The earliest deadline, {@code Long.MAX_VALUE} when no timer is armed. */
    public long nextDeadlineNs() {
        return armed == 0 ? Long.MAX_VALUE : heapDeadlineNs[0];
    }

    /** Takes the earliest timer out and returns its id when it is due at {@code nowNs}, else -1. */
    public int pollExpired(long nowNs) {
        if (armed == 0 || heapDeadlineNs[0] - nowNs > 0) {
            return -1;
        }
        int id = heapId[0];
        cancel(id);
        return id;
    }

    private void growIds(int id) {
        int before = heapIndex.length;
        int after = Math.max(id + 1, before * 2);
        heapIndex = Arrays.copyOf(heapIndex, after);
        Arrays.fill(heapIndex, before, after, NOT_ARMED);
    }

    /** True when a timer comes before the one at a place of the heap. */
    private boolean isEarlier(int id, long deadlineNs, int place) {
        long difference = deadlineNs - heapDeadlineNs[place];
        return difference < 0 || (difference == 0 && id < heapId[place]);
    }

    /** Puts {@code id} where {@code index} is, then up or down to where it belongs. */
    private void replace(int index, int id, long deadlineNs) {
        if (index > 0 && isEarlier(id, deadlineNs, (index - 1) >>> 1)) {
            siftUp(index, id, deadlineNs);
        } else {
            siftDown(index, id, deadlineNs);
        }
    }

    private void siftUp(int start, int id, long deadlineNs) {
        int index = start;
        while (index > 0) {
            int parent = (index - 1) >>> 1;
            if (!isEarlier(id, deadlineNs, parent)) {
                break;
            }
            place(index, heapId[parent], heapDeadlineNs[parent]);
            index = parent;
        }
        place(index, id, deadlineNs);
    }

    private void siftDown(int start, int id, long deadlineNs) {
        int index = start;
        int firstLeaf = armed >>> 1;
        while (index < firstLeaf) {
            int child = 2 * index + 1;
            if (child + 1 < armed
                    && isEarlier(heapId[child + 1], heapDeadlineNs[child + 1], child)) {
                child++;
            }
            if (isEarlier(id, deadlineNs, child)) {
                break;
            }
            place(index, heapId[child], heapDeadlineNs[child]);
            index = child;
        }
        place(index, id, deadlineNs);
    }

    private void place(int index, int id, long deadlineNs) {
        heapId[index] = id;
        heapDeadlineNs[index] = deadlineNs;
        heapIndex[id] = index;
    }
}
