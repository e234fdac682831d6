package dev.metaroce.transport;

import org.jspecify.annotations.Nullable;

/** Decides about an incoming connection; called on the engine's thread. */
@FunctionalInterface
public interface Acceptor {
    /** Returns the private data of the answer (0..64 bytes), or null to refuse. */
    byte @Nullable [] onRequest(TransportConnection connection, byte[] privateData);
}
