package dev.metaroce.transport;

import org.jspecify.annotations.Nullable;

import java.util.LinkedHashMap;

/**
 * Connections by something that several of them may share. Adding and removing take constant time,
 * and so does finding the first; the others follow it, newest first. Owner: the engine thread.
 */
final class ConnectionIndex<K> {
    /** One connection under one key. */
    static final class Entry {
        final TransportConnection connection;
        private @Nullable Entry newer;
        private @Nullable Entry older;

        private Entry(TransportConnection connection) {
            this.connection = connection;
        }

        @Nullable Entry older() {
            return older;
        }
    }

    private final LinkedHashMap<K, Entry> newest = new LinkedHashMap<>();

    /** The newest entry of a key, or null. */
    @Nullable Entry newest(K key) {
        return newest.get(key);
    }

    Entry add(K key, TransportConnection connection) {
        Entry entry = new Entry(connection);
        Entry before = newest.put(key, entry);
        if (before != null) {
            before.newer = entry;
            entry.older = before;
        }
        return entry;
    }

    /** Takes out what {@link #add} gave for this key. */
    void remove(K key, Entry entry) {
        Entry newer = entry.newer;
        Entry older = entry.older;
        if (older != null) {
            older.newer = newer;
        }
        if (newer != null) {
            newer.older = older;
        } else if (older != null) {
            newest.put(key, older);
        } else {
            newest.remove(key);
        }
    }
}
