package dev.metaroce.sim.run;

/**
 * Which contexts a NIC has at hand: those used last. An open hash table of entries that are also in
 * a circle, the one used last first.
 */
final class ContextCache {
    private static final int ROOT = 0;

    private final int mask;

    /** Entry by place in the hash table; 0: free. */
    private final int[] table;

    // By entry, from 1; entry 0 is the root of the circle
    private final int[] keys;
    private final int[] newer;
    private final int[] older;
    private int size;

    /**
     * @param capacity at least 1
     */
    ContextCache(int capacity) {
        table = new int[Integer.highestOneBit(capacity) * 4];
        mask = table.length - 1;
        keys = new int[capacity + 1];
        newer = new int[capacity + 1];
        older = new int[capacity + 1];
    }

    /** Uses a context; false when it had to be fetched, and another forgotten if none was free. */
    boolean use(int key) {
        int place = find(key);
        int entry = table[place];
        boolean known = entry != 0;
        if (known) {
            unlink(entry);
        } else {
            entry = size < keys.length - 1 ? ++size : forgetOldest();
            keys[entry] = key;
            table[find(key)] = entry;
        }
        int first = older[ROOT];
        older[ROOT] = entry;
        newer[entry] = ROOT;
        older[entry] = first;
        newer[first] = entry;
        return known;
    }

    /** Where a key is, or would be put. */
    private int find(int key) {
        int place = home(key);
        while (table[place] != 0 && keys[table[place]] != key) {
            place = (place + 1) & mask;
        }
        return place;
    }

    private int home(int key) {
        return ((key * 0x9E37_79B9) >>> 7) & mask;
    }

    private int forgetOldest() {
        int entry = newer[ROOT];
        unlink(entry);
        int hole = find(keys[entry]);
        table[hole] = 0;
        for (int at = (hole + 1) & mask; table[at] != 0; at = (at + 1) & mask) {
            int wants = home(keys[table[at]]);
            if (((at - wants) & mask) >= ((at - hole) & mask)) {
                table[hole] = table[at];
                table[at] = 0;
                hole = at;
            }
        }
        return entry;
    }

    private void unlink(int entry) {
        newer[older[entry]] = newer[entry];
        older[newer[entry]] = older[entry];
    }
}
