package dev.metaroce.tools.link;

import dev.metaroce.event.CounterId;
import dev.metaroce.event.Counters;

import java.util.Collection;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** The counters of one or several devices at one moment, added up. */
public final class CounterSnapshot {
    private final long[] values = new long[CounterId.values().length];

    private CounterSnapshot() {}

    public static CounterSnapshot of(Collection<Counters> devices) {
        CounterSnapshot sum = new CounterSnapshot();
        for (Counters counters : devices) {
            for (CounterId id : CounterId.values()) {
                sum.values[id.ordinal()] += counters.get(id);
            }
        }
        return sum;
    }

    /** What was counted between {@code earlier} and this. */
    public CounterSnapshot since(CounterSnapshot earlier) {
        CounterSnapshot difference = new CounterSnapshot();
        for (int i = 0; i < values.length; i++) {
            difference.values[i] = values[i] - earlier.values[i];
        }
        return difference;
    }

    public long get(CounterId id) {
        return values[id.ordinal()];
    }

    /** All counts that are not zero, by lower-case name. */
    public Map<String, Long> nonZero() {
        Map<String, Long> result = new TreeMap<>();
        for (CounterId id : CounterId.values()) {
            if (get(id) != 0) {
                result.put(id.name().toLowerCase(Locale.ROOT), get(id));
            }
        }
        return result;
    }
}
