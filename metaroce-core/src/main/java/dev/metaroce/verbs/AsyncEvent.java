package dev.metaroce.verbs;

import dev.metaroce.event.AsyncEventType;

import org.jspecify.annotations.Nullable;

/**
 * Something that happened by itself ({@code ibv_async_event}, {@code rdma_cm_event}).
 *
 * @param type what
 * @param connection the connection it is about, or that of the queue pair; null for a queue that
 *     belongs to none
 * @param source the {@link Connection}, {@link QueuePair} or other queue it is about
 * @param text one line with the reason; empty when the type says it all
 */
public record AsyncEvent(
        AsyncEventType type, @Nullable Connection connection, Object source, String text) {
    @Override
    public String toString() {
        String peer = connection == null ? "" : " peer " + connection.peer();
        return type + peer + (text.isEmpty() ? "" : ": " + text);
    }
}
