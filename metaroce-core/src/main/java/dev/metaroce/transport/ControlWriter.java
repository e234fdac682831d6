package dev.metaroce.transport;

import dev.metaroce.wire.AddressList;
import dev.metaroce.wire.CommonHeader;
import dev.metaroce.wire.ControlMessage;
import dev.metaroce.wire.ControlOpcode;
import dev.metaroce.wire.DenyReason;
import dev.metaroce.wire.GrantFields;
import dev.metaroce.wire.PacketMemory;
import dev.metaroce.wire.ReclaimReason;
import dev.metaroce.wire.RequestFields;
import dev.metaroce.wire.ResetReason;
import dev.metaroce.wire.TxBatch;

import org.jspecify.annotations.Nullable;

import java.util.Objects;

/** Turns waiting control messages into packets. Owner: the engine thread. */
final class ControlWriter {
    /** Copies of a message that go out by the device's own port before others are tried. */
    private static final int OWN_PORT_TRIES = 2;

    /** One in so many questions to holders takes another route than the own port. */
    private static final int ASKS_PER_DETOUR = 4;

    private static final int ADDRESSES_MAX_BYTES = AddressList.bytes(AddressList.MAX);

    private static final byte[] NOTHING = {};

    private final DeviceState device;
    private final LeaseServer server;
    private final LeaseClient client;
    private final RequestFields request = new RequestFields();
    private final GrantFields grant = new GrantFields();
    private int asked;
    private final int[] finalPsn = new int[DeviceLimits.MAX_PATHS];

    ControlWriter(DeviceState device, LeaseServer server, LeaseClient client) {
        this.device = device;
        this.server = server;
        this.client = client;
    }

    /** Appends waiting messages while the batch has room; returns the packets appended. */
    int pollTransmit(long nowNs, TxBatch batch) {
        ControlOutbox outbox = device.outbox;
        int sent = 0;
        while (!outbox.isEmpty() && batch.hasRoom(bytes(outbox) + ADDRESSES_MAX_BYTES)) {
            sent += send(nowNs, outbox, batch);
            outbox.pop();
        }
        return sent;
    }

    /** Bytes of the packet that the oldest message becomes, addresses not counted. */
    private int bytes(ControlOutbox outbox) {
        TransportConnection about = outbox.connection();
        return switch (outbox.opcode()) {
            case REQUEST ->
                    ControlMessage.REQUEST_BYTES
                            + (about == null ? 0 : client.early().bytes(about));
            case RELEASE -> ControlMessage.releaseBytes(paths(about));
            case DENY -> ControlMessage.denyBytes(why(outbox).length);
            default -> ControlMessage.bytes(outbox.opcode());
        };
    }

    /** Bytes of the addresses in the message that was filled in. */
    private int addressBytes(ControlOpcode opcode) {
        return switch (opcode) {
            case REQUEST -> AddressList.bytes(request.addresses.length);
            case GRANT -> AddressList.bytes(grant.addresses.length);
            default -> 0;
        };
    }

    /** Paths of the lease that is given back. */
    private static int paths(@Nullable TransportConnection about) {
        TxLease lease = about == null ? null : about.lease;
        return lease == null ? 0 : lease.pathCount;
    }

    private int send(long nowNs, ControlOutbox outbox, TxBatch batch) {
        ControlOpcode opcode = outbox.opcode();
        TransportConnection about = outbox.connection();
        if (opcode == ControlOpcode.GRANT
                && !server.fillGrant(outbox.token(), outbox.nonce(), grant)) {
            return 0;
        }
        if (opcode == ControlOpcode.REQUEST && (about == null || about.isEnded())) {
            return 0;
        }
        if (opcode == ControlOpcode.REQUEST && about != null) {
            client.fillRequest(about, request);
        }
        int early =
                opcode == ControlOpcode.REQUEST && about != null ? client.early().bytes(about) : 0;
        int bytes = bytes(outbox) + addressBytes(opcode);
        int txTime = CommonHeader.toTxTime(nowNs);
        //= MR-1.2-2, MR-5.2-5
        int at = batch.append(outbox.destination(), route(opcode, about), false, bytes);
        if (opcode == ControlOpcode.REQUEST && about != null) {
            encodeRequest(batch, at, txTime, about, early > 0);
        } else {
            encode(batch.memory(), at, txTime, outbox, about);
        }
        return 1;
    }

    /**
     * The device's own port, to which peers answer. What gets no answer from there takes the other
     * routes in turn, and so do answers to questions that are repeated, because that port may be
     * dead on the way.
     */
    private int route(ControlOpcode opcode, @Nullable TransportConnection about) {
        int extra =
                switch (opcode) {
                    case REQUEST, RELEASE, DISCONNECT ->
                            about == null ? 0 : about.wish().attempts - OWN_PORT_TRIES;
                    case GRANT, QUEUED -> about == null ? 0 : about.rxRepeats;
                    case RECLAIM, KEEPALIVE -> ++asked % ASKS_PER_DETOUR == 0 ? asked : 0;
                    case DENY, RELEASE_ACK, KEEPALIVE_ACK, RESET, DISCONNECT_ACK -> 0;
                };
        return extra <= 0 ? 0 : 1 + (extra - 1) % device.limits.routes();
    }

    private void encodeRequest(
            TxBatch batch, int at, int txTime, TransportConnection about, boolean early) {
        if (early) {
            client.early().encode(about, request, txTime, batch, at);
        } else {
            ControlMessage.encodeRequest(batch.memory(), at, txTime, request);
        }
    }

    private void encode(
            PacketMemory m,
            int at,
            int txTime,
            ControlOutbox outbox,
            @Nullable TransportConnection about) {
        int ctx = outbox.ctx();
        long nonce = outbox.nonce();
        int cid = CommonHeader.cid(outbox.token());
        int epoch = CommonHeader.epoch(outbox.token());
        switch (outbox.opcode()) {
            case REQUEST -> {}
            case GRANT -> ControlMessage.encodeGrant(m, at, txTime, grant);
            case QUEUED ->
                    ControlMessage.encodeQueued(
                            m, at, txTime, ctx, nonce, outbox.value(), outbox.code());
            case DENY -> {
                DenyReason reason = Objects.requireNonNull(DenyReason.of(outbox.code()));
                int versions = LeaseServer.versions();
                boolean isCookie = reason == DenyReason.COOKIE;
                long retryUs = isCookie ? 0 : outbox.value();
                long cookie = isCookie ? outbox.value() : 0;
                //= MR-3.7-9
                boolean done = about != null && about.ranEarly(nonce);
                ControlMessage.encodeDeny(
                        m,
                        at,
                        txTime,
                        ctx,
                        nonce,
                        reason,
                        done,
                        versions,
                        retryUs,
                        cookie,
                        why(outbox));
            }
            case RELEASE -> encodeRelease(m, at, txTime, outbox, about);
            case RELEASE_ACK ->
                    ControlMessage.encodeReleaseAck(m, at, txTime, ctx, nonce, cid, epoch);
            case RECLAIM -> {
                ReclaimReason reason = Objects.requireNonNull(ReclaimReason.of(outbox.code()));
                long deadlineUs = outbox.value();
                ControlMessage.encodeReclaim(
                        m, at, txTime, ctx, nonce, cid, epoch, reason, deadlineUs);
            }
            case KEEPALIVE -> ControlMessage.encodeKeepalive(m, at, txTime, ctx, nonce, cid, epoch);
            case KEEPALIVE_ACK ->
                    ControlMessage.encodeKeepaliveAck(
                            m, at, txTime, outbox.token(), nonce, device.identity.endpointId());
            case RESET -> {
                ResetReason reason = Objects.requireNonNull(ResetReason.of(outbox.code()));
                int incarnation = device.identity.incarnation();
                ControlMessage.encodeReset(m, at, txTime, nonce, reason, cid, epoch, incarnation);
            }
            case DISCONNECT ->
                    ControlMessage.encodeDisconnect(
                            m,
                            at,
                            txTime,
                            ctx,
                            nonce,
                            device.identity.endpointId(),
                            about == null ? 0 : about.connectionId,
                            about != null && about.dialer);
            case DISCONNECT_ACK -> ControlMessage.encodeDisconnectAck(m, at, txTime, ctx, nonce);
        }
    }

    /** What the application gave along when it rejected the connection. */
    private static byte[] why(ControlOutbox outbox) {
        TransportConnection about = outbox.connection();
        //= MR-3.9-1
        return about == null || outbox.code() != DenyReason.SERVICE.code()
                ? NOTHING
                : about.privateData;
    }

    private void encodeRelease(
            PacketMemory m,
            int at,
            int txTime,
            ControlOutbox outbox,
            @Nullable TransportConnection about) {
        TxLease lease = about == null ? null : about.lease;
        int paths = paths(about);
        for (int i = 0; i < paths && lease != null; i++) {
            finalPsn[i] = lease.paths[i].nextPsn();
        }
        ControlMessage.encodeRelease(
                m,
                at,
                txTime,
                outbox.token(),
                outbox.nonce(),
                device.identity.endpointId(),
                outbox.ctx(),
                finalPsn,
                paths);
    }
}
