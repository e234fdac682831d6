package dev.metaroce.sim.event;

import dev.metaroce.util.Invariant;

/**
 * What is to happen in a simulation, earliest first; what is to happen at one time happens in the
 * order in which it was added. Owned by the simulation's thread; allocates only to grow.
 *
 * <p>The future is in three parts. A window of {@link NearEvents#BUCKETS} buckets begins after the
 * bucket that is open; what lies beyond waits in {@link FarEvents} and moves into the window a step
 * at a time. The next bucket with events is opened, and that means sorted ({@link DueEvents}), when
 * the one before has been used up. At any moment each time belongs to one place, which keeps what
 * was added to it in order, so that no event carries its number. The width of buckets is a power of
 * two that follows what the buckets were found to hold.
 */
public final class EventQueue {
    private static final int INITIAL_SHIFT = 10;
    private static final int MIN_SHIFT = 1; // so that the end of the window is always a long
    private static final int MAX_SHIFT = 50;
    private static final int STEP_BITS = 9;
    private static final long STEP = 1L << STEP_BITS;
    private static final int MIN_CHECK_EVENTS = 1024;

    /** So much in the heap of the open bucket says that the bucket is too wide. */
    private static final int CROWDED_HEAP = 8;

    private final EventLists lists = new EventLists();
    private final DueEvents due = new DueEvents();
    private final NearEvents near = new NearEvents(lists);
    private final FarEvents far = new FarEvents(lists);
    private final BucketLoad load = new BucketLoad();
    private int size;

    /** Width of a bucket: 2^shift ps. */
    private int shift = INITIAL_SHIFT;

    private long open;
    private long windowEnd;

    public EventQueue() {
        startWindow();
    }

    private void startWindow() {
        open = (timePs() >> shift) - 1;
        long step = (open + NearEvents.BUCKETS) >> STEP_BITS;
        windowEnd = step << STEP_BITS;
        far.restart(shift + STEP_BITS, step);
    }

    /** Events not taken yet. */
    public int size() {
        return size;
    }

    /**
     * @param atPs when, in picoseconds, not before the time of the event taken last
     * @param what any value; the caller's own
     * @throws dev.metaroce.util.InvariantViolation when {@code atPs} is negative: a time that left
     *     the range of a long
     */
    public void add(long atPs, long what) {
        Invariant.check(atPs >= 0, "events have a time", atPs, what);
        size++;
        place(atPs, what);
        if (due.heaped() >= checkEvents()) {
            narrow();
        }
    }

    private void place(long atPs, long what) {
        long bucket = atPs >> shift;
        if (bucket <= open) {
            due.add(atPs, what);
        } else if (bucket < windowEnd) {
            near.add(bucket, atPs, what);
        } else {
            far.add(atPs, what);
        }
    }

    /** Takes the next event; false when there is none. */
    public boolean next() {
        if (due.isEmpty()) {
            if (size == 0) {
                return false;
            }
            openNext();
        }
        size--;
        due.take();
        return true;
    }

    private void openNext() {
        if (load.events() >= checkEvents()) {
            changeWidth(load.widthChange());
        }
        long before = open;
        int distance = near.distance(open + 1);
        if (distance < 0) {
            jump();
            distance = near.distance(open + 1);
        }
        open += distance + 1;
        near.moveTo(open, due);
        load.add(open - before, due.count(), due.distinctTimes());
        extendWindow();
    }

    /** Goes on to the first of the far events, since nothing is near. */
    private void jump() {
        long atPs = far.earliestPs();
        open = (atPs >> shift) - 1;
        far.advance(atPs >>> (shift + STEP_BITS));
        windowEnd = far.nextStep() << STEP_BITS;
        extendWindow();
    }

    private void extendWindow() {
        while (windowEnd + STEP - NearEvents.BUCKETS <= open) {
            windowEnd += STEP;
            int list = far.takeStep();
            if (list != 0) {
                moveNear(list);
            }
        }
    }

    private void moveNear(int list) {
        int block = lists.next(list);
        while (true) {
            int end = block + EventLists.FIRST + 2 * lists.count(block);
            for (int i = block + EventLists.FIRST; i < end; i += 2) {
                long[] from = lists.array();
                near.add(from[i] >> shift, from[i], from[i + 1]);
            }
            int next = lists.next(block);
            lists.release(block);
            if (block == list) {
                return;
            }
            block = next;
        }
    }

    /** To change the width costs as much as to move all events: not before as many have gone. */
    private int checkEvents() {
        return Math.max(MIN_CHECK_EVENTS, size);
    }

    private void narrow() {
        int heap = due.recountHeaped();
        if (heap > CROWDED_HEAP) {
            changeWidth(-BucketLoad.bits(heap / BucketLoad.WANTED));
        }
    }

    private void changeWidth(int bits) {
        load.restart();
        due.recountHeaped();
        int changed = Math.clamp(shift + bits, MIN_SHIFT, MAX_SHIFT);
        if (changed == shift) {
            return;
        }
        long[] all = new long[2 * size];
        int end = due.moveTo(all, 0);
        end = near.moveTo(all, end);
        end = far.moveTo(all, end);
        shift = changed;
        startWindow();
        for (int i = 0; i < end; i += 2) {
            place(all[i], all[i + 1]);
        }
    }

    /** Width of a bucket, which has no influence on what comes next, but on how soon. */
    long bucketPs() {
        return 1L << shift;
    }

    /** When the next event happens; Long.MAX_VALUE when there is none. */
    public long nextTimePs() {
        if (!due.isEmpty()) {
            return due.earliestPs();
        }
        if (size == 0) {
            return Long.MAX_VALUE;
        }
        int distance = near.distance(open + 1);
        return distance < 0 ? far.earliestPs() : near.earliestPs(open + 1 + distance);
    }

    /** Time of the event taken last. */
    public long timePs() {
        return due.timePs();
    }

    /** The event taken last. */
    public long event() {
        return due.event();
    }
}
