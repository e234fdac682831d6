package dev.metaroce.verbs;

import dev.metaroce.transport.Offer;
import dev.metaroce.wire.NetAddress;

/**
 * A peer asks for a connection ({@code RDMA_CM_EVENT_CONNECT_REQUEST}). It is answered once, on any
 * thread; until then the peer waits, at most ten seconds, and is refused then. A peer whose answer
 * was lost asks again, and is offered again.
 */
public final class ConnectionRequest {
    private static final byte[] NOTHING = {};

    private final RdmaDevice device;
    private final Offer offer;
    private final Connection connection;

    ConnectionRequest(RdmaDevice device, Offer offer, Connection connection) {
        this.device = device;
        this.offer = offer;
        this.connection = connection;
    }

    public NetAddress peer() {
        return connection.peer();
    }

    /** What the peer gave to connect, 0..64 bytes. */
    public byte[] privateData() {
        return connection.peerPrivateData();
    }

    /**
     * The connection, CONNECTING until it is accepted. Create its queue pairs and post receives
     * before that, so that they are there when the first packet comes.
     */
    public Connection connection() {
        return connection;
    }

    /** True when the peer went away or waited for too long: an answer would do nothing. */
    public boolean isWithdrawn() {
        return offer.isWithdrawn();
    }

    /** Accepts without private data. */
    public Connection accept() {
        return accept(NOTHING);
    }

    /**
     * Accepts ({@code rdma_accept}).
     *
     * @param privateData 0..64 bytes for the peer
     * @return the connection; it may have ended when the peer went away meanwhile
     * @throws IllegalStateException when the request was answered before
     */
    public Connection accept(byte[] privateData) {
        RdmaDevice.requirePrivateData(privateData);
        if (offer.accept(privateData)) {
            device.answered(offer);
        }
        return connection;
    }

    /** Rejects without private data. */
    public void reject() {
        reject(NOTHING);
    }

    /**
     * Rejects ({@code rdma_reject}); the connection is CLOSED then.
     *
     * @param privateData 0..64 bytes for the peer, who finds them in {@link
     *     Connection#peerPrivateData} and in the text of the failure
     * @throws IllegalStateException when the request was answered before
     */
    public void reject(byte[] privateData) {
        RdmaDevice.requirePrivateData(privateData);
        if (offer.reject(privateData)) {
            device.answered(offer);
        }
    }

    /** Has the peer ask again later. */
    void busy() {
        if (offer.busy()) {
            device.answered(offer);
        }
    }

    /** True when it was answered or withdrawn. */
    boolean isOver() {
        return offer.isOver();
    }

    @Override
    public String toString() {
        return "request of " + peer() + " for a connection";
    }
}
