package dev.metaroce.wire;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.util.Rng;
import dev.metaroce.wire.SamplePackets.Sample;

import org.junit.jupiter.api.Test;

import java.util.Arrays;

/** Each rule of a well-formed packet, broken alone. */
class WellFormedTest {
    private static final int FLAGS = 1;
    private static final int OPCODE = 5;

    // MR-2.3-1
    @Test
    void unknownAndReservedDataOpcodesAreMalformed() {
        for (int code = 0; code < 256; code++) {
            byte[] skip = SamplePackets.SKIP.bytes();
            skip[OPCODE] = (byte) code;
            assertVerdict(skip, code == Opcode.SKIP.code(), "opcode " + code);
        }
    }

    // MR-2.3-5, MR-2.3-6, MR-2.3-7, MR-2.3-8
    @Test
    void theMessageHeaderMustAgreeWithThePayload() {
        // A whole message of 3 bytes: payload 3, offset 0, length 3, no slot.
        Sample write = SamplePackets.WRITE;
        assertMessage(write, 0, 3, DataHeader.NO_SLOT, true, true);
        assertMessage(write, 0, 3, 0, true, false);
        assertMessage(write, 0, 3, DataHeader.NO_SLOT, false, false);
        assertMessage(write, 0, 2, DataHeader.NO_SLOT, true, false);
        assertMessage(write, 0, 0, DataHeader.NO_SLOT, true, false);
        // The first, a middle and the last packet of a longer one.
        assertMessage(write, 0, 10, 1, false, true);
        assertMessage(write, 4, 10, 1, false, true);
        assertMessage(write, 7, 10, 1, true, true);
        assertMessage(write, 0, 10, DataHeader.NO_SLOT, false, false);
        assertMessage(write, 7, 10, DataHeader.NO_SLOT, true, false);
        assertMessage(write, 4, 10, 1, true, false);
        assertMessage(write, 7, 10, 1, false, false);
        assertMessage(write, 8, 10, 1, true, false);
        assertMessage(write, 8, 10, 1, false, false);
        assertMessage(write, 0, 0, 1, false, false);
        // Sums that only fit into more than 32 bits.
        assertMessage(write, 0xFFFF_FFFCL, 0xFFFF_FFFFL, 1, true, true);
        assertMessage(write, 0xFFFF_FFFDL, 0, 1, true, false);
        assertMessage(write, 0xFFFF_FFFEL, 1, 1, true, false);
        assertMessage(write, 0xFFFF_FFFFL, 0xFFFF_FFFFL, 1, false, false);
    }

    // MR-2.3-7
    @Test
    void onlyAnEmptyMessageHasAnEmptyPacket() {
        Sample empty = SamplePackets.SEND_IMM_EMPTY;
        assertMessage(empty, 0, 0, DataHeader.NO_SLOT, true, true);
        assertMessage(empty, 0, 0, 0, true, false);
        assertMessage(empty, 5, 5, 1, true, false);
        assertMessage(empty, 0, 0, DataHeader.NO_SLOT, false, false);
    }

    // MR-2.3-2
    @Test
    void headersCutShortAreMalformedEvenWhenTheOffsetMakesUpForIt() {
        for (Sample sample : new Sample[] {SamplePackets.WRITE, SamplePackets.SEND}) {
            Opcode op = sample.equals(SamplePackets.WRITE) ? Opcode.WRITE : Opcode.SEND;
            for (int missing = 1; missing <= op.headerBytes() - 32; missing++) {
                byte[] cut = Arrays.copyOf(sample.bytes(), op.headerBytes() - missing + 4);
                PacketMemory memory = PacketBytes.exactly(cut);
                DataHeader.encodeMessage(memory, 0, 7, missing, 0, 0, 0);
                assertVerdict(
                        PacketBytes.bytes(memory, 0, cut.length), false, sample + " -" + missing);
            }
        }
    }

    // MR-2.3-9
    @Test
    void theImmediateComesExactlyWithTheLastPacketOfAnImmediateOperation() {
        byte[] write = SamplePackets.WRITE.bytes();
        write[FLAGS] |= (byte) Flags.IMM;
        assertVerdict(write, false, "WRITE with IMM");

        byte[] middle = SamplePackets.WRITE_IMM_MIDDLE.bytes();
        middle[FLAGS] |= (byte) Flags.IMM;
        assertVerdict(middle, false, "IMM without LAST");

        byte[] last = SamplePackets.WRITE_IMM_LAST.bytes();
        last[FLAGS] &= (byte) ~Flags.IMM;
        assertVerdict(last, false, "LAST without IMM");
    }

    // MR-2.3-10
    @Test
    void aSkipHasNeitherLastNorImmediateNorAnythingElse() {
        for (int flags = 0; flags < 256; flags++) {
            byte[] skip = SamplePackets.SKIP.bytes();
            skip[FLAGS] = (byte) flags;
            boolean valid = (flags & (Flags.LAST | Flags.IMM)) == 0;
            assertVerdict(skip, valid, "flags " + flags);
        }
    }

    // MR-2.3-5, MR-2.3-6, MR-2.3-7, MR-2.3-8, MR-2.3-13
    @Test
    void whatAReadAsksForMustAgreeWithItsMessage() {
        assertRead(0, 3, 3, DataHeader.NO_SLOT, true, true);
        assertRead(0, 0, 0, DataHeader.NO_SLOT, true, true);
        assertRead(0, 0, 3, DataHeader.NO_SLOT, true, false);
        assertRead(0, 0, 3, 1, false, false);
        assertRead(0, 3, 3, 1, true, false);
        assertRead(0, 3, 3, DataHeader.NO_SLOT, false, false);
        assertRead(0, 3, 2, DataHeader.NO_SLOT, true, false);
        assertRead(4, 3, 10, 1, false, true);
        assertRead(7, 3, 10, 1, true, true);
        assertRead(7, 3, 10, DataHeader.NO_SLOT, true, false);
        assertRead(8, 3, 10, 1, true, false);
        assertRead(0xFFFF_FFFCL, 3, 0xFFFF_FFFFL, 1, true, true);
        assertRead(0xFFFF_FFFEL, 3, 1, 1, true, false);
        assertRead(3, 0xFFFF_FFFEL, 1, 1, true, false);
    }

    private static void assertRead(
            long msgOffset, long wanted, long length, int slot, boolean last, boolean valid) {
        byte[] bytes = SamplePackets.READ_REQ_MIDDLE.bytes();
        bytes[FLAGS] = (byte) (last ? Flags.LAST : 0);
        PacketMemory memory = PacketBytes.exactly(bytes);
        DataHeader.encodeMessage(memory, 0, 7, msgOffset, length, slot, 0);
        DataHeader.encodeSegLength(memory, 0, (int) wanted);
        assertVerdict(
                PacketBytes.bytes(memory, 0, bytes.length),
                valid,
                "READ " + msgOffset + "+" + wanted + "/" + length + " slot " + slot);
    }

    // MR-2.3-14
    @Test
    void anAtomicIsAWholeMessageOf8BytesWithASlot() {
        for (Sample sample : new Sample[] {SamplePackets.CMP_SWAP, SamplePackets.FETCH_ADD}) {
            assertAtomic(sample, 0, 8, 0, true, true);
            assertAtomic(sample, 0, 8, 0xFFFE, true, true);
            assertAtomic(sample, 0, 8, DataHeader.NO_SLOT, true, false);
            assertAtomic(sample, 0, 8, 0, false, false);
            assertAtomic(sample, 8, 8, 0, true, false);
            assertAtomic(sample, 0, 7, 0, true, false);
            assertAtomic(sample, 0, 0, 0, true, false);
            assertAtomic(sample, 0, 16, 0, true, false);
        }
    }

    private static void assertAtomic(
            Sample sample, long msgOffset, long length, int slot, boolean last, boolean valid) {
        byte[] bytes = sample.bytes();
        bytes[FLAGS] = (byte) (last ? Flags.LAST : 0);
        PacketMemory memory = PacketBytes.exactly(bytes);
        DataHeader.encodeMessage(memory, 0, 7, msgOffset, length, slot, 0);
        assertVerdict(
                PacketBytes.bytes(memory, 0, bytes.length),
                valid,
                sample + " " + msgOffset + "/" + length + " slot " + slot + " " + last);
    }

    // MR-2.3-15
    @Test
    void repliesAreJudgedByTheirLengthAlone() {
        for (int flags = 0; flags < 256; flags++) {
            for (Sample sample :
                    new Sample[] {SamplePackets.READ_DATA, SamplePackets.ATOMIC_REPLY}) {
                byte[] reply = sample.bytes();
                reply[FLAGS] = (byte) flags;
                assertVerdict(reply, true, sample + " flags " + flags);
            }
        }
        for (int payload = 0; payload < 20; payload++) {
            byte[] read = Arrays.copyOf(SamplePackets.READ_DATA.bytes(), 36 + payload);
            assertVerdict(read, true, "READ_DATA of " + payload);
            byte[] old = Arrays.copyOf(SamplePackets.ATOMIC_REPLY.bytes(), 36 + payload);
            assertVerdict(old, payload == 8, "ATOMIC_REPLY of " + payload);
        }
    }

    // MR-2.1-6
    @Test
    void reservedBitsAreIgnored() {
        byte[] write = SamplePackets.WRITE.bytes();
        write[FLAGS] |= 0x03;
        write[DataHeader.RESERVED_AT] = -1;
        assertVerdict(write, true, "WRITE");

        byte[] ack = SamplePackets.ACK.bytes();
        ack[AckHeader.RESERVED_AT] = -1;
        ack[AckHeader.RECORDS_AT + AckHeader.R_FLAGS_AT] |= 0x1F;
        assertVerdict(ack, true, "ACK");

        byte[] request = SamplePackets.REQUEST.bytes();
        request[RequestFields.ADDRESS_COUNT_AT + 1] = -1;
        request[RequestFields.PADDING_AT] = -1;
        assertVerdict(request, true, "REQUEST");
    }

    // MR-2.4-1
    @Test
    void theOpcodeOfAnAckIsZero() {
        byte[] ack = SamplePackets.ACK_BARE.bytes();
        ack[OPCODE] = 1;
        assertVerdict(ack, false, "opcode 1");
    }

    // MR-2.4-5, MR-2.4-6
    @Test
    void theRecordsOfAnAckFillIt() {
        for (int count = 0; count < 256; count++) {
            byte[] ack = SamplePackets.ACK.bytes();
            ack[AckHeader.COUNT_AT] = (byte) count;
            assertVerdict(ack, count == 2, "count " + count);
        }
        byte[] noSack = SamplePackets.ACK.bytes();
        int second = AckHeader.RECORDS_AT + AckHeader.RECORD_BYTES;
        noSack[second + AckHeader.R_FLAGS_AT] &= (byte) ~AckHeader.RFLAG_SACK;
        assertVerdict(noSack, false, "SACK without its flag");

        PacketMemory memory = new PacketMemory(52);
        CommonHeader.encode(memory, 0, PacketType.ACK.code(), 0, 1, 0, 0, 0, 0, 0);
        AckHeader.encodeLease(memory, 0, 0, 0, 0, 0, 0, 1, 0, 0);
        AckHeader.putRecord(memory, AckHeader.firstRecord(0), 0, AckHeader.RFLAG_SACK, 0, 0, 0, 0);
        assertVerdict(PacketBytes.bytes(memory, 0, 52), false, "flag without its SACK");
        memory.put8(AckHeader.RECORDS_AT + AckHeader.R_FLAGS_AT, 0);
        assertVerdict(PacketBytes.bytes(memory, 0, 52), true, "neither");
    }

    @Test
    void anAckMayHold255Records() {
        PacketMemory memory = new PacketMemory(20_000);
        CommonHeader.encode(memory, 0, PacketType.ACK.code(), 0, 1, 0, 0, 0, 0, 0);
        AckHeader.encodeLease(memory, 0, 0, 0, 0, 0, 0, AckHeader.MAX_RECORDS, 0, 0);
        int next = AckHeader.firstRecord(0);
        for (int path = 0; path < AckHeader.MAX_RECORDS; path++) {
            boolean sack = path % 3 == 0;
            int rflags = sack ? AckHeader.RFLAG_SACK : 0;
            next = AckHeader.putRecord(memory, next, path, rflags, 0, path, 0, 0);
            next = sack ? AckHeader.putSack(memory, next, new long[4], 0) : next;
        }
        CommonHeader.seal(memory, 0, next);
        int bytes = next + CommonHeader.TRAILER_BYTES;
        assertThat(PacketDoor.check(memory, 0, bytes)).isEqualTo(DoorVerdict.OK);

        int record = AckHeader.firstRecord(0);
        for (int path = 0; path < AckHeader.MAX_RECORDS; path++) {
            assertThat(AckHeader.path(memory, record)).isEqualTo(path);
            assertThat(AckHeader.cumPsn(memory, record)).isEqualTo(path);
            record = AckHeader.nextRecord(memory, record);
        }
        assertThat(record).isEqualTo(next);
    }

    // MR-2.4-7
    @Test
    void ackDelaysSaturate() {
        assertThat(AckHeader.toAckDelay(-1)).isZero();
        assertThat(AckHeader.toAckDelay(63)).isZero();
        assertThat(AckHeader.toAckDelay(64)).isEqualTo(1);
        assertThat(AckHeader.toAckDelay(65_535L * 64)).isEqualTo(65_535);
        assertThat(AckHeader.toAckDelay(65_536L * 64)).isEqualTo(65_535);
        assertThat(AckHeader.toAckDelay(Long.MIN_VALUE)).isZero();
    }

    // MR-2.2-10
    @Test
    void sendTimesWrapEvery275Seconds() {
        assertThat(CommonHeader.toTxTime(0)).isZero();
        assertThat(CommonHeader.toTxTime(64)).isEqualTo(1);
        assertThat(CommonHeader.toTxTime((1L << 38) + 128)).isEqualTo(2);
        assertThat(CommonHeader.toTxTime(-64)).isEqualTo(-1);
    }

    // MR-2.5-3
    @Test
    void unknownNakCodesAreMalformed() {
        for (int code = 0; code < 256; code++) {
            byte[] nak = SamplePackets.NAK.bytes();
            nak[OPCODE] = (byte) code;
            assertVerdict(nak, code >= 1 && code <= 7, "code " + code);
        }
    }

    // MR-2.6-1
    @Test
    void unknownControlOpcodesAreMalformed() {
        for (int code = 0; code < 256; code++) {
            byte[] request = SamplePackets.REQUEST.bytes();
            request[OPCODE] = (byte) code;
            assertVerdict(request, code == ControlOpcode.REQUEST.code(), "opcode " + code);
        }
    }

    // MR-2.6-3
    @Test
    void aReleaseIsAsLongAsItsPathCountSays() {
        for (int paths = 0; paths < 256; paths++) {
            byte[] release = SamplePackets.RELEASE.bytes();
            release[ControlMessage.RELEASE_PATH_COUNT_AT] = (byte) paths;
            assertVerdict(release, paths == 3, "paths " + paths);

            PacketMemory memory = new PacketMemory(ControlMessage.MAX_PACKET_BYTES);
            int bytes = ControlMessage.encodeRelease(memory, 0, 0, 0, 0, 0, 0, new int[255], paths);
            assertThat(bytes).isEqualTo(ControlMessage.releaseBytes(paths));
            assertThat(PacketDoor.check(memory, 0, bytes)).isEqualTo(DoorVerdict.OK);
        }
    }

    // MR-2.6-3, MR-2.6-5
    @Test
    void aDenyIsAsLongAsItsPrivateLengthSays() {
        for (int length = 0; length < 128; length++) {
            byte[] deny = SamplePackets.DENY_SERVICE.bytes();
            deny[ControlMessage.DENY_FLAGS_LENGTH_AT] = (byte) length;
            assertVerdict(deny, length == 15, "private data of " + length);

            PacketMemory memory = new PacketMemory(ControlMessage.denyBytes(127));
            int bytes =
                    ControlMessage.encodeDeny(
                            memory,
                            0,
                            0,
                            0,
                            0,
                            DenyReason.SERVICE,
                            false,
                            2,
                            0,
                            0,
                            new byte[length]);
            assertThat(bytes).isEqualTo(ControlMessage.denyBytes(length));
            DoorVerdict verdict = PacketDoor.check(memory, 0, bytes);
            assertThat(verdict == DoorVerdict.OK).isEqualTo(length <= 64);
        }
    }

    // MR-2.6-5
    @Test
    void privateDataHasAtMost64Bytes() {
        for (int length : new int[] {0, 63, 64, 65, 256, 0xFFFF}) {
            byte[] request = SamplePackets.REQUEST.bytes();
            put16(request, RequestFields.PRIVATE_LENGTH_AT, length);
            assertVerdict(request, length <= 64, "REQUEST with " + length);

            byte[] grant = SamplePackets.GRANT.bytes();
            put16(grant, GrantFields.PRIVATE_LENGTH_AT, length);
            assertVerdict(grant, length <= 64, "GRANT with " + length);
        }
    }

    // MR-2.6-6
    @Test
    void unknownReasonsAndProfilesAreMalformed() {
        for (int code = 0; code < 256; code++) {
            assertField(SamplePackets.GRANT, GrantFields.PROFILE_AT, code, code == 1 || code == 2);
            assertField(SamplePackets.GRANT, GrantFields.PATHS_AT, code, code >= 1);
            boolean deny = code >= 1 && code <= 9;
            assertField(SamplePackets.DENY, ControlMessage.DENY_REASON_AT, code, deny);
            boolean reclaim = code >= 1 && code <= 3;
            assertField(SamplePackets.RECLAIM, ControlMessage.RECLAIM_REASON_AT, code, reclaim);
            boolean reset = code >= 1 && code <= 6;
            assertField(SamplePackets.RESET, ControlMessage.RESET_REASON_AT, code, reset);
        }
    }

    @Test
    void codesAndTheirEnumsAgreeBothWays() {
        for (int code = -1; code <= 256; code++) {
            PacketType type = PacketType.of(code);
            assertThat(type == null ? -9 : type.code()).isIn(-9, code);
            Opcode opcode = Opcode.of(code);
            assertThat(opcode == null ? -9 : opcode.code()).isIn(-9, code);
            ControlOpcode control = ControlOpcode.of(code);
            assertThat(control == null ? -9 : control.code()).isIn(-9, code);
            Profile profile = Profile.of(code);
            assertThat(profile == null ? -9 : profile.code()).isIn(-9, code);
        }
        for (Opcode opcode : Opcode.values()) {
            assertThat(Opcode.of(opcode.code())).isEqualTo(opcode);
        }
        assertThat(PacketType.of(Integer.MIN_VALUE)).isNull();
        assertThat(Opcode.of(Integer.MAX_VALUE)).isNull();
    }

    @Test
    void anyMessageCutIntoPacketsIsWellFormedAndReadsBack() {
        for (long seed = 1; seed <= 2_000; seed++) {
            Rng rng = new Rng(seed);
            Opcode[] opcodes = {Opcode.WRITE, Opcode.WRITE_IMM, Opcode.SEND, Opcode.SEND_IMM};
            cutMessage(rng, opcodes[rng.nextInt(4)], "seed " + seed);
        }
    }

    /** Encodes each packet of a random message at a random place and reads it back. */
    private static void cutMessage(Rng rng, Opcode op, String what) {
        int mtu = 1 + rng.nextInt(300);
        int length = rng.nextInt(3) == 0 ? rng.nextInt(2) : rng.nextInt(1_000);
        int slot = length <= mtu ? DataHeader.NO_SLOT : rng.nextInt(0xFFFF);
        PacketMemory memory = new PacketMemory(400 + 64);
        int at = rng.nextInt(64);
        int offset = 0;
        do {
            int payload = Math.min(mtu, length - offset);
            boolean last = offset + payload == length;
            boolean imm = last && op.carriesImmediate();
            int flags = rng.nextInt(256) & ~(Flags.LAST | Flags.IMM);
            flags |= (last ? Flags.LAST : 0) | (imm ? Flags.IMM : 0);
            long base = rng.nextLong();
            int key = rng.nextInt();
            int path = rng.nextInt(256);
            int stream = rng.nextInt(65_536);
            int psn = rng.nextInt();
            int type = PacketType.DATA.code();
            CommonHeader.encode(
                    memory, at, type, flags, key >>> 16, path, op.code(), stream, psn, ~psn);
            DataHeader.encodeMessage(memory, at, ~key, offset, length, slot, path);
            if (op.hasReth()) {
                DataHeader.encodeReth(memory, at, base, key, psn);
            } else {
                DataHeader.encodeRecvSeq(memory, at, psn);
            }
            if (imm) {
                DataHeader.encodeImmediate(memory, at, op, key ^ psn);
            }
            int header = DataHeader.headerBytes(op, imm);
            CommonHeader.seal(memory, at, header + payload);
            int bytes = header + payload + CommonHeader.TRAILER_BYTES;

            assertThat(PacketDoor.check(memory, at, bytes)).as(what).isEqualTo(DoorVerdict.OK);
            assertThat(CommonHeader.type(memory, at)).isEqualTo(type);
            assertThat(CommonHeader.flags(memory, at)).isEqualTo(flags);
            assertThat(CommonHeader.ctx(memory, at)).isEqualTo(key >>> 16);
            assertThat(CommonHeader.path(memory, at)).isEqualTo(path);
            assertThat(CommonHeader.opcode(memory, at)).isEqualTo(op.code());
            assertThat(CommonHeader.stream(memory, at)).isEqualTo(stream);
            assertThat(CommonHeader.psn(memory, at)).isEqualTo(psn);
            assertThat(CommonHeader.txTime(memory, at)).isEqualTo(~psn);
            assertThat(DataHeader.msn(memory, at)).isEqualTo(~key);
            assertThat(DataHeader.msgOffset(memory, at)).isEqualTo(offset);
            assertThat(DataHeader.length(memory, at)).isEqualTo(length);
            assertThat(DataHeader.slot(memory, at)).isEqualTo(slot);
            assertThat(DataHeader.attempt(memory, at)).isEqualTo(path);
            assertThat(DataHeader.payloadOffset(memory, at)).isEqualTo(at + header);
            assertThat(DataHeader.payloadBytes(memory, at, bytes)).isEqualTo(payload);
            if (op.hasReth()) {
                assertThat(DataHeader.va(memory, at)).isEqualTo(base);
                assertThat(DataHeader.rkey(memory, at)).isEqualTo(key);
                assertThat(DataHeader.writeRecvSeq(memory, at)).isEqualTo(psn);
            } else {
                assertThat(DataHeader.sendRecvSeq(memory, at)).isEqualTo(psn);
            }
            if (imm) {
                assertThat(DataHeader.immediate(memory, at, op)).isEqualTo(key ^ psn);
            }
            offset += payload;
        } while (offset < length);
    }

    private static void assertMessage(
            Sample sample, long msgOffset, long length, int slot, boolean last, boolean valid) {
        byte[] bytes = sample.bytes();
        PacketMemory memory = PacketBytes.exactly(bytes);
        DataHeader.encodeMessage(memory, 0, 7, msgOffset, length, slot, 0);
        int flags = CommonHeader.flags(memory, 0);
        memory.put8(FLAGS, last ? flags | Flags.LAST : flags & ~Flags.LAST);
        String what =
                "%s offset %d length %d slot %x last %s"
                        .formatted(sample, msgOffset, length, slot, last);
        assertVerdict(PacketBytes.bytes(memory, 0, bytes.length), valid, what);
    }

    private static void assertField(Sample sample, int at, int value, boolean valid) {
        byte[] bytes = sample.bytes();
        bytes[at] = (byte) value;
        assertVerdict(bytes, valid, sample + " with " + value + " at " + at);
    }

    private static void assertVerdict(byte[] bytes, boolean valid, String what) {
        assertThat(PacketBytes.check(PacketBytes.resealed(bytes)))
                .as(what)
                .isEqualTo(valid ? DoorVerdict.OK : DoorVerdict.MALFORMED);
    }

    private static void put16(byte[] bytes, int at, int value) {
        bytes[at] = (byte) (value >>> 8);
        bytes[at + 1] = (byte) value;
    }
}
