package dev.metaroce.wire;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.util.WindowBitmap;
import dev.metaroce.wire.PacketView.AckRecord;
import dev.metaroce.wire.PacketView.AckView;
import dev.metaroce.wire.PacketView.Common;
import dev.metaroce.wire.PacketView.DataView;
import dev.metaroce.wire.PacketView.NakView;
import dev.metaroce.wire.PacketView.ProbeView;
import dev.metaroce.wire.SamplePackets.Sample;

import org.junit.jupiter.api.Test;

import java.util.BitSet;
import java.util.List;
import java.util.OptionalInt;

/** DATA, ACK, NAK and PROBE: our encoder gives the hand-written bytes, our readers take them. */
class GoldenPacketsTest {
    private static final int AT = PacketBytes.AT;
    private static final long VA = 0x0000_7F00_1234_5678L;
    private static final int RKEY = 0x00C0_FFEE;

    private final PacketMemory memory = PacketBytes.canaries();

    @Test
    void probe() {
        CommonHeader.encode(
                memory,
                AT,
                PacketType.PROBE.code(),
                Flags.ACK_REQ,
                CommonHeader.token(0xA7, 0x2C),
                3,
                0,
                0,
                -2,
                0x0102_0304);
        assertSealed(SamplePackets.PROBE, CommonHeader.BYTES);

        assertThat(parse(SamplePackets.PROBE))
                .isEqualTo(new ProbeView(new Common(0x80, 0xA72C, 3, 0, 0, -2, 0x0102_0304)));
        assertThat(CommonHeader.cid(0xA72C)).isEqualTo(0xA7);
        assertThat(CommonHeader.epoch(0xA72C)).isEqualTo(0x2C);
    }

    // MR-2.1-1
    @Test
    void write() {
        data(Opcode.WRITE, Flags.ACK_REQ | Flags.LAST | Flags.MORE, 0x1020_3040, 0xCAFE_BABE);
        DataHeader.encodeMessage(memory, AT, 7, 0, 3, DataHeader.NO_SLOT, 0);
        DataHeader.encodeReth(memory, AT, VA, RKEY, 0);
        int bytes = payload(Opcode.WRITE, false, 0xAA, 0xBB, 0xCC);
        assertSealed(SamplePackets.WRITE, bytes);

        assertThat(parse(SamplePackets.WRITE))
                .isEqualTo(
                        new DataView(
                                new Common(0xC4, 0x0709, 2, 1, 0x0102, 0x1020_3040, 0xCAFE_BABE),
                                Opcode.WRITE,
                                7,
                                0,
                                3,
                                DataHeader.NO_SLOT,
                                0,
                                VA,
                                RKEY,
                                0,
                                OptionalInt.empty(),
                                3));
    }

    @Test
    void writeWithImmediateInTheMiddleOfItsMessage() {
        data(Opcode.WRITE_IMM, Flags.RETX, 0x1020_3041, 0xCAFE_BABF);
        DataHeader.encodeMessage(memory, AT, 8, 1408, 4096, 5, 2);
        DataHeader.encodeReth(memory, AT, VA, RKEY, 42);
        int bytes = payload(Opcode.WRITE_IMM, false, 0xDE, 0xAD, 0xBE, 0xEF);
        assertSealed(SamplePackets.WRITE_IMM_MIDDLE, bytes);

        assertThat(parse(SamplePackets.WRITE_IMM_MIDDLE))
                .isEqualTo(
                        new DataView(
                                new Common(0x20, 0x0709, 2, 2, 0x0102, 0x1020_3041, 0xCAFE_BABF),
                                Opcode.WRITE_IMM,
                                8,
                                1408,
                                4096,
                                5,
                                2,
                                VA,
                                RKEY,
                                42,
                                OptionalInt.empty(),
                                4));
    }

    @Test
    void writeWithImmediateAtTheEndOfItsMessage() {
        data(Opcode.WRITE_IMM, Flags.LAST | Flags.IMM, 0x1020_3042, 0xCAFE_BAC0);
        DataHeader.encodeMessage(memory, AT, 8, 4092, 4096, 5, 2);
        DataHeader.encodeReth(memory, AT, VA, RKEY, 42);
        DataHeader.encodeImmediate(memory, AT, Opcode.WRITE_IMM, 0x0102_0304);
        int bytes = payload(Opcode.WRITE_IMM, true, 0xDE, 0xAD, 0xBE, 0xEF);
        assertSealed(SamplePackets.WRITE_IMM_LAST, bytes);

        assertThat(parse(SamplePackets.WRITE_IMM_LAST))
                .isEqualTo(
                        new DataView(
                                new Common(0x50, 0x0709, 2, 2, 0x0102, 0x1020_3042, 0xCAFE_BAC0),
                                Opcode.WRITE_IMM,
                                8,
                                4092,
                                4096,
                                5,
                                2,
                                VA,
                                RKEY,
                                42,
                                OptionalInt.of(0x0102_0304),
                                4));
        assertThat(DataHeader.headerBytes(Opcode.WRITE_IMM, true))
                .isEqualTo(DataHeader.MAX_HEADER_BYTES);
    }

    @Test
    void send() {
        CommonHeader.encode(
                memory,
                AT,
                PacketType.DATA.code(),
                Flags.ACK_REQ | Flags.LAST,
                CommonHeader.token(255, 0),
                7,
                Opcode.SEND.code(),
                0xFFFF,
                0,
                0);
        DataHeader.encodeMessage(memory, AT, -1, 0, 1, DataHeader.NO_SLOT, 255);
        DataHeader.encodeRecvSeq(memory, AT, 0x8000_0001);
        int bytes = payload(Opcode.SEND, false, 0x5A);
        assertSealed(SamplePackets.SEND, bytes);

        assertThat(parse(SamplePackets.SEND))
                .isEqualTo(
                        new DataView(
                                new Common(0xC0, 0xFF00, 7, 3, 0xFFFF, 0, 0),
                                Opcode.SEND,
                                -1,
                                0,
                                1,
                                DataHeader.NO_SLOT,
                                255,
                                0,
                                0,
                                0x8000_0001,
                                OptionalInt.empty(),
                                1));
    }

    @Test
    void emptySendWithImmediate() {
        CommonHeader.encode(
                memory,
                AT,
                PacketType.DATA.code(),
                Flags.ACK_REQ | Flags.LAST | Flags.IMM | Flags.FENCE,
                CommonHeader.token(0, 1),
                0,
                Opcode.SEND_IMM.code(),
                0,
                Integer.MAX_VALUE,
                -1);
        DataHeader.encodeMessage(memory, AT, 0, 0, 0, DataHeader.NO_SLOT, 0);
        DataHeader.encodeRecvSeq(memory, AT, 0);
        DataHeader.encodeImmediate(memory, AT, Opcode.SEND_IMM, 0xFEDC_BA98);
        assertSealed(SamplePackets.SEND_IMM_EMPTY, payload(Opcode.SEND_IMM, true));

        assertThat(parse(SamplePackets.SEND_IMM_EMPTY))
                .isEqualTo(
                        new DataView(
                                new Common(0xD8, 1, 0, 4, 0, Integer.MAX_VALUE, -1),
                                Opcode.SEND_IMM,
                                0,
                                0,
                                0,
                                DataHeader.NO_SLOT,
                                0,
                                0,
                                0,
                                0,
                                OptionalInt.of(0xFEDC_BA98),
                                0));
    }

    @Test
    void readRequest() {
        data(Opcode.READ_REQ, Flags.RETX, 0x1020_3046, 0xCAFE_BAC4);
        DataHeader.encodeMessage(memory, AT, 11, 1408, 4096, 5, 0);
        DataHeader.encodeReth(memory, AT, VA, RKEY, 0);
        DataHeader.encodeSegLength(memory, AT, 1408);
        assertSealed(SamplePackets.READ_REQ_MIDDLE, payload(Opcode.READ_REQ, false));

        PacketMemory read = PacketBytes.exactly(SamplePackets.READ_REQ_MIDDLE.bytes());
        assertThat(DataHeader.va(read, 0)).isEqualTo(VA);
        assertThat(DataHeader.rkey(read, 0)).isEqualTo(RKEY);
        assertThat(DataHeader.segLength(read, 0)).isEqualTo(1408);
    }

    @Test
    void atomics() {
        data(Opcode.CMP_SWAP, Flags.LAST, 0x1020_3047, 0xCAFE_BAC5);
        DataHeader.encodeMessage(memory, AT, 12, 0, 8, 6, 0);
        DataHeader.encodeAtomic(
                memory, AT, VA, RKEY, 0x1112_1314_1516_1718L, 0x2122_2324_2526_2728L);
        assertSealed(SamplePackets.CMP_SWAP, payload(Opcode.CMP_SWAP, false));

        data(Opcode.FETCH_ADD, Flags.ACK_REQ | Flags.LAST, 0x1020_3048, 0xCAFE_BAC6);
        DataHeader.encodeMessage(memory, AT, 13, 0, 8, 0, 0);
        DataHeader.encodeAtomic(memory, AT, VA, RKEY, -1, 0);
        assertSealed(SamplePackets.FETCH_ADD, payload(Opcode.FETCH_ADD, false));

        PacketMemory swap = PacketBytes.exactly(SamplePackets.CMP_SWAP.bytes());
        assertThat(DataHeader.va(swap, 0)).isEqualTo(VA);
        assertThat(DataHeader.rkey(swap, 0)).isEqualTo(RKEY);
        assertThat(DataHeader.swapOrAdd(swap, 0)).isEqualTo(0x1112_1314_1516_1718L);
        assertThat(DataHeader.compare(swap, 0)).isEqualTo(0x2122_2324_2526_2728L);
    }

    @Test
    void replies() {
        reply(Opcode.READ_DATA, 0x1020_3046, 0xCAFE_0010);
        ReplyHeader.encode(memory, AT, 11, 1408, 0xCAFE_BAC4, 16, 7, 9);
        assertSealed(SamplePackets.READ_DATA, payload(Opcode.READ_DATA, false, 0xB1, 0xB2, 0xB3));

        reply(Opcode.ATOMIC_REPLY, 0x1020_3047, 0xCAFE_0011);
        ReplyHeader.encode(memory, AT, 12, 0, 0xCAFE_BAC5, 0xFFFF, 255, 254);
        assertSealed(
                SamplePackets.ATOMIC_REPLY,
                payload(
                        Opcode.ATOMIC_REPLY,
                        false,
                        0x31,
                        0x32,
                        0x33,
                        0x34,
                        0x35,
                        0x36,
                        0x37,
                        0x38));

        PacketMemory read = PacketBytes.exactly(SamplePackets.READ_DATA.bytes());
        assertThat(ReplyHeader.msn(read, 0)).isEqualTo(11);
        assertThat(ReplyHeader.msgOffset(read, 0)).isEqualTo(1408);
        assertThat(ReplyHeader.echoTime(read, 0)).isEqualTo(0xCAFE_BAC4);
        assertThat(ReplyHeader.ackDelay(read, 0)).isEqualTo(16);
        assertThat(ReplyHeader.cid(read, 0)).isEqualTo(7);
        assertThat(ReplyHeader.epoch(read, 0)).isEqualTo(9);
    }

    private void reply(Opcode opcode, int psn, int txTime) {
        int type = PacketType.DATA.code();
        CommonHeader.encode(memory, AT, type, 0, 0xBEEF, 2, opcode.code(), 0x0102, psn, txTime);
    }

    @Test
    void lengthsAndOffsetsAreUnsigned() {
        data(Opcode.WRITE, Flags.LAST, 0x1020_3043, 0xCAFE_BAC1);
        DataHeader.encodeMessage(memory, AT, 9, 0xFFFF_FFFEL, 0xFFFF_FFFFL, 0x8000, 0);
        DataHeader.encodeReth(memory, AT, 0xFFFF_FFFF_0000_0000L, 0x8000_0000, 0);
        int bytes = payload(Opcode.WRITE, false, 0x77);
        assertSealed(SamplePackets.WRITE_LARGEST, bytes);

        assertThat(parse(SamplePackets.WRITE_LARGEST))
                .isEqualTo(
                        new DataView(
                                new Common(0x40, 0x0709, 2, 1, 0x0102, 0x1020_3043, 0xCAFE_BAC1),
                                Opcode.WRITE,
                                9,
                                0xFFFF_FFFEL,
                                0xFFFF_FFFFL,
                                0x8000,
                                0,
                                0xFFFF_FFFF_0000_0000L,
                                0x8000_0000,
                                0,
                                OptionalInt.empty(),
                                1));
    }

    @Test
    void skip() {
        CommonHeader.encode(
                memory,
                AT,
                PacketType.DATA.code(),
                Flags.ACK_REQ,
                0x0709,
                2,
                Opcode.SKIP.code(),
                0,
                0x1020_3044,
                0xCAFE_BAC2);
        assertSealed(SamplePackets.SKIP, payload(Opcode.SKIP, false));

        assertThat(parse(SamplePackets.SKIP))
                .isEqualTo(
                        new DataView(
                                new Common(0x80, 0x0709, 2, 15, 0, 0x1020_3044, 0xCAFE_BAC2),
                                Opcode.SKIP,
                                0,
                                0,
                                0,
                                0,
                                0,
                                0,
                                0,
                                0,
                                OptionalInt.empty(),
                                0));
    }

    // MR-2.4-8
    @Test
    void ackOfTwoPaths() {
        long[] words = new long[3 + WindowBitmap.WORDS];
        BitSet sack = new BitSet();
        for (int bit : new int[] {0, 191, 193, 224}) {
            WindowBitmap.set(words, 3, bit);
            sack.set(bit);
        }
        ack(0xCAFE_0000);
        AckHeader.encodeLease(memory, AT, 65_536, 400_000, 42, 1024, 128, 2, 7, 9);
        int next = AckHeader.firstRecord(AT);
        next =
                AckHeader.putRecord(
                        memory,
                        next,
                        0,
                        AckHeader.RFLAG_PROBE_REPLY,
                        AckHeader.toAckDelay(1_087),
                        0x1020_3045,
                        0xCAFE_BAC2,
                        0);
        next =
                AckHeader.putRecord(
                        memory,
                        next,
                        5,
                        AckHeader.RFLAG_SACK | AckHeader.RFLAG_CE,
                        AckHeader.toAckDelay(Long.MAX_VALUE),
                        -16,
                        0xCAFE_BAC3,
                        3);
        next = AckHeader.putSack(memory, next, words, 3);
        assertSealed(SamplePackets.ACK, next - AT);

        assertThat(parse(SamplePackets.ACK))
                .isEqualTo(
                        new AckView(
                                new Common(0, 0xBEEF, 0, 0, 0, 0, 0xCAFE_0000),
                                65_536,
                                400_000,
                                42,
                                1024,
                                128,
                                7,
                                9,
                                List.of(
                                        new AckRecord(
                                                0,
                                                0x20,
                                                16,
                                                0x1020_3045,
                                                0xCAFE_BAC2,
                                                0,
                                                new BitSet()),
                                        new AckRecord(
                                                5, 0xC0, 0xFFFF, -16, 0xCAFE_BAC3, 3, sack))));
    }

    @Test
    void ackWithoutRecordsAndAllLimits() {
        ack(0xCAFE_0001);
        AckHeader.encodeLease(
                memory,
                AT,
                -1,
                AckHeader.RATE_NONE,
                255,
                AckHeader.WINDOW_NONE,
                AckHeader.POOL_EXHAUSTED,
                0,
                255,
                254);
        assertSealed(SamplePackets.ACK_BARE, AckHeader.firstRecord(0));

        assertThat(parse(SamplePackets.ACK_BARE))
                .isEqualTo(
                        new AckView(
                                new Common(0, 0xBEEF, 0, 0, 0, 0, 0xCAFE_0001),
                                -1,
                                0xFF_FFFF,
                                255,
                                0xFFFF,
                                255,
                                255,
                                254,
                                List.of()));
    }

    @Test
    void nak() {
        CommonHeader.encode(
                memory,
                AT,
                PacketType.NAK.code(),
                0,
                0xBEEF,
                2,
                NakCode.RECEIVER_NOT_READY.code(),
                0x0102,
                0x1020_3046,
                0xCAFE_0002);
        NakHeader.encode(memory, AT, 7, 42, 1000, 7, 9);
        assertSealed(SamplePackets.NAK, NakHeader.PACKET_BYTES - CommonHeader.TRAILER_BYTES);

        assertThat(parse(SamplePackets.NAK))
                .isEqualTo(
                        new NakView(
                                new Common(0, 0xBEEF, 2, 5, 0x0102, 0x1020_3046, 0xCAFE_0002),
                                NakCode.RECEIVER_NOT_READY,
                                7,
                                42,
                                1000,
                                7,
                                9));
    }

    private void data(Opcode opcode, int flags, int psn, int txTime) {
        int token = CommonHeader.token(7, 9);
        CommonHeader.encode(
                memory,
                AT,
                PacketType.DATA.code(),
                flags,
                token,
                2,
                opcode.code(),
                0x0102,
                psn,
                txTime);
    }

    private void ack(int txTime) {
        CommonHeader.encode(memory, AT, PacketType.ACK.code(), 0, 0xBEEF, 0, 0, 0, 0, txTime);
    }

    /** Puts the payload behind the headers and returns the bytes of both. */
    private int payload(Opcode opcode, boolean imm, int... bytes) {
        int at = DataHeader.payloadOffset(memory, AT);
        assertThat(at).isEqualTo(AT + DataHeader.headerBytes(opcode, imm));
        for (int value : bytes) {
            memory.put8(at++, value);
        }
        return at - AT;
    }

    private void assertSealed(Sample golden, int bytesWithoutCrc) {
        CommonHeader.seal(memory, AT, bytesWithoutCrc);
        int bytes = bytesWithoutCrc + CommonHeader.TRAILER_BYTES;
        assertThat(PacketBytes.encoded(memory, bytes)).isEqualTo(golden.bytes());
        assertThat(PacketDoor.check(memory, AT, bytes)).isEqualTo(DoorVerdict.OK);
    }

    private static PacketView parse(Sample golden) {
        byte[] bytes = golden.bytes();
        return PacketView.parse(PacketBytes.exactly(bytes), 0, bytes.length);
    }
}
