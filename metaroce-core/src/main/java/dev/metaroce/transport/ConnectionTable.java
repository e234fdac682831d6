package dev.metaroce.transport;

import dev.metaroce.wire.NetAddress;

import org.jspecify.annotations.Nullable;

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

    /** Offers an incoming connection to its service; null when it is refused. */
    @Nullable TransportConnection accept(
            long peerEndpointId,
            int peerIncarnation,
            long connectionId,
            NetAddress peer,
            long serviceId,
            byte[] offered,
            Acceptor acceptor) {
        TransportConnection made = new TransportConnection(connectionId, false, peer, serviceId);
        made.peerPrivateData = offered;
        if (!device.add(made)) {
            return null;
        }
        byte[] answer = acceptor.onRequest(made, offered);
        if (answer == null) {
            device.remove(made);
            return null;
        }
        made.privateData = answer;
        bind(made, peerEndpointId, peerIncarnation);
        made.established = true;
        made.state(ConnectionState.OPEN);
        return made;
    }

    /** The peer lost its context because it said nothing: it has the give-up time to ask again. */
    void noteSilent(TransportConnection c) {
        c.peerSilent = true;
        if (c.leaseState == LeaseState.IDLE) {
            armIdle(c);
        }
    }

    /**
     * A peer speaks of a lease that it lost by silence, with the nonce of its request: it lives.
     */
    void heardAgain(long nonce, NetAddress source) {
        for (int i = 0; i < device.connectionSlots(); i++) {
            TransportConnection c = device.connection(i);
            if (c != null && c.peerSilent && c.rxNonce == nonce && source.sameHost(c.peer)) {
                c.peerSilent = false;
            }
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
