package dev.metaroce.rocev2;

import dev.metaroce.event.AsyncEventType;
import dev.metaroce.event.CounterId;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.rocev2.Exchange.State;
import dev.metaroce.transport.Acceptor;
import dev.metaroce.transport.ConnectionState;
import dev.metaroce.transport.Offer;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.PacketMemory;
import dev.metaroce.wire.TxBatch;
import dev.metaroce.wire.roce.CmMessage;
import dev.metaroce.wire.roce.CmMessage.IpAddresses;
import dev.metaroce.wire.roce.CmReject;
import dev.metaroce.wire.roce.PathMtu;
import dev.metaroce.wire.roce.RoceUdp;

import org.jspecify.annotations.Nullable;

import java.nio.ByteBuffer;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Makes queue pairs of two endpoints known to each other, by messages to queue pair 1
 * (docs/rocev2.md, section 4).
 *
 * <pre>
 *   who dials                          who listens
 *      REQ  ----------------------------->  offered to the application
 *           <----------------------------  (MRA, while it thinks)
 *           <----------------------------  REP, or REJ
 *      RTU  ----------------------------->  connected, also by a packet for the queue pair
 *     DREQ  <--------- either ----------->  DREP
 * </pre>
 *
 * <p>REQ, REP and DREQ are sent again until they are answered; duplicates are answered alike. The
 * first queue pair of a connection goes with the REQ that asks for the connection; each further one
 * has a REQ of its own, to a service that only we have. Owner: the engine thread.
 */
final class Connector {
    /** Private data that an application may give to connect. */
    static final int MOST_PRIVATE_BYTES = IpAddresses.USER_BYTES;

    /** When a message is sent again first; then after twice the time, and so on. */
    private static final long RESEND_NS = 50_000_000L;

    private static final long LONGEST_RESEND_NS = 2_000_000_000L;

    /** How often a REQ or REP is sent again, the most that a REQ can tell. */
    static final int MOST_RESENT = 15;

    private static final int MOST_DREQ_RESENT = 4;

    /** So long the application may think, or wait with its queue pair. */
    private static final long ANSWER_NS = 10_000_000_000L;

    /** How long an exchange that is over is known. */
    private static final long TIME_WAIT_NS = 1_000_000_000L;

    private static final String CLOSED_TOO_EARLY =
            "its first queue pair was closed before it was connected";

    private static final long CM_TIMEOUT_UNIT_NS = 4_096;
    private static final int LONGEST_CM_TIMEOUT = 24;

    private final RoceState device;
    private final Exchanges exchanges;
    private final CmOutbox outbox;
    private final Map<Long, Acceptor> acceptors = new LinkedHashMap<>();
    private final CmMessages messages;
    private @Nullable NetAddress unsentTo;
    private String unsentWhy = "";

    Connector(RoceState device) {
        this.device = device;
        exchanges = device.exchanges;
        outbox = new CmOutbox(device);
        messages = new CmMessages(device);
    }

    // Application

    /** Starts to connect. */
    void dial(long nowNs, RcConnection c) {
        if (c.isEnded()) {
            return;
        }
        NetAddress peer = RoceState.withPort(c.peer(), RoceUdp.PORT);
        Exchange e = exchanges.open(c, 0, peer, nowNs);
        if (e == null) {
            c.fail(nowNs, AsyncEventType.FAILED, "the device has no room for another connection");
            return;
        }
        c.exchange = e;
        RcQueuePair qp = e.queuePair();
        if (qp != null && qp.isClosing()) {
            onClosed(nowNs, qp);
        } else if (qp != null) {
            ask(nowNs, e, qp, device.mtu);
        } else if (c.connectNs != 0) {
            arm(e, nowNs + c.connectNs);
        }
    }

    void listen(long serviceId, Acceptor acceptor) {
        acceptors.put(serviceId, acceptor);
    }

    void unlisten(long serviceId) {
        acceptors.remove(serviceId);
    }

    /** The application answered an offer that was waiting. */
    void onAnswer(long nowNs, Offer offer) {
        if (offer instanceof RoceOffer answered && answered.exchange.state == State.OFFERED) {
            settle(nowNs, answered);
        }
    }

    /** A queue pair that is not connected was made, or has work. */
    void onUnconnected(long nowNs, RcQueuePair qp) {
        RcConnection c = qp.connection;
        Exchange e = exchangeOf(qp);
        if (e != null && e.state == State.NEW) {
            ask(nowNs, e, qp, device.mtu);
        } else if (e != null && e.state == State.ACCEPTED) {
            reply(nowNs, e, qp);
        } else if (e == null
                && c.kind == RcConnection.Kind.DIALED
                && c.state() == ConnectionState.OPEN) {
            askFurther(nowNs, c, qp);
        }
    }

    /** The application closed a queue pair; its connection goes on if it can. */
    void onClosed(long nowNs, RcQueuePair qp) {
        Exchange e = exchangeOf(qp);
        if (e == null || qp.connection.isEnded()) {
            return;
        }
        boolean connected = e.state == State.REP_SENT || e.state == State.ESTABLISHED;
        if (e.stream != 0 && connected) {
            sayGoodbye(nowNs, e);
        } else if (e.stream != 0) {
            leave(nowNs, e);
        } else if (qp.connection.state() == ConnectionState.CONNECTING) {
            leave(nowNs, e);
            qp.connection.fail(nowNs, AsyncEventType.FAILED, CLOSED_TOO_EARLY);
        }
    }

    /** A packet came for a queue pair that was waiting to hear that the other end is ready. */
    void onFirstPacket(long nowNs, RcQueuePair qp) {
        Exchange e = exchangeOf(qp);
        if (e != null && e.state == State.REP_SENT) {
            establish(nowNs, e, qp);
        }
    }

    /** Posted work is finished, or there is nobody to send it to: the peer is to be told. */
    void disconnect(long nowNs, RcConnection c) {
        Exchange e = c.exchange;
        if (e == null) {
            c.end();
        } else if (e.state == State.ESTABLISHED) {
            sayGoodbye(nowNs, e);
        }
    }

    /** The application closes a connection that is not open. */
    void abandon(long nowNs, RcConnection c) {
        Exchange e = c.exchange;
        if (e != null) {
            leave(nowNs, e);
        }
        c.end();
    }

    /** Tells the peer that nothing comes of it, unless nothing was said, or a DREQ says it. */
    private void leave(long nowNs, Exchange e) {
        switch (e.state) {
            case REQ_SENT, OFFERED, ACCEPTED ->
                    refuse(nowNs, e, CmReject.TIMEOUT, RcConnection.NO_DATA);
            case NEW, REP_SENT, ESTABLISHED, DREQ_SENT, OVER -> {}
        }
    }

    // Messages

    /** A datagram for queue pair 1 that passed the door. */
    void onDatagram(long nowNs, PacketMemory m, int at, int bytes, NetAddress source) {
        NetAddress from = RoceState.withPort(source, RoceUdp.PORT);
        switch (CmMessage.parse(m, at, bytes)) {
            case CmMessage.Req req -> onReq(nowNs, req, from);
            case CmMessage.OtherReq req -> {
                device.count(CounterId.BAD_VERSION);
                outbox.add(from, CmMessages.refusal(req, CmReject.VERSION));
            }
            case CmMessage.Mra mra -> onMra(nowNs, mra, from);
            case CmMessage.Rep rep -> onRep(nowNs, rep, from);
            case CmMessage.Rtu rtu -> onRtu(nowNs, rtu, from);
            case CmMessage.Rej rej -> onRej(nowNs, rej, from);
            case CmMessage.Dreq dreq -> onDreq(nowNs, dreq, from);
            case CmMessage.Drep drep -> onDrep(nowNs, drep, from);
            case null -> device.count(CounterId.MALFORMED);
        }
    }

    private void onReq(long nowNs, CmMessage.Req req, NetAddress from) {
        Exchange known = exchanges.findAsked(req.localId(), from);
        if (known != null && known.transactionId == req.transactionId()) {
            again(known);
            return;
        }
        if (known != null) {
            // The peer restarted and uses its number again.
            end(nowNs, known);
            exchanges.close(known);
        }
        int mtu = PathMtu.bytes(req.mtu());
        if (mtu == 0 || mtu > device.mtu) {
            outbox.add(from, CmMessages.refusal(req, CmReject.MTU));
        } else if (req.serviceId() == CmMessages.FURTHER_SERVICE) {
            onFurther(nowNs, req, from);
        } else {
            offer(nowNs, req, from);
        }
    }

    /** A duplicate of a REQ gets what the first one got. */
    private void again(Exchange e) {
        CmMessage latest = e.latest;
        switch (e.state) {
            case OFFERED, ACCEPTED -> outbox.add(e.peer, CmMessages.askToWait(e));
            case REP_SENT, ESTABLISHED, OVER -> {
                if (latest instanceof CmMessage.Rep || latest instanceof CmMessage.Rej) {
                    outbox.add(e.peer, latest);
                }
            }
            case NEW, REQ_SENT, DREQ_SENT -> {
                // The peer cannot have asked, or is told already that it is over.
            }
        }
    }

    private void offer(long nowNs, CmMessage.Req req, NetAddress from) {
        long serviceId = IpAddresses.fromWire(req.serviceId());
        Acceptor acceptor = acceptors.get(serviceId);
        if (acceptor == null) {
            outbox.add(from, CmMessages.refusal(req, CmReject.NO_SERVICE));
            return;
        }
        RcConnection c =
                new RcConnection(
                        device,
                        RcConnection.Kind.ACCEPTED,
                        Integer.toUnsignedLong(req.localId()),
                        from,
                        serviceId);
        c.peerPrivateData = IpAddresses.user(req);
        Exchange e = answering(nowNs, c, 0, req, from);
        if (e == null) {
            outbox.add(from, CmMessages.refusal(req, CmReject.NO_RESOURCES));
            return;
        }
        c.exchange = e;
        e.state = State.OFFERED;
        RoceOffer offer = new RoceOffer(e);
        e.offer = offer;
        acceptor.onRequest(offer);
        settle(nowNs, offer);
    }

    private @Nullable Exchange answering(
            long nowNs, RcConnection c, int stream, CmMessage.Req req, NetAddress from) {
        Exchange e = exchanges.open(c, stream, from, nowNs);
        if (e != null) {
            e.asked = req;
            e.remoteId = req.localId();
            e.transactionId = req.transactionId();
            e.mtu = PathMtu.bytes(req.mtu());
            exchanges.remember(e);
        }
        return e;
    }

    /** Does what the application answered, if it did. */
    private void settle(long nowNs, RoceOffer offer) {
        Exchange e = offer.exchange;
        RcConnection c = e.connection;
        switch (offer.await()) {
            case NONE, PENDING -> {
                arm(e, nowNs + ANSWER_NS);
                outbox.add(e.peer, CmMessages.askToWait(e));
            }
            case ACCEPTED -> {
                e.state = State.ACCEPTED;
                c.privateData = offer.privateData();
                RcQueuePair qp = e.queuePair();
                if (qp == null) {
                    arm(e, nowNs + ANSWER_NS);
                } else {
                    reply(nowNs, e, qp);
                }
            }
            case REJECTED -> {
                refuse(nowNs, e, CmReject.CONSUMER, offer.privateData());
                c.end();
            }
            case BUSY, WITHDRAWN -> {
                // Forgotten, so that it is offered anew when the peer sends its REQ again.
                exchanges.close(e);
                device.timers.cancel(timer(e));
                c.end();
            }
        }
    }

    /** The peer names a connection by its number of the first exchange, and a queue pair. */
    private void onFurther(long nowNs, CmMessage.Req req, NetAddress from) {
        ByteBuffer data = ByteBuffer.wrap(req.privateData().bytes());
        Exchange first = exchanges.findAsked(data.getInt(), from);
        int stream = data.getInt();
        if (first == null || first.connection.isEnded()) {
            outbox.add(from, CmMessages.refusal(req, CmReject.UNKNOWN_ID));
            return;
        }
        RcConnection c = first.connection;
        RcQueuePair[] all = c.qps();
        if (stream < 1 || stream >= all.length) {
            // The application may make it yet: the peer asks again.
            return;
        }
        RcQueuePair qp = all[stream];
        Exchange e =
                qp.state() == QpState.INIT && qp.exchange == null
                        ? answering(nowNs, c, stream, req, from)
                        : null;
        if (e == null) {
            outbox.add(from, CmMessages.refusal(req, CmReject.NO_RESOURCES));
            return;
        }
        qp.exchange = e;
        reply(nowNs, e, qp);
    }

    private void onMra(long nowNs, CmMessage.Mra mra, NetAddress from) {
        Exchange e = exchanges.find(mra.remoteId(), from);
        if (e != null && (e.state == State.REQ_SENT || e.state == State.REP_SENT)) {
            e.resent = 0;
            e.heard = "the peer has not decided";
            arm(e, nowNs + (CM_TIMEOUT_UNIT_NS << Math.min(mra.timeout(), LONGEST_CM_TIMEOUT)));
        }
    }

    private void onRep(long nowNs, CmMessage.Rep rep, NetAddress from) {
        Exchange e = exchanges.find(rep.remoteId(), from);
        RcQueuePair qp = e == null ? null : e.queuePair();
        if (e == null || qp == null) {
            outbox.add(from, CmMessages.refusal(rep));
        } else if (e.state == State.ESTABLISHED && e.remoteId == rep.localId()) {
            outbox.add(from, CmMessages.readyToUse(e));
        } else if (e.state == State.REQ_SENT) {
            e.remoteId = rep.localId();
            RoceConnect end = end(e, qp, rep.qpn(), rep.responderResources());
            if (!qp.toReadyToReceive(end, rep.psn())) {
                onClosed(nowNs, qp);
                return;
            }
            if (e.stream == 0) {
                e.connection.peerPrivateData = rep.privateData().bytes();
            }
            outbox.add(from, CmMessages.readyToUse(e));
            establish(nowNs, e, qp);
        }
    }

    private void onRtu(long nowNs, CmMessage.Rtu rtu, NetAddress from) {
        Exchange e = exchanges.find(rtu.remoteId(), from);
        RcQueuePair qp = e == null ? null : e.queuePair();
        if (e != null && qp != null && e.state == State.REP_SENT) {
            establish(nowNs, e, qp);
        }
    }

    private void onRej(long nowNs, CmMessage.Rej rej, NetAddress from) {
        Exchange e =
                rej.remoteId() == 0
                        ? exchanges.findAsked(rej.localId(), from)
                        : exchanges.find(rej.remoteId(), from);
        if (e == null) {
            return;
        }
        switch (e.state) {
            case REQ_SENT -> onRefused(nowNs, e, rej);
            case OFFERED, ACCEPTED, REP_SENT -> {
                // Who asked went away, or has no use for the answer.
                over(nowNs, e);
                giveUp(nowNs, e, AsyncEventType.FAILED, "the peer went away");
            }
            case NEW, ESTABLISHED, DREQ_SENT, OVER -> {
                // Too late.
            }
        }
    }

    private void onRefused(long nowNs, Exchange e, CmMessage.Rej rej) {
        RcQueuePair qp = e.queuePair();
        if (rej.reason() == CmReject.MTU.code() && e.mtu > PathMtu.MIN_BYTES && qp != null) {
            e.mtu /= 2;
            e.transactionId++;
            send(nowNs, e, messages.request(e, qp));
            return;
        }
        CmReject reason = CmReject.of(rej.reason());
        boolean mayChange = reason == CmReject.NO_SERVICE || reason == CmReject.NO_RESOURCES;
        if (reason != null && mayChange && timeToConnectNs(e) != 0 && qp != null) {
            // Asked anew when the REQ would be sent again.
            e.heard = reason.text();
            e.transactionId++;
            e.latest = messages.request(e, qp);
            return;
        }
        over(nowNs, e);
        if (reason == CmReject.CONSUMER) {
            e.connection.peerPrivateData = rej.privateData().bytes();
        }
        giveUp(nowNs, e, AsyncEventType.REJECTED, whyRefused(rej, reason));
    }

    private static String whyRefused(CmMessage.Rej rej, @Nullable CmReject reason) {
        if (reason == null) {
            return "the peer refused, reason " + rej.reason();
        }
        return rej.version() == 0
                ? reason.text()
                : reason.text() + ": " + rej.version() + ", and we " + CmMessage.VERSION;
    }

    private void onDreq(long nowNs, CmMessage.Dreq dreq, NetAddress from) {
        outbox.add(from, CmMessage.Drep.to(dreq));
        Exchange e = exchanges.find(dreq.remoteId(), from);
        if (e != null && e.remoteId == dreq.localId()) {
            end(nowNs, e);
        }
    }

    private void onDrep(long nowNs, CmMessage.Drep drep, NetAddress from) {
        Exchange e = exchanges.find(drep.remoteId(), from);
        if (e != null && e.state == State.DREQ_SENT) {
            end(nowNs, e);
        }
    }

    /** The system refused to send to an address. */
    void onUnsent(NetAddress to, String why) {
        unsentTo = to;
        unsentWhy = why;
    }

    // Time

    /** A timer with role CONNECTOR_TIMER expired. */
    void onTimer(long nowNs, int place) {
        Exchange e = exchanges.at(place);
        if (e == null) {
            return;
        }
        switch (e.state) {
            case NEW -> {
                over(nowNs, e);
                giveUp(nowNs, e, AsyncEventType.UNREACHABLE, "no queue pair was made in time");
            }
            case OFFERED, ACCEPTED -> {
                refuse(nowNs, e, CmReject.TIMEOUT, RcConnection.NO_DATA);
                e.connection.end();
            }
            case REQ_SENT, REP_SENT -> {
                long limitNs = timeToConnectNs(e);
                boolean goesOn = nowNs - e.startedNs < limitNs;
                if (limitNs == 0 ? e.resent < MOST_RESENT : goesOn) {
                    resend(nowNs, e);
                } else {
                    if (!e.heard.isEmpty()) {
                        leave(nowNs, e);
                    }
                    over(nowNs, e);
                    giveUp(nowNs, e, AsyncEventType.UNREACHABLE, whyNoAnswer(e));
                }
            }
            case DREQ_SENT -> {
                if (e.resent < MOST_DREQ_RESENT) {
                    resend(nowNs, e);
                } else {
                    end(nowNs, e);
                }
            }
            case OVER -> exchanges.close(e);
            case ESTABLISHED -> {
                // A timer of before.
            }
        }
    }

    /** How long we may ask, in nanoseconds; 0 when messages are counted instead. */
    private static long timeToConnectNs(Exchange e) {
        return e.stream == 0 ? e.connection.connectNs : 0;
    }

    private String whyNoAnswer(Exchange e) {
        NetAddress to = unsentTo;
        boolean unsent = to != null && to.sameHost(e.peer);
        String none = "no answer after " + (e.resent + 1) + " messages";
        String why = e.heard.isEmpty() ? none + (unsent ? ": " + unsentWhy : "") : e.heard;
        long limitNs = timeToConnectNs(e);
        return limitNs == 0 ? why : "not connected within " + limitNs / 1_000_000 + " ms: " + why;
    }

    boolean isQuiet() {
        return outbox.isEmpty() && exchanges.dropped.isEmpty();
    }

    /** Appends what may be sent now; returns the packets. */
    int pollTransmit(long nowNs, TxBatch batch) {
        while (!exchanges.dropped.isEmpty()) {
            Exchange e = exchanges.dropped.poll();
            switch (e.state) {
                case REP_SENT, ESTABLISHED -> {
                    if (e.stream == 0) {
                        sayGoodbye(nowNs, e);
                    } else {
                        over(nowNs, e);
                    }
                }
                case NEW, REQ_SENT, OFFERED, ACCEPTED -> over(nowNs, e);
                case DREQ_SENT, OVER -> {
                    // It knows.
                }
            }
        }
        return outbox.pollTransmit(batch);
    }

    // Steps of an exchange

    private void ask(long nowNs, Exchange e, RcQueuePair qp, int mtu) {
        e.state = State.REQ_SENT;
        e.transactionId = Integer.toUnsignedLong(e.localId) << 8;
        e.mtu = mtu;
        send(nowNs, e, messages.request(e, qp));
    }

    private void askFurther(long nowNs, RcConnection c, RcQueuePair qp) {
        Exchange first = c.exchange;
        if (first == null || first.state != State.ESTABLISHED || qp.state() != QpState.INIT) {
            return;
        }
        Exchange e = exchanges.open(c, qp.id(), first.peer, nowNs);
        if (e == null) {
            qp.fail(WcStatus.RETRY_EXCEEDED_ERROR);
            return;
        }
        qp.exchange = e;
        ask(nowNs, e, qp, first.mtu);
    }

    private void reply(long nowNs, Exchange e, RcQueuePair qp) {
        CmMessage.Req req = e.asked;
        if (req == null) {
            return;
        }
        if (!qp.toReadyToReceive(end(e, qp, req.qpn(), req.responderResources()), req.psn())) {
            onClosed(nowNs, qp);
            return;
        }
        e.state = State.REP_SENT;
        send(nowNs, e, messages.answer(e, req, qp));
    }

    /** The other end of a queue pair: it starts with the PSN that we tell it. */
    private static RoceConnect end(Exchange e, RcQueuePair qp, int qpn, int reads) {
        return new RoceConnect(e.peer, qpn, qp.firstPsn(), e.mtu, reads);
    }

    private void establish(long nowNs, Exchange e, RcQueuePair qp) {
        e.state = State.ESTABLISHED;
        device.timers.cancel(timer(e));
        qp.toReadyToSend();
        RcConnection c = e.connection;
        if (e.stream == 0 && c.kind == RcConnection.Kind.DIALED) {
            for (RcQueuePair further : c.qps()) {
                if (further.id() != 0) {
                    onUnconnected(nowNs, further);
                }
            }
        }
    }

    private void refuse(long nowNs, Exchange e, CmReject reason, byte[] data) {
        CmMessage.Rej rej = CmMessages.refusal(e, reason, data);
        e.latest = rej;
        outbox.add(e.peer, rej);
        over(nowNs, e);
    }

    private void sayGoodbye(long nowNs, Exchange e) {
        e.state = State.DREQ_SENT;
        send(nowNs, e, CmMessages.goodbye(e));
    }

    /** The other end knows that it is over. */
    private void end(long nowNs, Exchange e) {
        over(nowNs, e);
        if (e.stream == 0) {
            e.connection.end();
        } else {
            RcQueuePair qp = e.queuePair();
            if (qp != null) {
                qp.fail(WcStatus.WR_FLUSH_ERROR);
            }
        }
    }

    /** The queue pair will not be connected. */
    private void giveUp(long nowNs, Exchange e, AsyncEventType type, String why) {
        if (e.stream == 0) {
            e.connection.fail(nowNs, type, why);
        } else {
            RcQueuePair qp = e.queuePair();
            if (qp != null) {
                qp.fail(WcStatus.RETRY_EXCEEDED_ERROR);
            }
        }
    }

    private void over(long nowNs, Exchange e) {
        if (e.state != State.OVER) {
            e.state = State.OVER;
            RoceOffer offer = e.offer;
            if (offer != null) {
                offer.withdraw();
            }
            arm(e, nowNs + TIME_WAIT_NS);
        }
    }

    private void send(long nowNs, Exchange e, CmMessage message) {
        e.latest = message;
        e.resent = 0;
        outbox.add(e.peer, message);
        arm(e, nowNs + RESEND_NS);
    }

    private void resend(long nowNs, Exchange e) {
        CmMessage latest = e.latest;
        if (latest != null) {
            e.resent++;
            outbox.add(e.peer, latest);
            long laterNs = RESEND_NS << Math.min(e.resent, MOST_RESENT);
            arm(e, nowNs + Math.min(laterNs, LONGEST_RESEND_NS));
        }
    }

    private void arm(Exchange e, long deadlineNs) {
        long limit = timeToConnectNs(e);
        boolean asks = e.state == State.NEW || e.state == State.REQ_SENT;
        long lastNs = e.startedNs + limit;
        boolean early = asks && limit != 0 && deadlineNs - lastNs > 0;
        device.timers.set(timer(e), early ? lastNs : deadlineNs);
    }

    private static int timer(Exchange e) {
        return RoceState.timer(Exchanges.place(e), RoceState.CONNECTOR_TIMER);
    }

    private static @Nullable Exchange exchangeOf(RcQueuePair qp) {
        return qp.id() == 0 ? qp.connection.exchange : qp.exchange;
    }
}
