package dev.metaroce.sim.event;

import java.util.Arrays;

/** Events in a heap of four children a node, earliest first, in the order of adding at one time. */
final class EventHeap {
    private static final int INITIAL_EVENTS = 16;

    private long[] times = new long[INITIAL_EVENTS];
    private long[] orders = new long[INITIAL_EVENTS];
    private long[] events = new long[INITIAL_EVENTS];
    private int size;
    private long order;

    int size() {
        return size;
    }

    /** Time of the first event; there must be one. */
    long timePs() {
        return times[0];
    }

    /** The first event; there must be one. */
    long event() {
        return events[0];
    }

    void add(long atPs, long what) {
        if (size == times.length) {
            times = Arrays.copyOf(times, size * 2);
            orders = Arrays.copyOf(orders, size * 2);
            events = Arrays.copyOf(events, size * 2);
        }
        int at = size++;
        while (at > 0) {
            int parent = (at - 1) >>> 2;
            if (times[parent] <= atPs) {
                break;
            }
            move(parent, at);
            at = parent;
        }
        put(at, atPs, order++, what);
    }

    private void move(int from, int to) {
        put(to, times[from], orders[from], events[from]);
    }

    private void put(int at, long time, long mine, long what) {
        times[at] = time;
        orders[at] = mine;
        events[at] = what;
    }

    /** Removes the first event; there must be one. */
    void remove() {
        int last = --size;
        long time = times[last];
        long mine = orders[last];
        int at = 0;
        while (true) {
            int best = 4 * at + 1;
            if (best >= last) {
                break;
            }
            int end = Math.min(best + 4, last);
            for (int child = best + 1; child < end; child++) {
                if (isEarlier(times[child], orders[child], best)) {
                    best = child;
                }
            }
            if (isEarlier(time, mine, best)) {
                break;
            }
            move(best, at);
            at = best;
        }
        put(at, time, mine, events[last]);
    }

    private boolean isEarlier(long time, long mine, int than) {
        return time < times[than] || (time == times[than] && mine < orders[than]);
    }
}
