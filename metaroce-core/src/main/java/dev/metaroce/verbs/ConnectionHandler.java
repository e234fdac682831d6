package dev.metaroce.verbs;

/**
 * Decides about incoming connections of a service; called on the engine's thread, must not block.
 */
@FunctionalInterface
public interface ConnectionHandler {
    /**
     * A peer asks for a connection. Create the queue pairs here, so that they exist before the
     * first packet.
     *
     * @param connection the new connection; keep it to answer
     * @param privateData what the peer gave to connect, 0..64 bytes
     * @return the private data of the answer (0..64 bytes) to accept, null to refuse
     */
    byte @org.jspecify.annotations.Nullable [] onRequest(Connection connection, byte[] privateData);
}
