package dev.metaroce.transport;

import dev.metaroce.event.CounterId;
import dev.metaroce.wire.CommonHeader;
import dev.metaroce.wire.ControlMessage;
import dev.metaroce.wire.DataHeader;
import dev.metaroce.wire.EarlyMessage;
import dev.metaroce.wire.Flags;
import dev.metaroce.wire.Opcode;
import dev.metaroce.wire.PacketMemory;
import dev.metaroce.wire.RequestFields;
import dev.metaroce.wire.TxBatch;

import org.jspecify.annotations.Nullable;

/**
 * The initiator's side of 0-RTT: a message that rides in the REQUEST for the lease it needs. Until
 * the target says that it executed it, it is as unsent as any other. Owner: the engine thread.
 */
final class EarlySender {
    /**
     * Copies of a REQUEST that carry the message: when none is answered, their length may be why.
     */
    private static final int COPIES = 3;

    private final DeviceState device;

    EarlySender(DeviceState device) {
        this.device = device;
    }

    /** Chooses what rides in the REQUEST that is about to be sent for the first time. */
    void choose(TransportConnection c) {
        c.wish().earlyStream = null;
        //= MR-3.7-1
        if (!device.limits.earlyData() || !c.established) {
            return;
        }
        for (Stream stream : c.streams()) {
            // A long WRITE may be half done between two leases.
            if (stream.hasUnsent() && stream.sendOffset() == 0) {
                long seq = stream.sendSeq();
                if (stream.opcode(seq).ridesInRequest() && fits(c, stream, seq)) {
                    c.wish().earlyStream = stream;
                    c.wish().earlySeq = seq;
                    return;
                }
            }
        }
    }

    /** True when the REQUEST becomes no longer than the longest DATA packet of the last lease. */
    private static boolean fits(TransportConnection c, Stream stream, long seq) {
        long length = stream.sendQueue().length(seq);
        int longest = DataHeader.MAX_HEADER_BYTES + c.payloadMtu() + CommonHeader.TRAILER_BYTES;
        //= MR-3.7-2
        return EarlyMessage.AT + header(stream, seq) + length + CommonHeader.TRAILER_BYTES
                <= longest;
    }

    private static int header(Stream stream, long seq) {
        Opcode opcode = stream.opcode(seq);
        return DataHeader.headerBytes(opcode, opcode.carriesImmediate());
    }

    /** The stream whose message rides in the next copy of the REQUEST, or null. */
    private static @Nullable Stream riding(TransportConnection c) {
        //= MR-3.7-5
        return c.leaseState == LeaseState.REQUESTED && c.wish().attempts <= COPIES
                ? unsent(c)
                : null;
    }

    /** The stream whose message rode, when that is still to be sent; else null. */
    private static @Nullable Stream unsent(TransportConnection c) {
        Stream stream = c.wish().earlyStream;
        return stream != null && stream.hasUnsent() && stream.sendSeq() == c.wish().earlySeq
                ? stream
                : null;
    }

    /** Bytes that the message adds to the next copy of the REQUEST; 0 for none. */
    int bytes(TransportConnection c) {
        Stream stream = riding(c);
        return stream == null
                ? 0
                : header(stream, c.wish().earlySeq)
                        + (int) stream.sendQueue().length(c.wish().earlySeq);
    }

    /** Writes a whole REQUEST with its message; {@link #bytes} is not 0. */
    void encode(TransportConnection c, RequestFields request, int txTime, TxBatch batch, int at) {
        Stream stream = riding(c);
        if (stream == null) {
            return;
        }
        PacketMemory m = batch.memory();
        long seq = c.wish().earlySeq;
        Opcode opcode = stream.opcode(seq);
        boolean imm = opcode.carriesImmediate();
        long length = stream.sendQueue().length(seq);
        request.flags |= RequestFields.FLAG_EARLY;
        ControlMessage.encodeRequestHead(m, at, txTime, request);
        int image = at + EarlyMessage.AT;
        int flags = Flags.LAST | (imm ? Flags.IMM : 0);
        EarlyMessage.encodeCommon(m, at, flags, opcode, stream.id(), txTime);
        DataHeader.encodeMessage(m, image, 0, 0, length, DataHeader.NO_SLOT, 0);
        Requester.encodeTarget(m, image, opcode, stream, seq, 0, 0, imm);
        int header = EarlyMessage.AT + DataHeader.headerBytes(opcode, imm);
        if (!Requester.putPayload(batch, at, header, stream, seq, 0, (int) length)) {
            c.wish().earlyStream = null;
            device.ready.add(c);
        }
        device.counters.increment(CounterId.EARLY_SENT);
    }

    /** The present REQUEST was answered; what rode in it is finished when it was executed. */
    void onAnswer(TransportConnection c, boolean executed) {
        Stream stream = unsent(c);
        c.wish().earlyStream = null;
        if (executed && stream != null) {
            //= MR-3.7-10
            stream.finishEarly(c.leaseNumber);
        }
    }
}
