package dev.metaroce.transport;

import dev.metaroce.event.AsyncEventType;
import dev.metaroce.event.CounterId;
import dev.metaroce.event.EventId;
import dev.metaroce.wire.CommonHeader;
import dev.metaroce.wire.ControlMessage;
import dev.metaroce.wire.ControlOpcode;
import dev.metaroce.wire.DenyReason;
import dev.metaroce.wire.GrantFields;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.PacketMemory;
import dev.metaroce.wire.Profile;
import dev.metaroce.wire.RequestFields;

import org.jspecify.annotations.Nullable;

/**
 * The target's side of leases: answers requests from the CID pool and keeps the waiting line; how
 * contexts come back is in {@link LeaseReturns}. Every answer can be given again from saved state.
 * Owner: the engine thread.
 */
final class LeaseServer {
    private static final int VERSIONS = 1 << CommonHeader.VERSION;

    private final DeviceState device;
    private final DeviceLimits limits;
    private final ConnectionTable connections;
    private final RxContexts contexts;
    private final CidPool pool;
    private final RetryPace retries;
    private final PeerTable peers = new PeerTable();
    private final WaitingLine line;
    private final ReceiverShares shares;
    private final Cookies cookies;
    private final PendingOffers offers = new PendingOffers();
    private RequestFields request = new RequestFields();

    /** The connection that the present request is for, when it is known here. */
    private @Nullable TransportConnection asker;

    private final StaleTokens stale;
    private final Reclaimer reclaimer;
    private final LeaseReturns returns;

    LeaseServer(
            DeviceState device,
            ConnectionTable connections,
            RxContexts contexts,
            CidPool pool,
            ReceiverShares shares) {
        this.device = device;
        this.connections = connections;
        this.contexts = contexts;
        this.pool = pool;
        retries = new RetryPace(device.rng);
        cookies = new Cookies(device.keySource);
        this.shares = shares;
        limits = device.limits;
        line = new WaitingLine(limits.maxWaiters());
        stale = new StaleTokens(device, contexts, pool, peers);
        reclaimer = new Reclaimer(device, contexts, pool, line);
        returns =
                new LeaseReturns(
                        device, this, connections, contexts, pool, peers, line, stale, reclaimer);
    }

    RxContexts contexts() {
        return contexts;
    }

    StaleTokens stale() {
        return stale;
    }

    LeaseReturns returns() {
        return returns;
    }

    /** True when the context is granted under this epoch. */
    boolean holds(int cid, int epoch) {
        return contexts.connection(cid) != null && pool.epoch(cid) == epoch;
    }

    /** The connection whose peer holds this token, or null. */
    @Nullable TransportConnection holder(int token) {
        int cid = CommonHeader.cid(token);
        return holds(cid, CommonHeader.epoch(token)) ? contexts.connection(cid) : null;
    }

    void heard(long nowNs, int cid) {
        //= MR-3.3-11
        contexts.heard(cid, nowNs);
    }

    /** A DATA packet of the holder was accepted. */
    void onAccepted(long nowNs, int cid) {
        heard(nowNs, cid);
        if (pool.state(cid) == SlotState.GRANTED) {
            contexts.noteFirstData(cid, nowNs);
            if (contexts.heldNs(cid, nowNs) < returns.grantTimeNs(cid) / 4) {
                peers.cameEarly(contexts.peer(cid));
            }
            activate(nowNs, cid);
        } else if (contexts.has(cid, RxContexts.ONLY_EARLY)) {
            contexts.noteFirstData(cid, nowNs);
        }
        contexts.unset(cid, RxContexts.ONLY_EARLY);
        reclaimer.onUsed(nowNs, cid);
    }

    /** The message in the REQUEST that this context was granted for was executed. */
    void onEarly(long nowNs, int cid) {
        TransportConnection connection = contexts.connection(cid);
        if (connection != null) {
            //= MR-3.7-8
            connection.rxEarlyNonce = contexts.nonce(cid);
        }
        contexts.set(cid, RxContexts.ONLY_EARLY);
        activate(nowNs, cid);
    }

    private void activate(long nowNs, int cid) {
        //= MR-3.1-11
        pool.activate(cid);
        device.event(nowNs, EventId.CID_ACTIVE, contexts.holderPort(cid), cid, pool.epoch(cid));
    }

    // REQUEST

    /**
     * Answers a request.
     *
     * @return the context granted by it at once, when its message may be executed there; else -1
     */
    int onRequest(long nowNs, PacketMemory m, int at, NetAddress source) {
        device.counters.increment(CounterId.REQUESTS_RECEIVED);
        request.read(m, at);
        asker = known(source);
        if (asker != null) {
            asker.hear(source);
        }
        if (needsCookie(nowNs, source)) {
            // Whoever it is: nothing is remembered of it.
            long cookie = cookies.of(nowNs, source, request.endpointId, request.connectionId);
            deny(nowNs, source, DenyReason.COOKIE, cookie);
            return -1;
        }
        boolean early = mayRunEarly(source);
        int cid = answer(nowNs, source);
        return early ? cid : -1;
    }

    /** True when the message of the request may be executed, should it get a context at once. */
    private boolean mayRunEarly(NetAddress source) {
        //= MR-3.7-7
        return (request.flags & RequestFields.FLAG_EARLY) != 0
                && limits.earlyData()
                && asker != null
                && asker.established
                && asker.isPeer(source);
    }

    /** Answers the request; returns the context that it got just now, or -1. */
    private int answer(long nowNs, NetAddress source) {
        int peer = peers.enter(request.endpointId, request.incarnation, source);
        if (peer < 0) {
            if (asker != null && isNewer(asker)) {
                //= MR-3.7-12
                asker.rxNonce = request.nonce;
            }
            deny(nowNs, source, DenyReason.QUEUE_FULL, retries.refuse(nowNs));
            return -1;
        }
        if (peers.isNew(peer)) {
            retireOlder(nowNs, source);
        }
        if (peers.incarnation(peer) != request.incarnation) {
            // A late request of a process that has restarted since.
            deny(nowNs, source, DenyReason.FINISHED, 0);
            return -1;
        }
        int cid = granted(peer, request.nonce);
        if (cid >= 0) {
            //= MR-3.4-1
            noteRepeat(contexts.connection(cid));
            sendGrant(cid);
            return -1;
        }
        int ticket = line.find(peer, request.nonce);
        if (ticket >= 0) {
            line.heard(ticket, nowNs);
            line.connection(ticket).peerHeardNs = nowNs;
            sendQueued(ticket, source);
            return -1;
        }
        LeaseOffer offered = offerOf(request);
        if (offered != null) {
            //= MR-3.9-3
            offered.heardNs = nowNs;
            sendPending(offered, source);
            return -1;
        }
        if (!peers.isFresh(peer, request.nonce)) {
            deny(nowNs, source, DenyReason.FINISHED, 0);
            return -1;
        }
        // Whatever the answer is: a copy that comes later is not decided on again.
        peers.use(peer, request.nonce);
        Profile profile = profile();
        if (profile == null) {
            deny(nowNs, source, DenyReason.PROFILE, 0);
            return -1;
        }
        TransportConnection connection = connectionOf(nowNs, source, peer);
        if (connection == null) {
            return -1;
        }
        //= MR-3.4-16
        if (!isNewer(connection)) {
            // A late copy. Its sender has gone on, and may hold a context for this connection.
            deny(nowNs, source, DenyReason.FINISHED, 0);
            return -1;
        }
        // Nobody asks while he holds a context: what there is was given up.
        connection.rxNonce = request.nonce;
        connection.rxAddressRoom = addressRoom();
        connection.rxRepeats = 0;
        returns.forget(nowNs, connection);
        LeaseOffer offer = connection.offer;
        return offer == null || isAccepted(nowNs, source, peer, offer)
                ? decide(nowNs, source, peer, connection)
                : -1;
    }

    /** Of how many addresses the answer may tell: it must not be longer than the question. */
    private int addressRoom() {
        //= MR-3.10-2
        return (request.flags & RequestFields.FLAG_CONNECT) == 0
                ? 0
                : ControlMessage.addressRoom(request.addresses.length);
    }

    /** True when the request is newer than all that were decided on for this connection. */
    private boolean isNewer(TransportConnection connection) {
        return connection.rxNonce == 0 || request.nonce - connection.rxNonce > 0;
    }

    /** True for a stranger whose address may be forged, while room is getting scarce. */
    private boolean needsCookie(long nowNs, NetAddress source) {
        boolean crowded =
                2 * pool.waiting() > limits.maxWaiters()
                        || 2 * device.connectionCount() > limits.maxConnections()
                        || peers.isCrowded();
        //= MR-3.8-9
        return crowded
                && asker == null
                && !cookies.isValid(
                        request.cookie, nowNs, source, request.endpointId, request.connectionId);
    }

    /** The connection that the request is for, or null. */
    private @Nullable TransportConnection known(NetAddress source) {
        boolean byAcceptor = (request.flags & RequestFields.FLAG_ACCEPTOR) != 0;
        TransportConnection known =
                connections.find(request.endpointId, request.connectionId, byAcceptor);
        return known == null && byAcceptor
                ? connections.dialledTo(source, request.connectionId)
                : known;
    }

    private static void noteRepeat(@Nullable TransportConnection connection) {
        if (connection != null) {
            connection.rxRepeats++;
        }
    }

    /** The context granted for this request, or -1. */
    private int granted(int peer, long nonce) {
        for (int cid = 0; cid < contexts.end(); cid++) {
            if (contexts.connection(cid) != null
                    && contexts.nonce(cid) == nonce
                    && contexts.peer(cid) == peer) {
                return cid;
            }
        }
        return -1;
    }

    private @Nullable Profile profile() {
        //= MR-3.4-8
        return Profile.best(request.profileMask & limits.profiles());
    }

    private @Nullable TransportConnection connectionOf(long nowNs, NetAddress source, int peer) {
        TransportConnection known = asker;
        if (known != null) {
            if (known.isEnded()) {
                deny(nowNs, source, DenyReason.SERVICE, 0);
                return null;
            }
            if (known.peerEndpointId != request.endpointId) {
                // We dialled it, and it asks before we heard that it accepted.
                connections.bind(known, request.endpointId, request.incarnation);
            }
            connections.move(known, source);
            known.peerHeardNs = nowNs;
            connections.heard(known);
            return known;
        }
        //= MR-3.6-1
        if ((request.flags & RequestFields.FLAG_CONNECT) == 0) {
            deny(nowNs, source, DenyReason.NO_SERVICE, 0);
            return null;
        }
        Acceptor acceptor = connections.service(request.serviceId);
        if (acceptor == null) {
            deny(nowNs, source, DenyReason.NO_SERVICE, 0);
            return null;
        }
        //= MR-3.6-9
        TransportConnection made = connections.make(request, source);
        if (made == null) {
            connections.evictSilent(nowNs);
            deny(nowNs, source, DenyReason.QUEUE_FULL, retries.refuse(nowNs));
            return null;
        }
        made.peerHeardNs = nowNs;
        LeaseOffer offer = new LeaseOffer(made, request, peer, nowNs);
        made.offer = offer;
        acceptor.onRequest(offer);
        return made;
    }

    // Offers to the application

    /** The offer that waits for an answer to this very request, or null. */
    private @Nullable LeaseOffer offerOf(RequestFields asked) {
        TransportConnection c =
                offers.isEmpty()
                        ? null
                        : connections.find(asked.endpointId, asked.connectionId, false);
        LeaseOffer offer = c == null ? null : c.offer;
        return offer != null && offer.request.nonce == asked.nonce ? offer : null;
    }

    /** A request for a connection that is not answered yet; true when it is accepted now. */
    private boolean isAccepted(long nowNs, NetAddress source, int peer, LeaseOffer offer) {
        if (offers.remove(offer)) {
            peers.hold(offer.peer, -1);
        }
        return switch (offer.await()) {
            case ACCEPTED -> {
                settle(offer);
                yield true;
            }
            case PENDING -> {
                hold(nowNs, source, peer, offer);
                yield false;
            }
            case BUSY -> {
                refuse(nowNs, offer, DenyReason.QUEUE_FULL);
                yield false;
            }
            case NONE, REJECTED, WITHDRAWN -> {
                //= MR-3.9-1
                refuse(nowNs, offer, DenyReason.SERVICE);
                yield false;
            }
        };
    }

    /** The peer waits until the application answers. */
    private void hold(long nowNs, NetAddress source, int peer, LeaseOffer offer) {
        //= MR-3.9-4
        if (offers.isFull()) {
            offer.withdraw();
            refuse(nowNs, offer, DenyReason.QUEUE_FULL);
            return;
        }
        offer.peer = peer;
        offer.request = request;
        offer.heardNs = nowNs;
        request = new RequestFields();
        peers.hold(peer, 1);
        offers.add(offer);
        sendPending(offer, source);
        device.armBy(DeviceState.OFFER_TIMER, nowNs + PendingOffers.PERIOD_NS);
    }

    /** Nobody is before it in a line; it waits all the same. */
    private void sendPending(LeaseOffer offer, NetAddress to) {
        //= MR-3.9-3
        RequestFields asked = offer.request;
        device.send(ControlOpcode.QUEUED, to, null, asked.srcCtx, asked.nonce, 0, 0, 0);
    }

    /** The application answered an offer that waited. */
    void onAnswer(long nowNs, LeaseOffer offer) {
        TransportConnection c = offer.connection();
        if (c.offer != offer) {
            return;
        }
        request = offer.request;
        asker = c;
        if (isAccepted(nowNs, c.peer, offer.peer, offer)) {
            decide(nowNs, c.peer, offer.peer, c);
        }
    }

    private static void settle(LeaseOffer offer) {
        TransportConnection c = offer.connection();
        c.offer = null;
        c.privateData = TransportConnection.data(offer.privateData(), offer.privateData().length);
        c.established = true;
        c.state(ConnectionState.OPEN);
        c.notices.raise(AsyncEventType.ESTABLISHED, c, "");
    }

    private void refuse(long nowNs, LeaseOffer offer, DenyReason reason) {
        TransportConnection c = offer.connection();
        c.offer = null;
        c.privateData = TransportConnection.data(offer.privateData(), offer.privateData().length);
        connections.drop(c);
        boolean later = reason == DenyReason.QUEUE_FULL;
        deny(nowNs, c.peer, later ? null : c, reason, later ? retries.refuse(nowNs) : 0);
    }

    /** The connection ended before the application answered. */
    void withdraw(TransportConnection c) {
        LeaseOffer offer = c.offer;
        if (offer != null) {
            c.offer = null;
            offer.withdraw();
            if (offers.remove(offer)) {
                peers.hold(offer.peer, -1);
            }
        }
    }

    /** Offers that nobody answered, or whose peers went away. */
    void onOfferTimer(long nowNs) {
        LeaseOffer overdue = offers.overdue(nowNs);
        while (overdue != null) {
            //= MR-3.9-4
            overdue.withdraw();
            onAnswer(nowNs, overdue);
            overdue = offers.overdue(nowNs);
        }
        if (!offers.isEmpty()) {
            device.timers.set(DeviceState.OFFER_TIMER, nowNs + PendingOffers.PERIOD_NS);
        }
    }

    /** Returns the context granted, or -1. */
    private int decide(long nowNs, NetAddress source, int peer, TransportConnection connection) {
        int ticket =
                line.prepare(
                        peer,
                        request.nonce,
                        request.srcCtx,
                        pathsFor(request),
                        profile() == Profile.M,
                        connection,
                        nowNs);
        if (ticket < 0) {
            deny(nowNs, source, DenyReason.QUEUE_FULL, retries.refuse(nowNs));
            return -1;
        }
        long decision =
                pool.request(nowNs, peer, hostOf(source), ticket, isShortDemand(request.demandKib));
        switch (CidPool.kind(decision)) {
            case GRANT -> {
                grant(nowNs, CidPool.cid(decision), ticket);
                return CidPool.cid(decision);
            }
            case QUEUED -> {
                peers.hold(peer, 1);
                device.counters.increment(CounterId.QUEUED);
                device.event(
                        nowNs, EventId.CID_QUEUED, source.port(), CidPool.position(decision), 0);
                sendQueued(ticket, source);
                reclaimer.askBack(nowNs);
                device.armBy(DeviceState.LINE_TIMER, nowNs + LeaseReturns.LINE_PERIOD_NS);
            }
            case DENY -> {
                line.drop(ticket);
                returns.noteRefused(nowNs);
                DenyReason reason =
                        CidPool.cause(decision) == CidPool.DenyCause.POLICY
                                ? DenyReason.POLICY
                                : DenyReason.QUEUE_FULL;
                deny(nowNs, source, reason, retries.refuse(nowNs));
            }
        }
        return -1;
    }

    /** Stands for the host of an address in the pool; for IPv4 no two have the same. */
    private static int hostOf(NetAddress address) {
        return Long.hashCode(address.low()) + 31 * Long.hashCode(address.high());
    }

    /** A demand of 0 says nothing. */
    private boolean isShortDemand(long demandKib) {
        //= MR-3.8-2
        return demandKib > 0 && demandKib <= limits.shortDemandBytes() >> 10;
    }

    private int pathsFor(RequestFields fields) {
        //= MR-3.4-9
        if (profile() == Profile.S) {
            return 1;
        }
        return Math.clamp(fields.maxPaths, 1, limits.maxPaths());
    }

    void grant(long nowNs, int cid, int ticket) {
        int peer = line.peer(ticket);
        TransportConnection connection = line.connection(ticket);
        //= MR-3.1-10
        contexts.init(
                cid,
                connection,
                peer,
                line.nonce(ticket),
                line.srcCtx(ticket),
                line.paths(ticket),
                line.selective(ticket),
                device.keySource.getAsInt(),
                nowNs);
        line.drop(ticket);
        stale.noteGranted(cid);
        peers.hold(peer, 1);
        connection.rxCid = cid;
        connection.rxLease++;
        shares.onGranted(nowNs, cid);
        device.counters.increment(CounterId.GRANTS);
        device.event(nowNs, EventId.CID_GRANTED, connection.peer.port(), cid, pool.epoch(cid));
        sendGrant(cid);
        returns.armLife(nowNs, cid);
    }

    private void sendGrant(int cid) {
        TransportConnection connection = contexts.connection(cid);
        if (connection != null) {
            device.send(
                    ControlOpcode.GRANT,
                    connection.address(0),
                    connection,
                    contexts.srcCtx(cid),
                    contexts.nonce(cid),
                    CommonHeader.token(cid, pool.epoch(cid)),
                    0,
                    0);
        }
    }

    /** Fills in a GRANT from the saved state of its context; false when that is gone. */
    boolean fillGrant(int token, long nonce, GrantFields grant) {
        int cid = CommonHeader.cid(token);
        TransportConnection connection = contexts.connection(cid);
        if (connection == null
                || !holds(cid, CommonHeader.epoch(token))
                || contexts.nonce(cid) != nonce) {
            return false;
        }
        grant.srcCtx = contexts.srcCtx(cid);
        grant.nonce = nonce;
        grant.endpointId = device.identity.endpointId();
        grant.incarnation = device.identity.incarnation();
        grant.initialPsn = contexts.initialPsn(cid);
        grant.cid = cid;
        grant.epoch = pool.epoch(cid);
        grant.profile = (contexts.selective(cid) ? Profile.M : Profile.S).code();
        grant.paths = contexts.paths(cid);
        grant.mtu = limits.payloadMtu();
        grant.windowKib = shares.windowKib();
        grant.quotaKib = limits.quotaBytes() >> 10;
        grant.quotaTimeUs = limits.quotaTimeNs() / 1_000;
        grant.idleTimeUs = limits.lingerNs() / 1_000;
        grant.rateHint = contexts.rateHint(cid);
        grant.hintSeq = contexts.hintSeq(cid);
        grant.openMessages = limits.openMessages();
        grant.maxReads = limits.maxReads();
        //= MR-3.7-8
        boolean earlyDone = connection.ranEarly(nonce);
        grant.flags = earlyDone ? GrantFields.FLAG_EARLY_DONE : 0;
        grant.poolLoad = earlyDone ? pool.load() : 0;
        grant.connectionId = connection.connectionId;
        grant.addresses = device.identity.addresses(connection.rxAddressRoom);
        byte[] answer = connection.privateData;
        grant.privateLength = connection.dialer ? 0 : answer.length;
        System.arraycopy(answer, 0, grant.privateData, 0, grant.privateLength);
        return true;
    }

    private void sendQueued(int ticket, NetAddress to) {
        int position = pool.position(ticket);
        long waitUs = limits.quotaTimeNs() / 1_000 * position / limits.contexts();
        device.send(
                ControlOpcode.QUEUED,
                to,
                line.connection(ticket),
                line.srcCtx(ticket),
                line.nonce(ticket),
                0,
                (int) Math.min(waitUs, Integer.MAX_VALUE),
                position);
    }

    private void deny(long nowNs, NetAddress to, DenyReason reason, long number) {
        deny(nowNs, to, asker, reason, number);
    }

    /** Says no; the number is the time in us after which to ask again, or the cookie. */
    private void deny(
            long nowNs,
            NetAddress to,
            @Nullable TransportConnection about,
            DenyReason reason,
            long number) {
        device.counters.increment(CounterId.DENIED);
        device.event(nowNs, EventId.CID_DENIED, to.port(), reason.code(), 0);
        //= MR-2.2-6, MR-2.6-2, MR-3.4-13
        device.send(
                ControlOpcode.DENY,
                to,
                about,
                request.srcCtx,
                request.nonce,
                0,
                reason.code(),
                number);
    }

    /** A REQUEST of another protocol version: told which versions are understood. */
    void denyVersion(long nowNs, PacketMemory m, int at, NetAddress source) {
        //= MR-3.4-4
        if (stale.mayAnswer(nowNs)) {
            // Of a version we do not speak only these two fields are known to lie where ours do.
            request.nonce = ControlMessage.nonce(m, at);
            request.srcCtx = RequestFields.srcCtx(m, at);
            asker = null;
            deny(nowNs, source, DenyReason.VERSION, 0);
        }
    }

    static int versions() {
        return VERSIONS;
    }

    // Taking back

    /** A new incarnation at the address of an old one takes nothing over: the old leases end. */
    private void retireOlder(long nowNs, NetAddress source) {
        //= MR-3.4-3
        for (TransportConnection c :
                connections.older(source, request.endpointId, request.incarnation)) {
            if (c.rxCid >= 0) {
                returns.expire(nowNs, c.rxCid, CounterId.RETIRED);
            }
            c.pendingFailure = "the peer restarted";
            device.ready.add(c);
        }
    }
}
