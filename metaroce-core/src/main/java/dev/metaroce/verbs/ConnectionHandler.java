package dev.metaroce.verbs;

/**
 * Decides about incoming connections of a service; called on the engine's thread, must not block.
 */
@FunctionalInterface
public interface ConnectionHandler {
    /**
     * A peer asks for a connection. Accept or reject it here, or keep the request and do so later
     * from any thread.
     */
    void onRequest(ConnectionRequest request);
}
