package dev.metaroce.sim.workload;

import java.util.Arrays;

/** A list of ints for each of some keys, in one array; immutable. */
final class IntLists {
    private final int[] starts;
    private final int[] items;

    /**
     * @param lists keys are 0..lists-1
     * @param keys of which list each item is; negative: of none
     * @param values the items; items of one key stay in order
     * @param count how many of keys and values there are
     */
    IntLists(int lists, int[] keys, int[] values, int count) {
        starts = new int[lists + 1];
        for (int i = 0; i < count; i++) {
            if (keys[i] >= 0) {
                starts[keys[i] + 1]++;
            }
        }
        for (int list = 0; list < lists; list++) {
            starts[list + 1] += starts[list];
        }
        items = new int[starts[lists]];
        int[] next = Arrays.copyOf(starts, lists);
        for (int i = 0; i < count; i++) {
            if (keys[i] >= 0) {
                items[next[keys[i]]++] = values[i];
            }
        }
    }

    int size(int key) {
        return starts[key + 1] - starts[key];
    }

    int item(int key, int index) {
        return items[starts[key] + index];
    }
}
