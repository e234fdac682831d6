package dev.metaroce.sim.event;

/**
 * Events beyond the window of {@link NearEvents}, coarser the farther they are. Times count in
 * steps of that window. A list holds what differs from the next step in the same digit (of {@value
 * #DIGIT_BITS} bits) and not in a higher one, and has the same value there. When the next step gets
 * that value, the list is spread over the lower digits. So every time has one list at any moment,
 * and what is added at one time stays in order.
 */
final class FarEvents {
    private static final int DIGIT_BITS = 10;
    private static final int DIGITS = 1 << DIGIT_BITS;
    private static final int LEVELS = (Long.SIZE - 1 + DIGIT_BITS - 1) / DIGIT_BITS;
    private static final int WORDS = DIGITS / Long.SIZE;

    private final EventLists lists;
    private final int[] list = new int[LEVELS * DIGITS];
    private final long[] full = new long[LEVELS * WORDS];
    private final int[] fullOfLevel = new int[LEVELS];
    private int levels;
    private int stepShift;
    private long nextStep;

    FarEvents(EventLists lists) {
        this.lists = lists;
    }

    /** The earliest step that is not in the window. */
    long nextStep() {
        return nextStep;
    }

    boolean isEmpty() {
        return levels == 0;
    }

    /** Steps are 2^{@code shift} ps from now on; nothing may be here. */
    void restart(int shift, long step) {
        stepShift = shift;
        nextStep = step;
    }

    /**
     * @param atPs at or after the beginning of {@link #nextStep()}
     */
    void add(long atPs, long what) {
        long step = atPs >>> stepShift;
        int level = level(step);
        int index = index(level, step);
        int before = list[index];
        list[index] = lists.add(before, atPs, what);
        if (before == 0) {
            full[index / Long.SIZE] |= 1L << index;
            fullOfLevel[level]++;
            levels |= 1 << level;
        }
    }

    private int level(long step) {
        int highestBit = Long.SIZE - 1 - Long.numberOfLeadingZeros((step ^ nextStep) | 1);
        return highestBit / DIGIT_BITS;
    }

    private static int index(int level, long step) {
        return level << DIGIT_BITS | ((int) (step >>> (level * DIGIT_BITS)) & (DIGITS - 1));
    }

    /** The list with the earliest events; there must be some. */
    private int earliest() {
        int word = Integer.numberOfTrailingZeros(levels) * WORDS;
        while (full[word] == 0) {
            word++;
        }
        return word * Long.SIZE + Long.numberOfTrailingZeros(full[word]);
    }

    /** The earliest time; there must be some event. */
    long earliestPs() {
        return lists.earliestPs(list[earliest()]);
    }

    private int take(int index) {
        int taken = list[index];
        if (taken != 0) {
            list[index] = 0;
            full[index / Long.SIZE] &= ~(1L << index);
            int level = index >>> DIGIT_BITS;
            if (--fullOfLevel[level] == 0) {
                levels &= ~(1 << level);
            }
        }
        return taken;
    }

    /** Takes the list of the next step, and goes on to the one after it. */
    int takeStep() {
        int taken = take(index(0, nextStep));
        advance(nextStep + 1);
        return taken;
    }

    /**
     * Makes another step the next one.
     *
     * @param step not after any event
     */
    void advance(long step) {
        int level = level(step);
        nextStep = step;
        if (level == 0) {
            return;
        }
        int spread = take(index(level, step));
        if (spread == 0) {
            return;
        }
        int block = lists.next(spread);
        while (true) {
            int end = block + EventLists.FIRST + 2 * lists.count(block);
            for (int i = block + EventLists.FIRST; i < end; i += 2) {
                long[] from = lists.array();
                add(from[i], from[i + 1]);
            }
            int next = lists.next(block);
            lists.release(block);
            if (block == spread) {
                return;
            }
            block = next;
        }
    }

    /** Moves everything to an array of times and events in turn; returns the end. */
    int moveTo(long[] to, int at) {
        int end = at;
        while (!isEmpty()) {
            end = lists.moveTo(take(earliest()), to, end);
        }
        return end;
    }
}
