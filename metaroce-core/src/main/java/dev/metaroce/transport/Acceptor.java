package dev.metaroce.transport;

/** Decides about incoming connections of a service; called on the engine's thread. */
@FunctionalInterface
public interface Acceptor {
    /** A peer asks: answer the offer now, or later from any thread. */
    void onRequest(Offer offer);
}
