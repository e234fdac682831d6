package dev.metaroce.transport;

import dev.metaroce.ring.WcStatus;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.RequestFields;

import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;

/**
 * The connections of a device by who and which, and the services it offers. Control plane: looked
 * at once per request, never per packet. Owner: the engine thread.
 */
final class ConnectionTable {
    private final DeviceState device;
    private final ConnectionKeys byKey;
    private final LinkedHashMap<Long, Acceptor> services = new LinkedHashMap<>();

    /** Dialled connections whose peer is not known yet, by connection id. */
    private final LinkedHashMap<Long, TransportConnection> dialled = new LinkedHashMap<>();

    // Of connections whose peer is known
    private final ConnectionIndex<NetAddress> byAddress = new ConnectionIndex<>();
    private final ConnectionIndex<Long> byEndpoint = new ConnectionIndex<>();

    /** Those whose peer lost a context by silence and was not heard since. */
    private final ArrayList<TransportConnection> silent = new ArrayList<>();

    private boolean looked;
    private long nextLookNs;

    ConnectionTable(DeviceState device) {
        this.device = device;
        byKey = new ConnectionKeys(device.rng.fork("connections").nextLong());
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
        return byKey.find(peerEndpointId, connectionId, dialedByUs);
    }

    /** A connection of ours starts to ask; who its peer is will be known when it is granted. */
    void dial(TransportConnection connection) {
        dialled.put(connection.connectionId, connection);
    }

    /**
     * The connection that we dialled to this host and that is not established. The side that
     * accepted may ask before we know that it did: its GRANT is lost or late, or we wait in its
     * line. That it knows the connection tells as much.
     */
    @Nullable TransportConnection dialledTo(NetAddress source, long connectionId) {
        TransportConnection c = dialled.get(connectionId);
        //= MR-3.6-8
        return c != null && c.isPeer(source) ? c : null;
    }

    /** A dialled connection learnt who its peer is. */
    void bind(TransportConnection connection, long peerEndpointId, int peerIncarnation) {
        unbind(connection);
        connection.peerEndpointId = peerEndpointId;
        connection.peerIncarnation = peerIncarnation;
        byKey.put(connection);
        connection.peerEntry = byAddress.add(connection.peer, connection);
        connection.endpointEntry = byEndpoint.add(peerEndpointId, connection);
    }

    void unbind(TransportConnection connection) {
        heard(connection);
        dialled.remove(connection.connectionId, connection);
        byKey.remove(connection);
        ConnectionIndex.Entry atAddress = connection.peerEntry;
        if (atAddress != null) {
            byAddress.remove(connection.peer, atAddress);
            connection.peerEntry = null;
        }
        ConnectionIndex.Entry ofEndpoint = connection.endpointEntry;
        if (ofEndpoint != null) {
            byEndpoint.remove(connection.peerEndpointId, ofEndpoint);
            connection.endpointEntry = null;
        }
    }

    /** The peer of a connection asked from this address. */
    void move(TransportConnection connection, NetAddress source) {
        if (connection.planes != null && connection.planes.has(source)) {
            return;
        }
        ConnectionIndex.Entry atAddress = connection.peerEntry;
        if (atAddress != null && !source.equals(connection.peer)) {
            byAddress.remove(connection.peer, atAddress);
            connection.peerEntry = byAddress.add(source, connection);
        }
        connection.peer = source;
    }

    /**
     * Established connections with an older incarnation of the endpoint with this address and port,
     * or of that with this id.
     */
    List<TransportConnection> older(NetAddress source, long endpointId, int incarnation) {
        List<TransportConnection> found = new ArrayList<>();
        addOlder(found, byAddress.newest(source), incarnation);
        addOlder(found, byEndpoint.newest(endpointId), incarnation);
        return found;
    }

    private static void addOlder(
            List<TransportConnection> found,
            ConnectionIndex.@Nullable Entry first,
            int incarnation) {
        for (ConnectionIndex.Entry entry = first; entry != null; entry = entry.older()) {
            TransportConnection c = entry.connection;
            if (c.established && incarnation - c.peerIncarnation > 0) {
                found.add(c);
            }
        }
    }

    /** A connection that a peer asks for; null when the device holds no more. */
    @Nullable TransportConnection make(RequestFields request, NetAddress peer) {
        TransportConnection made =
                new TransportConnection(request.connectionId, false, peer, request.serviceId);
        made.peerPrivateData = TransportConnection.data(request.privateData, request.privateLength);
        made.planes = PeerPlanes.of(peer, request.addresses, device.identity.planes());
        if (!device.add(made)) {
            return null;
        }
        bind(made, request.endpointId, request.incarnation);
        return made;
    }

    /** The peer lost its context because it said nothing: it has the give-up time to ask again. */
    void noteSilent(TransportConnection c) {
        if (!c.peerSilent) {
            c.peerSilent = true;
            silent.add(c);
        }
        if (c.leaseState == LeaseState.IDLE) {
            armIdle(c);
        }
    }

    /**
     * A peer speaks of a lease that it lost by silence, with the nonce of its request: it lives.
     */
    void heardAgain(long nonce, NetAddress source) {
        for (int i = silent.size() - 1; i >= 0; i--) {
            TransportConnection c = silent.get(i);
            if (c.rxNonce == nonce && c.isPeer(source)) {
                heard(c);
            }
        }
    }

    /** The peer lives, or the connection ends. */
    void heard(TransportConnection c) {
        if (c.peerSilent) {
            c.peerSilent = false;
            silent.remove(c);
        }
    }

    /** The timer of a connection without a lease: it runs only while its peer may be dead. */
    void armIdle(TransportConnection c) {
        int timer = DeviceState.timer(c.index, DeviceState.CONNECTION_TIMER);
        if (c.peerSilent) {
            device.timers.set(timer, c.peerHeardNs + device.limits.giveUpNs());
        } else {
            device.timers.cancel(timer);
        }
    }

    /** The time of {@link #armIdle} is over: what a dead peer leaves does not stay for ever. */
    void failSilent(TransportConnection c) {
        //= MR-3.6-11
        if (c.peerSilent) {
            c.pendingFailure = "the peer lost its context by silence and never came back";
            device.ready.add(c);
        }
    }

    /** A connection that was refused, with the queue pairs made for it. */
    void drop(TransportConnection refused) {
        refused.state(ConnectionState.CLOSED);
        for (Stream stream : refused.allStreams()) {
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
