package dev.metaroce.memory;

/**
 * The last {@value #DISTANCE} keys that were freed, so that a peer that still holds one cannot
 * reach a region that was registered a moment later. Guarded by the lock of {@link RegionTable};
 * empty until the first is freed, grows to a fixed size.
 */
final class RetiredKeys {
    /** How many keys must be freed after a key before it may be given out again. */
    static final int DISTANCE = 65_536;

    private static final int INITIAL_CAPACITY = 64;
    private static final int HASH_FACTOR = 0x9E37_79B9;

    // The keys in the order they were freed, and the same keys as an open-addressed set, 0 = free.
    private int[] ring = {};
    private int[] set = {0};
    private int oldest;
    private int size;

    boolean contains(int key) {
        return set[find(key)] == key;
    }

    /** Remembers a key that is not 0 and not yet in; forgets the oldest when there are too many. */
    void add(int key) {
        if (size == DISTANCE) {
            forget(ring[oldest]);
            ring[oldest] = key;
            oldest = (oldest + 1) & (DISTANCE - 1);
        } else {
            if (size == ring.length) {
                grow();
            }
            ring[size] = key;
            size++;
        }
        set[find(key)] = key;
    }

    /** Doubles the tables; {@code oldest} is still 0 then. */
    private void grow() {
        int[] old = ring;
        ring = new int[Math.max(INITIAL_CAPACITY, old.length * 2)];
        set = new int[ring.length * 2];
        for (int i = 0; i < old.length; i++) {
            ring[i] = old[i];
            set[find(old[i])] = old[i];
        }
    }

    /** The place of the key, or the free place where it belongs. The set is at most half full. */
    private int find(int key) {
        int mask = set.length - 1;
        int at = firstPlace(key, mask);
        while (set[at] != 0 && set[at] != key) {
            at = (at + 1) & mask;
        }
        return at;
    }

    /** Removes a key and moves later members of its chain up, so that no markers are needed. */
    private void forget(int key) {
        int mask = set.length - 1;
        int hole = find(key);
        set[hole] = 0;
        int at = (hole + 1) & mask;
        while (set[at] != 0) {
            int distance = (at - firstPlace(set[at], mask)) & mask;
            if (distance >= ((at - hole) & mask)) {
                set[hole] = set[at];
                set[at] = 0;
                hole = at;
            }
            at = (at + 1) & mask;
        }
    }

    private static int firstPlace(int key, int mask) {
        return ((key * HASH_FACTOR) >>> 7) & mask;
    }
}
