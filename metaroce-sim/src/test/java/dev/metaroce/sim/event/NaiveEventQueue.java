package dev.metaroce.sim.event;

import java.util.Comparator;
import java.util.PriorityQueue;

/** What {@link EventQueue} has to do, as simply as possible. */
final class NaiveEventQueue {
    private record Event(long atPs, long order, long what) {}

    private final PriorityQueue<Event> events =
            new PriorityQueue<>(
                    Comparator.comparingLong(Event::atPs).thenComparingLong(Event::order));
    private long added;
    long timePs;
    long event;

    int size() {
        return events.size();
    }

    void add(long atPs, long what) {
        events.add(new Event(atPs, added++, what));
    }

    boolean next() {
        Event next = events.poll();
        if (next == null) {
            return false;
        }
        timePs = next.atPs();
        event = next.what();
        return true;
    }

    long nextTimePs() {
        Event next = events.peek();
        return next == null ? Long.MAX_VALUE : next.atPs();
    }
}
