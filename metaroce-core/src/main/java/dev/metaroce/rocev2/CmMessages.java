package dev.metaroce.rocev2;

import dev.metaroce.rocev2.Exchange.State;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.roce.CmMessage;
import dev.metaroce.wire.roce.CmMessage.IpAddresses;
import dev.metaroce.wire.roce.CmReject;
import dev.metaroce.wire.roce.PathMtu;
import dev.metaroce.wire.roce.PrivateData;

import java.nio.ByteBuffer;

/** What the messages of an exchange say. Owner: the engine thread. */
final class CmMessages {
    /** The service of further queue pairs: "MetaRoCE". */
    static final long FURTHER_SERVICE = 0x4D65_7461_526F_4345L;

    /** What we tell of our patience: 4.096 us * 2^20, as Linux does. */
    private static final int CM_TIMEOUT = 20;

    private static final int RETRY_FOREVER = 7;
    private static final int HOP_LIMIT = 64;
    private static final int LABEL = 0xF_FFFF;

    /** Of ports: those that the IP CM header says we send from, which nobody looks at. */
    private static final int EPHEMERAL = 0xC000;

    private final RoceState device;
    private final long guid;

    CmMessages(RoceState device) {
        this.device = device;
        guid = device.guid();
    }

    CmMessage.Req request(Exchange e, RcQueuePair qp) {
        RcConnection c = e.connection;
        int most = device.settings.maxReadAtomic();
        long serviceId = e.stream == 0 ? IpAddresses.toWire(c.serviceId) : FURTHER_SERVICE;
        NetAddress here = device.local(e.peer);
        return new CmMessage.Req(
                e.transactionId,
                e.localId,
                serviceId,
                guid,
                qp.qpn(),
                qp.firstPsn(),
                most,
                most,
                CM_TIMEOUT,
                true,
                device.settings.retryCount(),
                RETRY_FOREVER,
                device.settings.pKey(),
                PathMtu.code(e.mtu),
                Connector.MOST_RESENT,
                qp.settings().shared() != null,
                here,
                e.peer,
                qp.qpn() & LABEL,
                0,
                HOP_LIMIT,
                device.settings.ackTimeout(),
                requestData(e, serviceId, here));
    }

    private static PrivateData requestData(Exchange e, long serviceId, NetAddress here) {
        RcConnection c = e.connection;
        Exchange first = c.exchange;
        if (e.stream != 0 && first != null) {
            byte[] data = ByteBuffer.allocate(8).putInt(first.localId).putInt(e.stream).array();
            return PrivateData.of(data, CmMessage.REQ_PRIVATE_BYTES);
        }
        if (!IpAddresses.isPort(serviceId)) {
            return PrivateData.of(c.privateData, CmMessage.REQ_PRIVATE_BYTES);
        }
        NetAddress from = RoceState.withPort(here, EPHEMERAL | (e.localId & ~EPHEMERAL & 0xFFFF));
        return IpAddresses.privateData(from, e.peer, c.privateData);
    }

    static CmMessage.Mra askToWait(Exchange e) {
        return new CmMessage.Mra(
                e.transactionId, e.localId, e.remoteId, CmMessage.Rej.REQ, CM_TIMEOUT);
    }

    static CmMessage.Rtu readyToUse(Exchange e) {
        return new CmMessage.Rtu(e.transactionId, e.localId, e.remoteId);
    }

    /**
     * @param req a REQ of any version
     */
    static CmMessage.Rej refusal(CmMessage req, CmReject reason) {
        return new CmMessage.Rej(
                req.transactionId(),
                0,
                req.localId(),
                CmMessage.Rej.REQ,
                reason.code(),
                reason == CmReject.VERSION ? CmMessage.VERSION : 0,
                PrivateData.of(RcConnection.NO_DATA, CmMessage.REJ_PRIVATE_BYTES));
    }

    static CmMessage.Rej refusal(CmMessage.Rep rep) {
        return new CmMessage.Rej(
                rep.transactionId(),
                rep.remoteId(),
                rep.localId(),
                CmMessage.Rej.REP,
                CmReject.UNKNOWN_ID.code(),
                0,
                PrivateData.of(RcConnection.NO_DATA, CmMessage.REJ_PRIVATE_BYTES));
    }

    /** Refuses what an exchange is about. */
    static CmMessage.Rej refusal(Exchange e, CmReject reason, byte[] data) {
        boolean answered = e.state == State.REQ_SENT && e.remoteId != 0;
        return new CmMessage.Rej(
                e.transactionId,
                e.localId,
                e.remoteId,
                answered ? CmMessage.Rej.REP : CmMessage.Rej.REQ,
                reason.code(),
                0,
                PrivateData.of(data, CmMessage.REJ_PRIVATE_BYTES));
    }

    CmMessage.Rep answer(Exchange e, CmMessage.Req req, RcQueuePair qp) {
        int most = device.settings.maxReadAtomic();
        return new CmMessage.Rep(
                e.transactionId,
                e.localId,
                e.remoteId,
                qp.qpn(),
                qp.firstPsn(),
                Math.min(most, req.initiatorDepth()),
                Math.min(most, req.responderResources()),
                device.settings.ackTimeout(),
                true,
                RETRY_FOREVER,
                qp.settings().shared() != null,
                guid,
                PrivateData.of(
                        e.stream == 0 ? e.connection.privateData : RcConnection.NO_DATA,
                        CmMessage.REP_PRIVATE_BYTES));
    }

    static CmMessage.Dreq goodbye(Exchange e) {
        RcQueuePair qp = e.queuePair();
        int remoteQpn = qp == null ? 0 : qp.remoteQpn;
        return new CmMessage.Dreq(e.transactionId + 1, e.localId, e.remoteId, remoteQpn);
    }
}
