package dev.metaroce.sim.event;

/**
 * Events of the near future in a ring of buckets, each with all events of a short while, in the
 * order of adding. A bucket holds a few events itself, so that an event costs one place in memory,
 * and buckets are read in a row; what is more goes to a list. The ring fits into the second-level
 * cache of a processor.
 */
final class NearEvents {
    /** Buckets in the ring. */
    static final int BUCKETS = 4096;

    private static final int MASK = BUCKETS - 1;

    /** Longs of a bucket: its list and the number of its own events; unused; its own events. */
    private static final int BUCKET = 16;

    private static final int FIRST = 2;
    private static final int EVENTS = DueEvents.FEW;
    private static final int COUNT_BITS = 4;
    private static final int COUNT_MASK = (1 << COUNT_BITS) - 1;

    private final EventLists lists;
    private final long[] buckets = new long[BUCKETS * BUCKET];
    private final long[] full = new long[BUCKETS / Long.SIZE];
    private long fullWords;

    NearEvents(EventLists lists) {
        this.lists = lists;
    }

    void add(long bucket, long atPs, long what) {
        int slot = (int) bucket & MASK;
        int at = slot * BUCKET;
        long[] to = buckets;
        long head = to[at];
        int count = (int) head & COUNT_MASK;
        if (count == EVENTS) {
            int list = lists.add((int) (head >>> COUNT_BITS), atPs, what);
            to[at] = (long) list << COUNT_BITS | EVENTS;
            return;
        }
        to[at] = head + 1;
        int entry = at + FIRST + 2 * count;
        to[entry] = atPs;
        to[entry + 1] = what;
        int word = slot / Long.SIZE;
        long before = full[word];
        full[word] = before | 1L << slot;
        if (before == 0) {
            fullWords |= 1L << word;
        }
    }

    /** How far the first bucket with events is from {@code bucket} on; -1 when there is none. */
    int distance(long bucket) {
        int from = (int) bucket & MASK;
        int word = from / Long.SIZE;
        long rest = full[word] >>> from;
        if (rest != 0) {
            return Long.numberOfTrailingZeros(rest);
        }
        if (fullWords == 0) {
            return -1;
        }
        int first = word + 1;
        int further = first + Long.numberOfTrailingZeros(Long.rotateRight(fullWords, first));
        word = further & (full.length - 1);
        return (word * Long.SIZE + Long.numberOfTrailingZeros(full[word]) - from) & MASK;
    }

    /** Earliest time in a bucket with events. */
    long earliestPs(long bucket) {
        int at = ((int) bucket & MASK) * BUCKET;
        int list = (int) (buckets[at] >>> COUNT_BITS);
        long earliest = list == 0 ? Long.MAX_VALUE : lists.earliestPs(list);
        int end = end(at);
        for (int i = at + FIRST; i < end; i += 2) {
            earliest = Math.min(earliest, buckets[i]);
        }
        return earliest;
    }

    private int end(int at) {
        return at + FIRST + 2 * ((int) buckets[at] & COUNT_MASK);
    }

    /** Moves the events of a bucket to {@code due}, which is empty. */
    void moveTo(long bucket, DueEvents due) {
        int slot = (int) bucket & MASK;
        int at = slot * BUCKET;
        int list = (int) (buckets[at] >>> COUNT_BITS);
        due.fill(buckets, at + FIRST, end(at));
        if (list != 0) {
            due.append(lists, list);
        }
        clear(slot);
    }

    private void clear(int slot) {
        buckets[slot * BUCKET] = 0;
        int word = slot / Long.SIZE;
        full[word] &= ~(1L << slot);
        if (full[word] == 0) {
            fullWords &= ~(1L << word);
        }
    }

    /** Moves everything to an array of times and events in turn; returns the end. */
    int moveTo(long[] to, int at) {
        int end = at;
        for (int distance = distance(0); distance >= 0; distance = distance(0)) {
            int bucket = distance * BUCKET;
            int longs = end(bucket) - bucket - FIRST;
            System.arraycopy(buckets, bucket + FIRST, to, end, longs);
            end = lists.moveTo((int) (buckets[bucket] >>> COUNT_BITS), to, end + longs);
            clear(distance);
        }
        return end;
    }
}
