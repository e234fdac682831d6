package dev.metaroce.tools.link;

import dev.metaroce.event.EventId;
import dev.metaroce.event.EventSink;

import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLongArray;

/** Counts events by kind; written by the engine's thread, readable from any. */
public final class EventTally implements EventSink {
    private final AtomicLongArray counts = new AtomicLongArray(EventId.values().length);

    @Override
    public void onEvent(long nowNs, EventId id, long a, long b, long c) {
        counts.setOpaque(id.ordinal(), counts.getOpaque(id.ordinal()) + 1);
    }

    public long count(EventId id) {
        return counts.getOpaque(id.ordinal());
    }

    /** All counts that are not zero, by lower-case name. */
    public Map<String, Long> nonZero() {
        Map<String, Long> result = new TreeMap<>();
        for (EventId id : EventId.values()) {
            if (count(id) != 0) {
                result.put(id.name().toLowerCase(Locale.ROOT), count(id));
            }
        }
        return result;
    }
}
