package dev.metaroce.wire.roce;

import dev.metaroce.wire.PacketMemory;

import java.util.Optional;
import java.util.OptionalInt;

/**
 * A RoCEv2 packet as plain values, for tests, logs and tools; each kind prints itself in one line.
 * Never on the hot path: it allocates.
 */
public sealed interface RocePacketView {
    /**
     * Reads a packet; its ICRC, which needs the addresses, is not looked at. Never throws for bytes
     * that lie inside the memory; what the door refuses becomes {@link Malformed}.
     */
    static RocePacketView parse(PacketMemory m, int at, int bytes) {
        RoceVerdict verdict = RoceDoor.checkHeaders(m, at, bytes);
        RcOpcode opcode = verdict == RoceVerdict.OK ? RcOpcode.of(Bth.opcode(m, at)) : null;
        if (opcode == null) {
            return new Malformed(verdict, bytes);
        }
        Base base = Base.read(m, at, opcode, bytes);
        if (opcode.isDatagram()) {
            return Datagram.read(base, m, at, bytes);
        }
        if (opcode.isAtomic()) {
            return Atomic.read(base, m, at);
        }
        if (opcode.isRequest()) {
            return Request.read(base, m, at);
        }
        return opcode.isResponse() ? Response.read(base, m, at) : new Notice(base);
    }

    /**
     * The BTH, and how much follows the headers.
     *
     * @param payloadBytes bytes of payload, without pad
     */
    record Base(
            RcOpcode opcode,
            boolean solicited,
            boolean migrated,
            int pkey,
            boolean fecn,
            boolean becn,
            int destQp,
            boolean ackReq,
            int psn,
            int payloadBytes) {
        static Base read(PacketMemory m, int at, RcOpcode opcode, int bytes) {
            return new Base(
                    opcode,
                    Bth.solicited(m, at),
                    Bth.migrated(m, at),
                    Bth.pkey(m, at),
                    Bth.fecn(m, at),
                    Bth.becn(m, at),
                    Bth.destQp(m, at),
                    Bth.ackReq(m, at),
                    Bth.psn(m, at),
                    RoceDoor.payloadBytes(m, at, opcode, bytes));
        }

        /** Operation, queue pair, PSN, flags and payload, where they are not as usual. */
        String text(String fields) {
            return opcode
                    + " qp "
                    + hex(destQp)
                    + " psn "
                    + psn
                    + fields
                    + (opcode.hasPayload() ? " payload " + payloadBytes : "")
                    + (ackReq ? " ACK_REQ" : "")
                    + (solicited ? " SOLICITED" : "")
                    + (fecn ? " FECN" : "")
                    + (becn ? " BECN" : "")
                    + (pkey == Bth.DEFAULT_PKEY ? "" : " pkey " + hex(pkey));
        }
    }

    /**
     * A packet of a SEND or WRITE, or a READ request. Fields that the operation does not have are
     * 0.
     *
     * @param va address at the responder, with a RETH
     * @param rkey key of the region, with a RETH; of the one to invalidate, with an IETH
     * @param length bytes of the message, with a RETH
     */
    record Request(Base base, long va, int rkey, long length, OptionalInt immediate)
            implements RocePacketView {
        static Request read(Base base, PacketMemory m, int at) {
            RcOpcode opcode = base.opcode;
            boolean reth = opcode.hasReth();
            return new Request(
                    base,
                    reth ? Reth.va(m, at) : 0,
                    reth ? Reth.rkey(m, at) : opcode.hasIeth() ? Ieth.rkey(m, at) : 0,
                    reth ? Reth.length(m, at) : 0,
                    opcode.hasImmediate()
                            ? OptionalInt.of(ImmDt.value(m, at, opcode))
                            : OptionalInt.empty());
        }

        @Override
        public String toString() {
            StringBuilder text = new StringBuilder();
            if (base.opcode.hasReth()) {
                text.append(" va ").append(hex(va)).append(" rkey ").append(hex(rkey));
                text.append(" length ").append(length);
            }
            if (base.opcode.hasIeth()) {
                text.append(" invalidates ").append(hex(rkey));
            }
            immediate.ifPresent(value -> text.append(" imm ").append(hex(value)));
            return base.text(text.toString());
        }
    }

    /** An atomic request. */
    record Atomic(Base base, long va, int rkey, long swapOrAdd, long compare)
            implements RocePacketView {
        static Atomic read(Base base, PacketMemory m, int at) {
            return new Atomic(
                    base,
                    AtomicEth.va(m, at),
                    AtomicEth.rkey(m, at),
                    AtomicEth.swapOrAdd(m, at),
                    AtomicEth.compare(m, at));
        }

        @Override
        public String toString() {
            String operands =
                    base.opcode == RcOpcode.FETCH_ADD
                            ? " add " + hex(swapOrAdd)
                            : " swap " + hex(swapOrAdd) + " compare " + hex(compare);
            return base.text(" va " + hex(va) + " rkey " + hex(rkey) + operands);
        }
    }

    /**
     * What a responder says. Fields that the operation does not have are 0.
     *
     * @param syndrome see {@link Syndrome}
     * @param msn messages completed, 24 bits
     * @param original value before an atomic operation
     */
    record Response(Base base, int syndrome, int msn, long original) implements RocePacketView {
        static Response read(Base base, PacketMemory m, int at) {
            boolean aeth = base.opcode.hasAeth();
            return new Response(
                    base,
                    aeth ? Aeth.syndrome(m, at) : 0,
                    aeth ? Aeth.msn(m, at) : 0,
                    base.opcode == RcOpcode.ATOMIC_ACKNOWLEDGE ? AtomicAckEth.value(m, at) : 0);
        }

        @Override
        public String toString() {
            String aeth = base.opcode.hasAeth() ? " msn " + msn + syndromeText(syndrome) : "";
            boolean atomic = base.opcode == RcOpcode.ATOMIC_ACKNOWLEDGE;
            return base.text(aeth + (atomic ? " original " + hex(original) : ""));
        }
    }

    /**
     * An unreliable datagram.
     *
     * @param message of connection management, when it is one
     */
    record Datagram(
            Base base, int qkey, int sourceQp, OptionalInt immediate, Optional<CmMessage> message)
            implements RocePacketView {
        static Datagram read(Base base, PacketMemory m, int at, int bytes) {
            return new Datagram(
                    base,
                    Deth.qkey(m, at),
                    Deth.sourceQp(m, at),
                    base.opcode.hasImmediate()
                            ? OptionalInt.of(ImmDt.value(m, at, base.opcode))
                            : OptionalInt.empty(),
                    Optional.ofNullable(CmMessage.parse(m, at, bytes)));
        }

        @Override
        public String toString() {
            String imm = immediate.isPresent() ? " imm " + hex(immediate.getAsInt()) : "";
            String text = base.text(" qkey " + hex(qkey) + " from qp " + hex(sourceQp) + imm);
            return message.map(cm -> text + ": " + cm).orElse(text);
        }
    }

    /** A congestion notice. */
    record Notice(Base base) implements RocePacketView {
        @Override
        public String toString() {
            return base.text("");
        }
    }

    /** What the door refused, and why. */
    record Malformed(RoceVerdict verdict, int bytes) implements RocePacketView {
        @Override
        public String toString() {
            return "REFUSED " + verdict + " " + bytes + " bytes";
        }
    }

    /** A syndrome in words, with a leading space; nothing for an ACK without credits. */
    private static String syndromeText(int syndrome) {
        RoceNak nak = RoceNak.of(syndrome);
        return switch (Syndrome.kind(syndrome)) {
            case ACK ->
                    syndrome == Syndrome.ACK_NO_CREDITS
                            ? ""
                            : " credits " + Syndrome.credits(syndrome);
            case RNR -> " RNR " + RnrTimer.ns(Syndrome.rnrTimer(syndrome)) / 1_000 + "us";
            case NAK -> nak == null ? " syndrome " + hex(syndrome) : " NAK " + nak;
            case RESERVED -> " syndrome " + hex(syndrome);
        };
    }

    private static String hex(long value) {
        return "0x" + Long.toHexString(value);
    }

    private static String hex(int value) {
        return "0x" + Integer.toHexString(value);
    }
}
