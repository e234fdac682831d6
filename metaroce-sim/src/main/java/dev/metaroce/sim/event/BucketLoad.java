package dev.metaroce.sim.event;

/** What the buckets that were opened held, and what that says about their width. */
final class BucketLoad {
    /** With more different times than this about an event, sorting is what costs. */
    private static final int MANY = 8;

    static final int WANTED = 4;

    private int events;
    private int opened;
    private long skippedBits;
    private long company;
    private long distinctCompany;

    /** Events in the buckets so far. */
    int events() {
        return events;
    }

    void restart() {
        events = 0;
        opened = 0;
        skippedBits = 0;
        company = 0;
        distinctCompany = 0;
    }

    /**
     * @param distance from the bucket opened before, at least 1
     */
    void add(long distance, int count, int distinctTimes) {
        events += count;
        opened++;
        skippedBits += bits(distance);
        company += (long) count * count;
        distinctCompany += (long) count * distinctTimes;
    }

    /** By how many bits buckets should be wider; negative: narrower. */
    int widthChange() {
        // About an average event, not in an average bucket: where the events are is what counts.
        double distinct = (double) distinctCompany / events;
        if (distinct > MANY) {
            return -bits((long) (distinct / WANTED));
        }
        if (distinct > 2.5 && company > (long) MANY * events) {
            return -1;
        }
        // Buckets with many events of one time do not matter, however few of them there are.
        if (distinct < 1.5 && events < 1.5 * opened) {
            return 1 + (int) (skippedBits / opened);
        }
        return 0;
    }

    /** Floor of the binary logarithm. */
    static int bits(long value) {
        return Long.SIZE - 1 - Long.numberOfLeadingZeros(value);
    }
}
