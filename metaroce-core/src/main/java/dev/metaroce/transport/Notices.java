package dev.metaroce.transport;

import dev.metaroce.event.AsyncEventType;

/**
 * Who wants to know what happens to connections and queues between completions. Called on the
 * engine's thread; must not block.
 */
@FunctionalInterface
public interface Notices {
    /** Nobody. */
    Notices NONE = (type, about, text) -> {};

    /**
     * @param about a {@link TransportConnection}, a {@link Stream} or another queue
     * @param text one line, or empty when the type says it all
     */
    void raise(AsyncEventType type, Object about, String text);
}
