package dev.metaroce.sim.event;

import java.util.Arrays;

/**
 * What is to happen in a simulation, earliest first; what is to happen at one time happens in the
 * order in which it was added. Owned by the simulation's thread; allocates only to grow.
 */
public final class EventQueue {
    private static final int INITIAL_EVENTS = 1024;

    private long[] times = new long[INITIAL_EVENTS];
    private long[] orders = new long[INITIAL_EVENTS];
    private long[] events = new long[INITIAL_EVENTS];
    private int size;
    private long order;
    private long timePs;
    private long event;

    /** Events not taken yet. */
    public int size() {
        return size;
    }

    /**
     * @param atPs when, in picoseconds, not before the time of the event taken last
     * @param what any value; the caller's own
     */
    public void add(long atPs, long what) {
        if (size == times.length) {
            times = Arrays.copyOf(times, size * 2);
            orders = Arrays.copyOf(orders, size * 2);
            events = Arrays.copyOf(events, size * 2);
        }
        int at = size++;
        long mine = order++;
        while (at > 0) {
            int parent = (at - 1) >>> 2;
            if (times[parent] <= atPs) {
                break;
            }
            move(parent, at);
            at = parent;
        }
        put(at, atPs, mine, what);
    }

    private void move(int from, int to) {
        put(to, times[from], orders[from], events[from]);
    }

    private void put(int at, long time, long mine, long what) {
        times[at] = time;
        orders[at] = mine;
        events[at] = what;
    }

    /** Takes the next event; false when there is none. */
    public boolean next() {
        if (size == 0) {
            return false;
        }
        timePs = times[0];
        event = events[0];
        int last = --size;
        long time = times[last];
        long mine = orders[last];
        long what = events[last];
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
        put(at, time, mine, what);
        return true;
    }

    private boolean isEarlier(long time, long mine, int than) {
        return time < times[than] || (time == times[than] && mine < orders[than]);
    }

    /** When the next event happens; Long.MAX_VALUE when there is none. */
    public long nextTimePs() {
        return size == 0 ? Long.MAX_VALUE : times[0];
    }

    /** Time of the event taken last. */
    public long timePs() {
        return timePs;
    }

    /** The event taken last. */
    public long event() {
        return event;
    }
}
