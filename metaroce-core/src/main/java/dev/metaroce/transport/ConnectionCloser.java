package dev.metaroce.transport;

import dev.metaroce.event.AsyncEventType;
import dev.metaroce.event.CounterId;
import dev.metaroce.event.EventId;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.wire.CommonHeader;
import dev.metaroce.wire.ControlMessage;
import dev.metaroce.wire.ControlOpcode;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.PacketMemory;

/**
 * Ends connections: when the application closes them, the peer says so, or they fail. Owner: the
 * engine thread.
 */
final class ConnectionCloser {
    private final DeviceState device;
    private final ConnectionTable connections;
    private final LeaseServer server;
    private final LeaseClient client;

    ConnectionCloser(
            DeviceState device,
            ConnectionTable connections,
            LeaseServer server,
            LeaseClient client) {
        this.device = device;
        this.connections = connections;
        this.server = server;
        this.client = client;
    }

    /** Application: finish posted work, then end. */
    void close(long nowNs, TransportConnection c) {
        if (c.isEnded() || c.state() == ConnectionState.CLOSING) {
            return;
        }
        LeaseOffer offer = c.offer;
        if (offer != null) {
            offer.withdraw();
            server.onAnswer(nowNs, offer);
            return;
        }
        c.state(ConnectionState.CLOSING);
        if (!c.established && !c.hasUnsent()) {
            sayGoodbye(c);
            end(nowNs, c, ConnectionState.CLOSED, WcStatus.WR_FLUSH_ERROR);
        } else if (c.leaseState == LeaseState.IDLE) {
            client.finish(nowNs, c);
        } else {
            client.afterProgress(nowNs, c);
        }
    }

    /** Without a lease: tells the peer until it answers. */
    void disconnect(long nowNs, TransportConnection c) {
        // Without one, the answer finds nobody, and six tries have to do.
        device.sources.give(c);
        c.leaseState = LeaseState.DISCONNECTING;
        c.nonce = client.takeNonce();
        c.wish().attempts = 0;
        sendDisconnect(nowNs, c);
    }

    private void sendDisconnect(long nowNs, TransportConnection c) {
        NetAddress to = c.address(c.wish().attempts);
        c.wish().attempts++;
        device.send(ControlOpcode.DISCONNECT, to, c, c.srcCtx, c.nonce, 0, 0, 0);
        c.wish().retryNs =
                nowNs + (LeaseClient.FIRST_RETRY_NS << Math.min(c.wish().attempts - 1, 5));
        client.arm(nowNs, c);
    }

    /** No answer so far. */
    void onTimer(long nowNs, TransportConnection c) {
        if (c.wish().attempts >= LeaseClient.MAX_RELEASE_TRIES) {
            end(nowNs, c, ConnectionState.CLOSED, WcStatus.WR_FLUSH_ERROR);
        } else {
            sendDisconnect(nowNs, c);
        }
    }

    void onDisconnect(long nowNs, PacketMemory m, int at, NetAddress source) {
        boolean fromDialer = ControlMessage.disconnectFromDialer(m, at);
        TransportConnection c =
                connections.find(
                        ControlMessage.disconnectEndpointId(m, at),
                        ControlMessage.disconnectConnectionId(m, at),
                        !fromDialer);
        //= MR-3.6-4
        if (c != null && c.isPeer(source)) {
            endByPeer(nowNs, c);
        }
        //= MR-3.6-2
        device.send(
                ControlOpcode.DISCONNECT_ACK,
                source,
                null,
                CommonHeader.ctx(m, at),
                ControlMessage.nonce(m, at),
                0,
                0,
                0);
    }

    /** A peer that ends the connection while this process stands still has lost patience. */
    private void endByPeer(long nowNs, TransportConnection c) {
        if (device.wasPausedFor(nowNs, device.limits.giveUpNs() / 2)) {
            fail(nowNs, c, "the peer ended the connection");
        } else {
            end(nowNs, c, ConnectionState.CLOSED, WcStatus.WR_FLUSH_ERROR);
        }
    }

    void onDisconnectAck(long nowNs, PacketMemory m, int at) {
        TransportConnection c = device.sources.holder(CommonHeader.ctx(m, at));
        if (c != null
                && c.leaseState == LeaseState.DISCONNECTING
                && c.nonce == ControlMessage.nonce(m, at)) {
            end(nowNs, c, ConnectionState.CLOSED, WcStatus.WR_FLUSH_ERROR);
        }
    }

    void fail(long nowNs, TransportConnection c, String why) {
        fail(nowNs, c, AsyncEventType.FAILED, why);
    }

    void fail(long nowNs, TransportConnection c, AsyncEventType type, String why) {
        if (c.isEnded()) {
            return;
        }
        device.counters.increment(CounterId.CONNECTIONS_FAILED);
        device.event(nowNs, EventId.CONNECTION_FAILED, c.index, 0, 0);
        c.failure(c + ": " + why + device.pauseText(nowNs) + c.progressText(nowNs));
        // A peer that accepted and had no context to grant knows of the connection too.
        //= MR-3.6-10
        sayGoodbye(c);
        end(nowNs, c, ConnectionState.FAILED, WcStatus.RETRY_EXCEEDED_ERROR);
        c.notices.raise(type, c, c.failure());
    }

    /** Once, as a courtesy: a peer that knows the connection need not find out by time-out. */
    private void sayGoodbye(TransportConnection c) {
        device.send(
                ControlOpcode.DISCONNECT, c.address(0), c, c.srcCtx, client.takeNonce(), 0, 0, 0);
    }

    private void end(
            long nowNs, TransportConnection c, ConnectionState last, WcStatus firstStatus) {
        if (c.isEnded()) {
            return;
        }
        // First the state, then the flush: whoever polls a flushed request can ask what it means.
        c.state(last);
        for (Stream stream : c.allStreams()) {
            stream.end(firstStatus);
        }
        client.dropLease(c);
        server.withdraw(c);
        server.returns().forget(nowNs, c);
        connections.unbind(c);
        device.remove(c);
        if (last == ConnectionState.CLOSED && c.established) {
            c.notices.raise(AsyncEventType.DISCONNECTED, c, "");
        }
    }
}
