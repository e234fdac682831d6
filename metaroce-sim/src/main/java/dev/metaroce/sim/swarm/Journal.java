package dev.metaroce.sim.swarm;

import dev.metaroce.event.EventId;

/** The last things that happened in a run, and a hash of all of them. */
final class Journal {
    private static final int ENTRIES = 48;
    private static final long PRIME = 0x9E37_79B9_7F4A_7C15L;

    private final String[] what = new String[ENTRIES];
    private final long[] times = new long[ENTRIES];
    private final long[] hosts = new long[ENTRIES];
    private final long[] numbers = new long[3 * ENTRIES];
    private long count;
    private long hash;

    void note(long nowNs, int host, EventId id, long a, long b, long c) {
        note(nowNs, host, id.name(), a, b, c);
    }

    void note(long nowNs, int host, String name, long a, long b, long c) {
        int at = (int) (count++ % ENTRIES);
        what[at] = name;
        times[at] = nowNs;
        hosts[at] = host;
        numbers[3 * at] = a;
        numbers[3 * at + 1] = b;
        numbers[3 * at + 2] = c;
        mix(nowNs);
        mix(host * 1_000L + name.hashCode());
        mix(a);
        mix(b);
        mix(c);
    }

    void mix(long value) {
        hash = (Long.rotateLeft(hash, 23) ^ value) * PRIME;
    }

    long hash() {
        return hash;
    }

    /** Oldest first, one line each. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder();
        for (long i = Math.max(0, count - ENTRIES); i < count; i++) {
            int at = (int) (i % ENTRIES);
            text.append("  ").append(times[at]).append(" ns h").append(hosts[at]);
            text.append(' ').append(what[at]);
            for (int j = 0; j < 3; j++) {
                text.append(' ').append(numbers[3 * at + j]);
            }
            text.append('\n');
        }
        return text.toString();
    }
}
