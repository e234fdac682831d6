package dev.metaroce.rocev2;

import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.PacketMemory;
import dev.metaroce.wire.TxBatch;
import dev.metaroce.wire.roce.Bth;
import dev.metaroce.wire.roce.CmMessage;
import dev.metaroce.wire.roce.Deth;
import dev.metaroce.wire.roce.Icrc;
import dev.metaroce.wire.roce.RcOpcode;

import java.util.ArrayDeque;

/** Messages of connection management that wait to be sent; bounded. Owner: the engine thread. */
final class CmOutbox {
    /** More are dropped, as if the network had: those that matter are sent again. */
    private static final int MOST = 4_096;

    private static final int MAD_BYTES = 256;
    private static final int MANAGEMENT_QPN = 1;

    /** A message and the host it is for. */
    private record Outgoing(NetAddress to, CmMessage message) {}

    private final RoceState device;
    private final ArrayDeque<Outgoing> waiting = new ArrayDeque<>();
    private int psn;

    CmOutbox(RoceState device) {
        this.device = device;
    }

    void add(NetAddress to, CmMessage message) {
        if (waiting.size() < MOST) {
            waiting.add(new Outgoing(to, message));
        }
    }

    boolean isEmpty() {
        return waiting.isEmpty();
    }

    /** Appends what there is room for; returns the packets. */
    int pollTransmit(TxBatch batch) {
        int sent = 0;
        while (!waiting.isEmpty() && batch.hasRoom(CmMessage.PACKET_BYTES)) {
            Outgoing next = waiting.poll();
            PacketMemory m = batch.memory();
            int at = batch.append(next.to, 0, false, CmMessage.PACKET_BYTES);
            int header = RcOpcode.UD_SEND_ONLY.headerBytes();
            Bth.encode(
                    m,
                    at,
                    RcOpcode.UD_SEND_ONLY,
                    0,
                    MAD_BYTES,
                    device.settings.pKey(),
                    MANAGEMENT_QPN,
                    false,
                    psn++);
            Deth.encode(m, at, Deth.QP1_QKEY, MANAGEMENT_QPN);
            next.message.encode(m, at);
            Icrc icrc = device.sentIcrc;
            icrc.flow(device.source(next.to, 0), next.to);
            icrc.seal(m, at, header, MAD_BYTES);
            sent++;
        }
        return sent;
    }
}
