package dev.metaroce.wire;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.testing.Seeded;
import dev.metaroce.util.Rng;

import org.junit.jupiter.api.Test;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HexFormat;

/** The message inside a REQUEST: its bytes, and each rule of its form broken alone. */
class EarlyMessageTest {
    private static final int AT = EarlyMessage.AT;

    /** SEND_IMM of three bytes on stream 258. */
    private static final String SEND_IMM =
            // common: LAST IMM
            "11 50 0000 00 04 0102 00000000 cafe0003"
                    // msn, offset, length, no slot
                    + "00000000 00000000 00000003 ffff 00 00"
                    // receive, immediate, payload
                    + "00000000 01020304 616263";

    /** WRITE of one byte. */
    private static final String WRITE =
            "11 40 0000 00 01 0000 00000000 00000000"
                    + "00000000 00000000 00000001 ffff 00 00"
                    // va, key, receive
                    + "00007f0012345678 00c0ffee 00000000 61";

    /** The sample REQUEST, asked by the acceptor, with a message. */
    private static byte[] request(String image) {
        byte[] message = HexFormat.of().parseHex(image.replace(" ", ""));
        byte[] bytes = Arrays.copyOf(SamplePackets.REQUEST.bytes(), AT + message.length + 4);
        System.arraycopy(message, 0, bytes, AT, message.length);
        bytes[RequestFields.FLAGS_AT] = (byte) 0x60;
        return PacketBytes.resealed(bytes);
    }

    private static void assertVerdict(byte[] bytes, boolean valid, String what) {
        assertThat(PacketBytes.check(PacketBytes.resealed(bytes)))
                .as(what)
                .isEqualTo(valid ? DoorVerdict.OK : DoorVerdict.MALFORMED);
    }

    private static void assertByte(String image, int at, int value, boolean valid) {
        byte[] bytes = request(image);
        bytes[at] = (byte) value;
        assertVerdict(bytes, valid, "byte " + at + " is " + value);
    }

    // MR-3.7-3
    @Test
    void ourEncoderGivesTheHandWrittenBytes() {
        PacketMemory memory = new PacketMemory(512);
        byte[] golden = request(SEND_IMM);
        memory.bytes().put(0, SamplePackets.REQUEST.bytes());
        RequestFields fields = new RequestFields();
        fields.read(memory, 0);
        fields.flags = RequestFields.FLAG_ACCEPTOR | RequestFields.FLAG_EARLY;
        ControlMessage.encodeRequestHead(memory, 0, 0xCAFE_0003, fields);
        EarlyMessage.encodeCommon(
                memory, 0, Flags.LAST | Flags.IMM, Opcode.SEND_IMM, 258, 0xCAFE_0003);
        DataHeader.encodeMessage(memory, AT, 0, 0, 3, DataHeader.NO_SLOT, 0);
        DataHeader.encodeRecvSeq(memory, AT, 0);
        DataHeader.encodeImmediate(memory, AT, Opcode.SEND_IMM, 0x0102_0304);
        memory.bytes().put(golden.length - 7, new byte[] {'a', 'b', 'c'});
        CommonHeader.seal(memory, 0, golden.length - 4);
        assertThat(PacketBytes.bytes(memory, 0, golden.length)).isEqualTo(golden);
        assertThat(PacketView.parse(memory, 0, golden.length).toString())
                .endsWith("flags 0x60 private 3 early SEND_IMM stream 258 bytes 3");
    }

    // MR-3.7-4
    @Test
    void itIsNeverTheFirstRequestOfAConnection() {
        assertByte(SEND_IMM, RequestFields.FLAGS_AT, 0x60, true);
        assertByte(SEND_IMM, RequestFields.FLAGS_AT, 0x20, true);
        assertByte(SEND_IMM, RequestFields.FLAGS_AT, 0xA0, false);
        assertByte(SEND_IMM, RequestFields.FLAGS_AT, 0x40, false);
        byte[] bare = SamplePackets.REQUEST.bytes();
        bare[RequestFields.FLAGS_AT] = 0x20;
        assertVerdict(bare, false, "no message");
    }

    // MR-3.7-1, MR-3.7-4
    @Test
    void onlyMessagesOfOnePacketRide() {
        for (int code = 0; code < 256; code++) {
            assertByte(WRITE, AT + 5, code, code == 1);
            assertByte(SEND_IMM, AT + 5, code, code == 4);
            // Version and type.
            assertByte(WRITE, AT, code, code == 0x11);
        }
        assertThat(Arrays.stream(Opcode.values()).filter(Opcode::ridesInRequest))
                .containsExactly(
                        Opcode.WRITE,
                        Opcode.WRITE_IMM,
                        Opcode.SEND,
                        Opcode.SEND_IMM,
                        Opcode.SEND_INV);
        // MSN, offset, length, slot, receive.
        for (int at : new int[] {16, 19, 20, 23, 24, 28, 29, 32, 35}) {
            assertByte(SEND_IMM, AT + at, 1, false);
        }
        assertByte(SEND_IMM, AT + 27, 4, false);
        assertByte(SEND_IMM, AT + 27, 2, false);
        assertByte(WRITE, AT + 47, 1, false);
        // Without LAST; without IMM, which makes it the start of the payload.
        assertByte(SEND_IMM, AT + 1, 0x10, false);
        assertByte(SEND_IMM, AT + 1, 0x40, false);
    }

    // MR-2.1-5, MR-2.1-6
    @Test
    void whatTheLeaseWouldSayIsIgnored() {
        for (int at : new int[] {2, 3, 4, 8, 11, 12, 15, 30, 31}) {
            assertByte(SEND_IMM, AT + at, 0x77, true);
        }
    }

    @Test
    void everyOtherLengthIsMalformed() {
        byte[] whole = request(WRITE);
        for (int bytes = ControlMessage.REQUEST_BYTES; bytes < whole.length + 40; bytes++) {
            assertVerdict(Arrays.copyOf(whole, bytes), bytes == whole.length, bytes + " bytes");
        }
    }

    /** Payload that is left out counts; nothing else may be left out. */
    @Test
    void elidedPayload() {
        byte[] whole = request(WRITE);
        byte[] head = PacketBytes.resealed(Arrays.copyOf(whole, whole.length - 1));
        PacketMemory memory = new PacketMemory(512);
        memory.bytes().put(0, head);
        for (int elided = 0; elided < 300; elided++) {
            memory.elide(elided);
            assertThat(PacketDoor.check(memory, 0, head.length + elided) == DoorVerdict.OK)
                    .isEqualTo(elided == 1);
        }
        byte[] plain = SamplePackets.REQUEST.bytes();
        memory.bytes().put(0, plain);
        memory.elide(8);
        assertThat(PacketDoor.check(memory, 0, plain.length + 8)).isEqualTo(DoorVerdict.MALFORMED);
    }

    @Seeded(cases = 2_000)
    void randomBytesNeverThrow(long seed) {
        Rng rng = new Rng(seed);
        byte[] bytes = request(rng.chance(0.5) ? SEND_IMM : WRITE);
        for (int changes = rng.nextInt(6); changes >= 0; changes--) {
            int at = rng.chance(0.8) ? AT + rng.nextInt(bytes.length - AT) : rng.nextInt(AT);
            bytes[at] = (byte) (rng.chance(0.5) ? rng.nextInt(256) : 1 << rng.nextInt(8));
        }
        if (rng.chance(0.2)) {
            bytes = Arrays.copyOf(bytes, 20 + rng.nextInt(bytes.length));
        }
        byte[] sealed = PacketBytes.resealed(bytes);
        PacketMemory memory = PacketBytes.exactly(sealed);
        DoorVerdict verdict = PacketDoor.check(memory, 0, sealed.length);
        assertThat(PacketView.parse(memory, 0, sealed.length).toString()).isNotEmpty();
        if (verdict == DoorVerdict.OK && EarlyMessage.isIn(memory, 0)) {
            ByteBuffer image = ByteBuffer.wrap(sealed, AT, sealed.length - AT);
            assertThat(image.getInt(AT + DataHeader.MSN_AT)).isZero();
            assertThat(DataHeader.payloadBytes(memory, AT, sealed.length - AT))
                    .isEqualTo((int) DataHeader.length(memory, AT));
        }
    }
}
