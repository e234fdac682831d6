package dev.metaroce.rocev2;

import dev.metaroce.event.AsyncEventType;
import dev.metaroce.event.CounterId;
import dev.metaroce.transport.Acceptor;
import dev.metaroce.transport.ConnectionState;
import dev.metaroce.transport.Offer;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.PacketMemory;
import dev.metaroce.wire.TxBatch;

/**
 * Makes queue pairs of two endpoints known to each other, by messages to queue pair 1. Owner: the
 * engine thread.
 */
final class Connector {
    private final RoceState device;

    Connector(RoceState device) {
        this.device = device;
    }

    /** Starts to connect. */
    void dial(long nowNs, RcConnection c) {
        c.fail(nowNs, AsyncEventType.FAILED, "connect it by hand");
    }

    void listen(long serviceId, Acceptor acceptor) {}

    void unlisten(long serviceId) {}

    /** The application answered an offer that was waiting. */
    void onAnswer(long nowNs, Offer offer) {}

    /** A queue pair that is not connected was made, or has work. */
    void onUnconnected(long nowNs, RcQueuePair qp) {}

    /** A packet came for a queue pair that was waiting to hear that the other end is ready. */
    void onFirstPacket(long nowNs, RcQueuePair qp) {
        qp.toReadyToSend();
    }

    /** Posted work is finished, or there is nobody to send it to: the peer is to be told. */
    void disconnect(long nowNs, RcConnection c) {
        c.end();
    }

    /** A datagram for queue pair 1 that passed the door. */
    void onDatagram(long nowNs, PacketMemory m, int at, int bytes, NetAddress source) {
        device.count(CounterId.MALFORMED);
    }

    /** The system refused to send to an address. */
    void onUnsent(NetAddress to, String why) {}

    /** A timer with role CONNECTOR_TIMER expired. */
    void onTimer(long nowNs, int number) {}

    boolean isQuiet() {
        return true;
    }

    /** Appends what may be sent now; returns the packets. */
    int pollTransmit(long nowNs, TxBatch batch) {
        return 0;
    }

    /** The application closes a connection that is not open. */
    void abandon(long nowNs, RcConnection c) {
        if (c.state() == ConnectionState.CONNECTING) {
            c.end();
        }
    }
}
