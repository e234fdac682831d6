package dev.metaroce.transport;

import org.jspecify.annotations.Nullable;

/** First-in-first-out list of connections that may have packets to send; each is in it once. */
final class ReadyList {
    private @Nullable TransportConnection first;
    private @Nullable TransportConnection last;

    void add(TransportConnection connection) {
        if (connection.isReady) {
            return;
        }
        connection.isReady = true;
        connection.nextReady = null;
        if (last == null) {
            first = connection;
        } else {
            last.nextReady = connection;
        }
        last = connection;
    }

    @Nullable TransportConnection poll() {
        TransportConnection connection = first;
        if (connection != null) {
            first = connection.nextReady;
            if (first == null) {
                last = null;
            }
            connection.nextReady = null;
            connection.isReady = false;
        }
        return connection;
    }

    boolean isEmpty() {
        return first == null;
    }
}
