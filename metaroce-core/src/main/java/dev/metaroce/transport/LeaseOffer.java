package dev.metaroce.transport;

import dev.metaroce.wire.RequestFields;

/** An offer with what the peer asked for last. Owner: the engine thread. */
final class LeaseOffer extends Offer {
    private final TransportConnection connection;
    RequestFields request;
    int peer;
    final long offeredNs;
    long heardNs;

    LeaseOffer(TransportConnection connection, RequestFields request, int peer, long nowNs) {
        this.connection = connection;
        this.request = request;
        this.peer = peer;
        offeredNs = nowNs;
        heardNs = nowNs;
    }

    @Override
    public TransportConnection connection() {
        return connection;
    }
}
