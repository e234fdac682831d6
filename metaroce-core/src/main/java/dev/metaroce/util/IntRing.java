package dev.metaroce.util;

import java.util.Arrays;

/**
 * A first-in-first-out row of ints whose memory comes with use: it starts small and doubles, up to
 * what its owner lets wait at once. Elements can be looked at and moved in place, oldest first.
 *
 * <p>Owned by one thread. Allocates only when it holds more than ever before.
 */
public final class IntRing {
    private static final int FIRST_SLOTS = 4;

    private static final int[] NONE = {};

    // The length is a power of two, or 0 before the first element.
    private int[] slots = NONE;
    private int head;
    private int size;

    public int size() {
        return size;
    }

    public boolean isEmpty() {
        return size == 0;
    }

    /** Adds behind the newest. */
    public void add(int value) {
        if (size == slots.length) {
            grow();
        }
        slots[index(size)] = value;
        size++;
    }

    /** Takes the oldest; there must be one. */
    public int poll() {
        Invariant.check(size > 0, "a ring that is polled holds something");
        int value = slots[head];
        head = index(1);
        size--;
        return value;
    }

    /** The element {@code at} places behind the oldest, 0..size-1. */
    public int get(int at) {
        return slots[index(at)];
    }

    /** Replaces the element {@code at} places behind the oldest, 0..size-1. */
    public void set(int at, int value) {
        slots[index(at)] = value;
    }

    /** Takes the element {@code at} places behind the oldest out; newer ones move up. */
    public void remove(int at) {
        Invariant.check(at >= 0 && at < size, "a removed element is there", at, size);
        for (int i = at + 1; i < size; i++) {
            set(i - 1, get(i));
        }
        size--;
    }

    private int index(int at) {
        return (head + at) & (slots.length - 1);
    }

    private void grow() {
        int[] old = slots;
        slots = Arrays.copyOf(old, Math.max(FIRST_SLOTS, old.length * 2));
        // What had wrapped around goes behind the rest.
        System.arraycopy(old, 0, slots, old.length, head);
    }
}
