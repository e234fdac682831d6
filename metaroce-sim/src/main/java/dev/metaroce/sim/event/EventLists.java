package dev.metaroce.sim.event;

import java.util.Arrays;

/**
 * Any number of lists of events, each in the order of adding, in blocks of one array: what is added
 * to a list lies together, and what is read from it is read in a row. A list is known by its last
 * block; 0 is the empty list. Allocates only to grow.
 *
 * <p>A block is {@value #BLOCK} longs: the next block (the last one points to the first) and the
 * number of its events, the earliest time of the list as far as this block, and times and events in
 * turn.
 */
final class EventLists {
    /** Longs in a block. */
    static final int BLOCK = 128;

    /** Where in a block the first event is. */
    static final int FIRST = 2;

    /** Events in a block. */
    static final int EVENTS = (BLOCK - FIRST) / 2;

    private static final int COUNT_BITS = 6;
    private static final int COUNT_MASK = (1 << COUNT_BITS) - 1;
    private static final int INITIAL_BLOCKS = 32;

    private long[] blocks = new long[INITIAL_BLOCKS * BLOCK];
    private int unused = BLOCK;
    private int free;

    /** Adds to the end of a list; returns what is the list from now on. */
    int add(int list, long atPs, long what) {
        long[] to = blocks;
        int count = (int) to[list] & COUNT_MASK;
        if (list == 0 || count == EVENTS) {
            return addBlock(list, atPs, what);
        }
        to[list]++;
        if (atPs < to[list + 1]) {
            to[list + 1] = atPs;
        }
        int entry = list + FIRST + 2 * count;
        to[entry] = atPs;
        to[entry + 1] = what;
        return list;
    }

    private int addBlock(int list, long atPs, long what) {
        int block = free;
        if (block != 0) {
            free = next(block);
        } else {
            if (unused == blocks.length) {
                blocks = Arrays.copyOf(blocks, 2 * blocks.length);
            }
            block = unused;
            unused += BLOCK;
        }
        long[] to = blocks;
        int first = block;
        long earliest = atPs;
        if (list != 0) {
            first = next(list);
            earliest = Math.min(earliest, to[list + 1]);
            to[list] = (long) block << COUNT_BITS | EVENTS;
        }
        to[block] = (long) first << COUNT_BITS | 1;
        to[block + 1] = earliest;
        to[block + FIRST] = atPs;
        to[block + FIRST + 1] = what;
        return block;
    }

    /** The block after this one; after the last block, which is the list itself, its first. */
    int next(int block) {
        return (int) (blocks[block] >>> COUNT_BITS);
    }

    /** Events in a block. */
    int count(int block) {
        return (int) blocks[block] & COUNT_MASK;
    }

    /** What holds the blocks, until the next event is added. */
    long[] array() {
        return blocks;
    }

    /** Earliest time in a list that is not empty. */
    long earliestPs(int list) {
        return blocks[list + 1];
    }

    /** Gives back a block that was read; its events and its next block are no longer there. */
    void release(int block) {
        blocks[block] = (long) free << COUNT_BITS;
        free = block;
    }

    /** Moves the events of a list to an array of times and events in turn; returns their end. */
    int moveTo(int list, long[] to, int at) {
        if (list == 0) {
            return at;
        }
        int end = at;
        int block = next(list);
        while (true) {
            int longs = 2 * count(block);
            System.arraycopy(blocks, block + FIRST, to, end, longs);
            end += longs;
            int next = next(block);
            release(block);
            if (block == list) {
                return end;
            }
            block = next;
        }
    }
}
