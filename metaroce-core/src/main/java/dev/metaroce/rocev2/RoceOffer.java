package dev.metaroce.rocev2;

import dev.metaroce.transport.Offer;

/** An offer, and the messages it is about. Owner: the engine thread. */
final class RoceOffer extends Offer {
    final Exchange exchange;

    RoceOffer(Exchange exchange) {
        this.exchange = exchange;
    }

    @Override
    public RcConnection connection() {
        return exchange.connection;
    }
}
