package dev.metaroce.util;

import org.jspecify.annotations.Nullable;

/**
 * First-in-first-out list of what may have packets to send; each item is in it once. The links lie
 * in the items, so that the list needs no memory of its own. Owner: the engine thread.
 */
public final class ReadyList<T extends ReadyList.Item<T>> {
    /** What can be in one list. */
    public abstract static class Item<T> {
        private @Nullable T nextReady;
        private boolean isReady;
    }

    private @Nullable T first;
    private @Nullable T last;

    public void add(T item) {
        Item<T> added = item;
        if (added.isReady) {
            return;
        }
        added.isReady = true;
        added.nextReady = null;
        Item<T> before = last;
        if (before == null) {
            first = item;
        } else {
            before.nextReady = item;
        }
        last = item;
    }

    public @Nullable T first() {
        return first;
    }

    /** Takes the first item out. */
    public @Nullable T poll() {
        T item = first;
        if (item != null) {
            Item<T> taken = item;
            first = taken.nextReady;
            if (first == null) {
                last = null;
            }
            taken.nextReady = null;
            taken.isReady = false;
        }
        return item;
    }

    /** Gives the next item its turn. */
    public void rotate() {
        T item = poll();
        if (item != null) {
            add(item);
        }
    }

    public boolean isEmpty() {
        return first == null;
    }
}
