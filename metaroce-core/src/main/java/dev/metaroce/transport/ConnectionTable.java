package dev.metaroce.transport;

import dev.metaroce.ring.WcStatus;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.RequestFields;

import org.jspecify.annotations.Nullable;

import java.util.Arrays;
import java.util.LinkedHashMap;

/**
 * The connections of a device by who and which, and the services it offers. Control plane: looked
 * at once per request, never per packet. Owner: the engine thread.
 */
final class ConnectionTable {
    private record Key(long peerEndpointId, long connectionId, boolean dialedByUs) {}

    private final DeviceState device;
    private final LinkedHashMap<Key, TransportConnection> byKey = new LinkedHashMap<>();
    private final LinkedHashMap<Long, Acceptor> services = new LinkedHashMap<>();

    private boolean looked;
    private long nextLookNs;

    ConnectionTable(DeviceState device) {
        this.device = device;
    }

    void listen(long serviceId, Acceptor acceptor) {
        services.put(serviceId, acceptor);
    }

    void unlisten(long serviceId) {
        services.remove(serviceId);
    }

    @Nullable Acceptor service(long serviceId) {
        return services.get(serviceId);
    }

    @Nullable TransportConnection find(long peerEndpointId, long connectionId, boolean dialedByUs) {
        return byKey.get(new Key(peerEndpointId, connectionId, dialedByUs));
    }

    /** A dialled connection learnt who its peer is. */
    void bind(TransportConnection connection, long peerEndpointId, int peerIncarnation) {
        connection.peerEndpointId = peerEndpointId;
        connection.peerIncarnation = peerIncarnation;
        byKey.put(new Key(peerEndpointId, connection.connectionId, connection.dialer), connection);
    }

    void unbind(TransportConnection connection) {
        byKey.remove(
                new Key(connection.peerEndpointId, connection.connectionId, connection.dialer));
    }

    /** A connection that a peer asks for; null when the device holds no more. */
    @Nullable TransportConnection make(RequestFields request, NetAddress peer) {
        TransportConnection made =
                new TransportConnection(request.connectionId, false, peer, request.serviceId);
        made.peerPrivateData = Arrays.copyOf(request.privateData, request.privateLength);
        if (!device.add(made)) {
            return null;
        }
        bind(made, request.endpointId, request.incarnation);
        return made;
    }

    /** A connection that was refused, with the queue pairs made for it. */
    void drop(TransportConnection refused) {
        refused.state(ConnectionState.CLOSED);
        for (Stream stream : refused.streams()) {
            stream.fail(WcStatus.WR_FLUSH_ERROR);
        }
        unbind(refused);
        device.remove(refused);
    }

    /**
     * The table of connections is full: of those that peers opened, hold no context and have
     * nothing to send, the one heard least lately gives way, if its peer was silent for the give-up
     * time. Strangers ask often while the table is full, so it is not looked through again before
     * one of them can have been silent for that long.
     */
    void evictSilent(long nowNs) {
        if (looked && nowNs - nextLookNs < 0) {
            return;
        }
        looked = true;
        nextLookNs = nowNs + device.limits.giveUpNs();
        TransportConnection victim = null;
        for (int i = 0; i < device.connectionSlots(); i++) {
            TransportConnection c = device.connection(i);
            if (c == null || c.dialer || c.rxCid >= 0 || c.leaseState != LeaseState.IDLE) {
                continue;
            }
            long silentNs = c.peerHeardNs + device.limits.giveUpNs();
            nextLookNs = silentNs - nextLookNs < 0 ? silentNs : nextLookNs;
            if (nowNs - silentNs >= 0
                    && (victim == null || c.peerHeardNs - victim.peerHeardNs < 0)) {
                victim = c;
            }
        }
        if (victim != null) {
            victim.pendingFailure = "silent for long, and its place is needed";
            device.ready.add(victim);
        }
    }
}
