package dev.metaroce.rocev2;

import dev.metaroce.event.CounterId;
import dev.metaroce.memory.Access;
import dev.metaroce.memory.AccessVerdict;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.memory.RegionTable;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.wire.PacketMemory;
import dev.metaroce.wire.TxBatch;
import dev.metaroce.wire.roce.Aeth;
import dev.metaroce.wire.roce.AtomicAckEth;
import dev.metaroce.wire.roce.Bth;
import dev.metaroce.wire.roce.Icrc;
import dev.metaroce.wire.roce.Psn24;
import dev.metaroce.wire.roce.RcOpcode;
import dev.metaroce.wire.roce.RoceDoor;
import dev.metaroce.wire.roce.RoceNak;
import dev.metaroce.wire.roce.Syndrome;

import org.jspecify.annotations.Nullable;

/**
 * Makes the packets of responders: congestion notices; and responses in the order of their
 * requests, then one acknowledgement for all that came, or a NAK. Owner: the engine thread.
 */
final class RoceAnswers {
    /** A queue pair is told of congestion once in so long at most. */
    private static final long NOTICE_INTERVAL_NS = 50_000;

    private final RoceState device;
    private final boolean ecn;

    RoceAnswers(RoceState device) {
        this.device = device;
        ecn = device.settings.dcqcn() != null;
    }

    /** A request cannot be: it is refused, and the queue pair fails. */
    void refuse(ReceiveSide r, RoceNak nak, int psn) {
        r.refusal = nak.syndrome();
        r.owe(nak.syndrome(), psn);
        r.qp.fail(WcStatus.WR_FLUSH_ERROR);
    }

    /** Appends the congestion notices of all queue pairs. */
    int pollNotices(long nowNs, TxBatch batch) {
        int sent = 0;
        while (!device.noticing.isEmpty() && batch.hasRoom(Icrc.MAX_PACKET_BYTES)) {
            RcQueuePair qp = device.noticing.poll();
            if (qp != null && isConnected(qp)) {
                qp.receiving.noticeSent(nowNs, NOTICE_INTERVAL_NS);
                sendNotice(qp.receiving, batch);
                sent++;
            }
        }
        return sent;
    }

    private static boolean isConnected(RcQueuePair qp) {
        return qp.state() != QpState.RESET && qp.state() != QpState.INIT;
    }

    /** Appends what one queue pair owes, as its rate and the budget allow. */
    int pollTransmit(long nowNs, ReceiveSide r, TxBatch batch, int budget) {
        if (!isConnected(r.qp)) {
            return 0;
        }
        int sent = 0;
        while (sent < budget && batch.hasRoom(Icrc.MAX_PACKET_BYTES)) {
            ServedPulls.Pull pull = r.hasPulls() ? r.pulls().pending() : null;
            if (pull == null) {
                return sent + sendAcknowledge(r, batch);
            }
            if (!r.qp.mayByRate(nowNs)) {
                break;
            }
            if (pull.atomic) {
                sendAtomic(r, pull, batch);
            } else {
                sendRead(nowNs, r, pull, batch);
            }
            sent++;
        }
        return sent;
    }

    private int begin(
            ReceiveSide r, TxBatch batch, RcOpcode opcode, int payload, int psn, boolean ect) {
        RcQueuePair qp = r.qp;
        int at = RoceRequester.append(qp, batch, ect, RoceDoor.packetBytes(opcode, payload));
        int pKey = device.settings.pKey();
        Bth.encode(
                batch.memory(), at, opcode, Bth.MIGRATED, payload, pKey, qp.remoteQpn, false, psn);
        return at;
    }

    private void seal(TxBatch batch, int at, RcOpcode opcode) {
        device.sentIcrc.seal(batch.memory(), at, opcode.headerBytes(), 0);
    }

    private void sendNotice(ReceiveSide r, TxBatch batch) {
        int at = begin(r, batch, RcOpcode.CNP, 0, 0, false);
        PacketMemory m = batch.memory();
        Bth.encodeNotices(m, at, false, true);
        m.put64(at + Bth.BYTES, 0);
        m.put64(at + Bth.BYTES + Long.BYTES, 0);
        seal(batch, at, RcOpcode.CNP);
        device.count(CounterId.CNPS_SENT);
    }

    /** One ACK for all that was taken, or the NAK or RNR that is owed. */
    private int sendAcknowledge(ReceiveSide r, TxBatch batch) {
        boolean refuses = r.nakOwed != 0;
        if (!refuses && !r.ackOwed) {
            return 0;
        }
        int syndrome = refuses ? r.nakOwed : r.ack();
        int psn = refuses ? r.nakPsn : Psn24.add(r.expectedPsn, -1);
        r.nakOwed = 0;
        r.ackOwed = false;
        int at = begin(r, batch, RcOpcode.ACKNOWLEDGE, 0, psn, false);
        Aeth.encode(batch.memory(), at, syndrome, r.msn);
        seal(batch, at, RcOpcode.ACKNOWLEDGE);
        count(syndrome);
        return 1;
    }

    private void count(int syndrome) {
        switch (Syndrome.kind(syndrome)) {
            case ACK, RESERVED -> device.count(CounterId.ACKS_SENT);
            case RNR -> device.count(CounterId.RNR_NAKS_SENT);
            case NAK -> {
                device.count(CounterId.NAKS_SENT);
                if (syndrome == RoceNak.PSN_SEQUENCE.syndrome()) {
                    device.count(CounterId.SEQUENCE_NAKS_SENT);
                }
            }
        }
    }

    private void sendAtomic(ReceiveSide r, ServedPulls.Pull pull, TxBatch batch) {
        pull.pending = false;
        pull.answered = true;
        RcOpcode opcode = RcOpcode.ATOMIC_ACKNOWLEDGE;
        int at = begin(r, batch, opcode, 0, pull.firstPsn, false);
        Aeth.encode(batch.memory(), at, r.ack(), pull.msn);
        AtomicAckEth.encode(batch.memory(), at, pull.result);
        seal(batch, at, opcode);
        device.count(CounterId.REPLIES_SENT);
    }

    private void sendRead(long nowNs, ReceiveSide r, ServedPulls.Pull pull, TxBatch batch) {
        long offset = pull.offset(r.qp.mtu);
        int payload = (int) Math.min(r.qp.mtu, pull.length - offset);
        boolean last = offset + payload == pull.length;
        int psn = pull.nextPsn;
        RcOpcode opcode = RcOpcode.readResponse(offset == 0, last);
        int at = begin(r, batch, opcode, payload, psn, ecn);
        if (opcode.hasAeth()) {
            Aeth.encode(batch.memory(), at, r.ack(), pull.msn);
        }
        pull.nextPsn = Psn24.add(psn, 1);
        pull.pending = !last;
        pull.answered |= last;
        if (!putPayload(r, pull, batch, at, opcode.headerBytes(), offset, payload)) {
            // Deregistered meanwhile: this packet has no ICRC, so that nobody takes it.
            RoceRequester.blank(batch.memory(), at + opcode.headerBytes(), payload);
            device.count(CounterId.ACCESS_REFUSED);
            refuse(r, RoceNak.REMOTE_ACCESS, psn);
            return;
        }
        r.qp.onSent(nowNs, RoceDoor.packetBytes(opcode, payload));
        device.count(CounterId.REPLIES_SENT);
        device.counters.add(CounterId.REPLY_BYTES, payload);
    }

    private boolean putPayload(
            ReceiveSide r,
            ServedPulls.Pull pull,
            TxBatch batch,
            int at,
            int header,
            long offset,
            int bytes) {
        PacketMemory m = batch.memory();
        Icrc icrc = device.sentIcrc;
        if (bytes == 0) {
            icrc.seal(m, at, header, 0);
            return true;
        }
        MemoryRegion region = readable(r, pull);
        if (region == null) {
            return false;
        }
        long from = pull.va + offset - region.address();
        boolean lends =
                batch.gathers() && (bytes >= RoceRequester.LENT_BYTES_MIN || region.isVirtual());
        if (lends && MemoryRegion.lend(region, from, icrc, m, at, header, bytes)) {
            batch.lend(header, region.address() + from, bytes);
            return true;
        }
        if (!MemoryRegion.fill(region, from, m, at + header, bytes)) {
            return false;
        }
        icrc.seal(m, at, header, bytes);
        return true;
    }

    private @Nullable MemoryRegion readable(ReceiveSide r, ServedPulls.Pull pull) {
        MemoryRegion region = device.regions.lookup(pull.rkey);
        AccessVerdict access =
                RegionTable.check(
                        region, Access.REMOTE_READ, r.qp.settings().domain(), pull.va, pull.length);
        return access == AccessVerdict.OK ? region : null;
    }
}
