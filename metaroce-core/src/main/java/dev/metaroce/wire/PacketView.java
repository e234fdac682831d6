package dev.metaroce.wire;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.OptionalInt;

/**
 * A packet as plain values, for tests, logs and tools; each kind prints itself in one line. Never
 * on the hot path: it allocates.
 *
 * <pre>{@code
 * switch (PacketView.parse(memory, at, bytes)) {
 *     case PacketView.DataView data -> count(data.payloadBytes());
 *     case PacketView.Malformed bad -> warn(bad.verdict());
 *     case PacketView other -> log(other.toString());
 * }
 * }</pre>
 */
public sealed interface PacketView {
    /**
     * Reads a packet. Never throws for bytes that lie inside the memory; what the door refuses
     * becomes {@link Malformed}.
     */
    static PacketView parse(PacketMemory m, int at, int bytes) {
        DoorVerdict verdict = PacketDoor.check(m, at, bytes);
        PacketType type =
                verdict == DoorVerdict.OK ? PacketType.of(CommonHeader.type(m, at)) : null;
        if (type == null) {
            return new Malformed(verdict, bytes);
        }
        Common common = Common.read(m, at);
        return switch (type) {
            case DATA -> data(common, m, at, bytes);
            case ACK -> AckView.read(common, m, at);
            case NAK -> NakView.read(common, m, at);
            case CTRL -> ControlView.read(common, m, at);
            case PROBE -> new ProbeView(common);
        };
    }

    private static PacketView data(Common common, PacketMemory m, int at, int bytes) {
        Opcode op = Opcode.of(common.opcode);
        if (op != null && op.isReply()) {
            return ReplyView.read(common, op, m, at, bytes);
        }
        return op != null && op.isAtomic()
                ? AtomicView.read(common, op, m, at)
                : DataView.read(common, m, at, bytes);
    }

    /**
     * The common header.
     *
     * @param flags bits of {@link Flags}
     * @param ctx token or source context
     * @param txTime sender's clock in 64 ns units
     */
    record Common(int flags, int ctx, int path, int opcode, int stream, int psn, int txTime) {
        static Common read(PacketMemory m, int at) {
            return new Common(
                    CommonHeader.flags(m, at),
                    CommonHeader.ctx(m, at),
                    CommonHeader.path(m, at),
                    CommonHeader.opcode(m, at),
                    CommonHeader.stream(m, at),
                    CommonHeader.psn(m, at),
                    CommonHeader.txTime(m, at));
        }

        /** The context id and epoch of a packet towards the target. */
        String token() {
            return "cid " + CommonHeader.cid(ctx) + "/" + CommonHeader.epoch(ctx);
        }

        /** Flags as words, each with a leading space. */
        String flagWords() {
            return word(Flags.ACK_REQ, " ACK_REQ")
                    + word(Flags.LAST, " LAST")
                    + word(Flags.RETX, " RETX")
                    + word(Flags.IMM, " IMM")
                    + word(Flags.FENCE, " FENCE")
                    + word(Flags.MORE, " MORE");
        }

        private String word(int flag, String name) {
            return (flags & flag) == 0 ? "" : name;
        }
    }

    /**
     * Part of a message. Fields that the operation does not have are 0.
     *
     * @param rkey key of the region to write, or of the one to invalidate
     * @param immediate the immediate, when the packet carries one
     * @param payloadBytes bytes that it carries, or in a READ_REQ asks for
     */
    record DataView(
            Common common,
            Opcode opcode,
            int msn,
            long msgOffset,
            long length,
            int slot,
            int attempt,
            long va,
            int rkey,
            int recvSeq,
            OptionalInt immediate,
            int payloadBytes)
            implements PacketView {
        static DataView read(Common common, PacketMemory m, int at, int bytes) {
            Opcode op = Opcode.of(common.opcode);
            if (op == null || op == Opcode.SKIP) {
                return new DataView(
                        common, Opcode.SKIP, 0, 0, 0, 0, 0, 0, 0, 0, OptionalInt.empty(), 0);
            }
            boolean imm = (common.flags & Flags.IMM) != 0;
            return new DataView(
                    common,
                    op,
                    DataHeader.msn(m, at),
                    DataHeader.msgOffset(m, at),
                    DataHeader.length(m, at),
                    DataHeader.slot(m, at),
                    DataHeader.attempt(m, at),
                    op.hasReth() ? DataHeader.va(m, at) : 0,
                    rkey(op, m, at),
                    DataHeader.recvSeq(m, at, op),
                    imm ? OptionalInt.of(DataHeader.immediate(m, at, op)) : OptionalInt.empty(),
                    op == Opcode.READ_REQ
                            ? (int) DataHeader.segLength(m, at)
                            : DataHeader.payloadBytes(m, at, bytes));
        }

        private static int rkey(Opcode op, PacketMemory m, int at) {
            if (op.invalidates()) {
                return DataHeader.invalidatedKey(m, at);
            }
            return op.hasReth() ? DataHeader.rkey(m, at) : 0;
        }

        @Override
        public String toString() {
            String start =
                    "DATA "
                            + opcode
                            + " "
                            + common.token()
                            + " path "
                            + common.path
                            + psnText(common);
            if (opcode == Opcode.SKIP) {
                return start + common.flagWords();
            }
            StringBuilder text = new StringBuilder(start);
            text.append(" stream ").append(common.stream);
            text.append(" msn ").append(Integer.toUnsignedString(msn));
            text.append(" bytes ").append(msgOffset).append('+').append(payloadBytes);
            text.append('/').append(length);
            if (slot != DataHeader.NO_SLOT) {
                text.append(" slot ").append(slot);
            }
            if (attempt != 0) {
                text.append(" attempt ").append(attempt);
            }
            if (opcode.hasReth()) {
                text.append(" va ").append(hex(va)).append(" rkey ").append(hex(rkey));
            }
            if (opcode.consumesReceive()) {
                text.append(" recv ").append(Integer.toUnsignedString(recvSeq));
            }
            if (opcode.invalidates()) {
                text.append(" invalidates ").append(hex(rkey));
            }
            immediate.ifPresent(value -> text.append(" imm ").append(hex(value)));
            return text.append(common.flagWords()).toString();
        }
    }

    /** An atomic operation: {@code compare} counts with CMP_SWAP. */
    record AtomicView(
            Common common,
            Opcode opcode,
            int msn,
            int slot,
            long va,
            int rkey,
            long swapOrAdd,
            long compare)
            implements PacketView {
        static AtomicView read(Common common, Opcode op, PacketMemory m, int at) {
            return new AtomicView(
                    common,
                    op,
                    DataHeader.msn(m, at),
                    DataHeader.slot(m, at),
                    DataHeader.va(m, at),
                    DataHeader.rkey(m, at),
                    DataHeader.swapOrAdd(m, at),
                    DataHeader.compare(m, at));
        }

        @Override
        public String toString() {
            return "DATA "
                    + opcode
                    + " "
                    + common.token()
                    + " path "
                    + common.path
                    + psnText(common)
                    + " stream "
                    + common.stream
                    + " msn "
                    + Integer.toUnsignedString(msn)
                    + " slot "
                    + slot
                    + " va "
                    + hex(va)
                    + " rkey "
                    + hex(rkey)
                    + (opcode == Opcode.CMP_SWAP ? " compare " + hex(compare) + " swap " : " add ")
                    + hex(swapOrAdd)
                    + common.flagWords();
        }
    }

    /**
     * The answer to one packet of a READ, or to an atomic operation.
     *
     * @param ackDelay in 64 ns units
     */
    record ReplyView(
            Common common,
            Opcode opcode,
            int msn,
            long msgOffset,
            int echoTime,
            int ackDelay,
            int cid,
            int epoch,
            int payloadBytes)
            implements PacketView {
        static ReplyView read(Common common, Opcode op, PacketMemory m, int at, int bytes) {
            return new ReplyView(
                    common,
                    op,
                    ReplyHeader.msn(m, at),
                    ReplyHeader.msgOffset(m, at),
                    ReplyHeader.echoTime(m, at),
                    ReplyHeader.ackDelay(m, at),
                    ReplyHeader.cid(m, at),
                    ReplyHeader.epoch(m, at),
                    bytes - ReplyHeader.BYTES - CommonHeader.TRAILER_BYTES);
        }

        @Override
        public String toString() {
            return "DATA "
                    + opcode
                    + " src "
                    + common.ctx
                    + " cid "
                    + cid
                    + "/"
                    + epoch
                    + " path "
                    + common.path
                    + psnText(common)
                    + " stream "
                    + common.stream
                    + " msn "
                    + Integer.toUnsignedString(msn)
                    + " bytes "
                    + msgOffset
                    + "+"
                    + payloadBytes
                    + " delay "
                    + ackDelay * AckHeader.ACK_DELAY_UNIT_NS
                    + "ns";
        }
    }

    /**
     * News of one path.
     *
     * @param rflags bits of the RFLAG constants of {@link AckHeader}
     * @param ackDelay in 64 ns units
     * @param sack bit i stands for {@code cumPsn + 1 + i}; empty when there is no SACK
     */
    record AckRecord(
            int path,
            int rflags,
            int ackDelay,
            int cumPsn,
            int echoTime,
            int cePackets,
            BitSet sack) {
        static AckRecord read(PacketMemory m, int recordAt) {
            long[] words = new long[AckHeader.SACK_BYTES / Long.BYTES];
            if (AckHeader.hasSack(m, recordAt)) {
                AckHeader.readSack(m, AckHeader.sackAt(recordAt), words, 0);
            }
            return new AckRecord(
                    AckHeader.path(m, recordAt),
                    AckHeader.recordFlags(m, recordAt),
                    AckHeader.ackDelay(m, recordAt),
                    AckHeader.cumPsn(m, recordAt),
                    AckHeader.echoTime(m, recordAt),
                    AckHeader.cePackets(m, recordAt),
                    BitSet.valueOf(words));
        }

        /**
         * As {@code path 2 cum 17 ce 3 delay 640ns sack +1..4,+9}, bits counted from the cumulative
         * number.
         */
        @Override
        public String toString() {
            StringBuilder text = new StringBuilder("path ").append(path);
            text.append(" cum ").append(Integer.toUnsignedString(cumPsn));
            text.append(" ce ").append(Integer.toUnsignedString(cePackets));
            text.append(" delay ").append(ackDelay * AckHeader.ACK_DELAY_UNIT_NS).append("ns");
            text.append((rflags & AckHeader.RFLAG_CE) == 0 ? "" : " CE");
            text.append((rflags & AckHeader.RFLAG_PROBE_REPLY) == 0 ? "" : " PROBE_REPLY");
            if ((rflags & AckHeader.RFLAG_SACK) != 0) {
                String separator = " sack ";
                for (int from = sack.nextSetBit(0); from >= 0; ) {
                    int end = sack.nextClearBit(from);
                    text.append(separator).append('+').append(from + 1);
                    text.append(end == from + 1 ? "" : ".." + end);
                    separator = ",";
                    from = sack.nextSetBit(end);
                }
            }
            return text.toString();
        }
    }

    /**
     * Receipt of packets.
     *
     * @param rxUnits payload accepted under the lease, in steps of 256 bytes
     * @param rateHint Mb/s, or {@link AckHeader#RATE_PAUSE} or {@link AckHeader#RATE_NONE}
     * @param windowKib KiB, or {@link AckHeader#WINDOW_NONE}
     */
    record AckView(
            Common common,
            int rxUnits,
            int rateHint,
            int hintSeq,
            int windowKib,
            int poolLoad,
            int cid,
            int epoch,
            List<AckRecord> records)
            implements PacketView {
        public AckView {
            records = List.copyOf(records);
        }

        static AckView read(Common common, PacketMemory m, int at) {
            List<AckRecord> records = new ArrayList<>();
            int record = AckHeader.firstRecord(at);
            for (int i = AckHeader.count(m, at); i > 0; i--) {
                records.add(AckRecord.read(m, record));
                record = AckHeader.nextRecord(m, record);
            }
            return new AckView(
                    common,
                    AckHeader.rxUnits(m, at),
                    AckHeader.rateHint(m, at),
                    AckHeader.hintSeq(m, at),
                    AckHeader.window(m, at),
                    AckHeader.poolLoad(m, at),
                    AckHeader.cid(m, at),
                    AckHeader.epoch(m, at),
                    records);
        }

        @Override
        public String toString() {
            return "ACK src "
                    + common.ctx
                    + " cid "
                    + cid
                    + "/"
                    + epoch
                    + " rx "
                    + Integer.toUnsignedString(rxUnits)
                    + " hint "
                    + rateText(rateHint)
                    + " #"
                    + hintSeq
                    + " window "
                    + (windowKib == AckHeader.WINDOW_NONE ? "none" : windowKib + "KiB")
                    + " load "
                    + poolLoad
                    + " "
                    + records;
        }
    }

    /** Refusal of an operation; {@code retryAfterUs} counts with RECEIVER_NOT_READY. */
    record NakView(
            Common common,
            NakCode code,
            int msn,
            int recvSeq,
            long retryAfterUs,
            int cid,
            int epoch)
            implements PacketView {
        static NakView read(Common common, PacketMemory m, int at) {
            NakCode code = NakCode.of(common.opcode);
            return new NakView(
                    common,
                    code == null ? NakCode.INVALID_REQUEST : code,
                    NakHeader.msn(m, at),
                    NakHeader.recvSeq(m, at),
                    NakHeader.retryAfterUs(m, at),
                    NakHeader.cid(m, at),
                    NakHeader.epoch(m, at));
        }

        @Override
        public String toString() {
            return "NAK "
                    + code
                    + " src "
                    + common.ctx
                    + " cid "
                    + cid
                    + "/"
                    + epoch
                    + " path "
                    + common.path
                    + psnText(common)
                    + " stream "
                    + common.stream
                    + " msn "
                    + Integer.toUnsignedString(msn)
                    + " recv "
                    + Integer.toUnsignedString(recvSeq)
                    + " retry "
                    + retryAfterUs
                    + "us";
        }
    }

    /**
     * A message about a lease.
     *
     * @param body the message's own fields, readable
     */
    record ControlView(Common common, ControlOpcode opcode, long nonce, String body)
            implements PacketView {
        static ControlView read(Common common, PacketMemory m, int at) {
            ControlOpcode opcode = ControlOpcode.of(common.opcode);
            ControlOpcode known = opcode == null ? ControlOpcode.RESET : opcode;
            return new ControlView(
                    common, known, ControlMessage.nonce(m, at), ControlText.body(known, m, at));
        }

        @Override
        public String toString() {
            return "CTRL "
                    + opcode
                    + " ctx "
                    + hex(common.ctx)
                    + " nonce "
                    + hex(nonce)
                    + " "
                    + body;
        }
    }

    /** A question for the state of a path. */
    record ProbeView(Common common) implements PacketView {
        @Override
        public String toString() {
            return "PROBE " + common.token() + " path " + common.path + psnText(common);
        }
    }

    /** What the door refused, and why. */
    record Malformed(DoorVerdict verdict, int bytes) implements PacketView {
        @Override
        public String toString() {
            return "REFUSED " + verdict + " " + bytes + " bytes";
        }
    }

    private static String psnText(Common common) {
        return " psn " + Integer.toUnsignedString(common.psn());
    }

    private static String hex(long value) {
        return "0x" + Long.toHexString(value);
    }

    private static String hex(int value) {
        return "0x" + Integer.toHexString(value);
    }

    /** A rate hint in words. */
    static String rateText(int rateHint) {
        return switch (rateHint) {
            case AckHeader.RATE_PAUSE -> "pause";
            case AckHeader.RATE_NONE -> "none";
            default -> rateHint + "Mb/s";
        };
    }
}
