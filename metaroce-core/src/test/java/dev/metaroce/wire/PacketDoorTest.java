package dev.metaroce.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.metaroce.util.Rng;
import dev.metaroce.wire.SamplePackets.Sample;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The door at codec level: cases W03 (truncated datagrams) and W05 (unknown versions). */
class PacketDoorTest {
    static List<Sample> samples() {
        return SamplePackets.all();
    }

    @Test
    void thereIsASampleOfEveryTypeAndOpcode() {
        Set<Opcode> data = EnumSet.noneOf(Opcode.class);
        Set<ControlOpcode> control = EnumSet.noneOf(ControlOpcode.class);
        Set<PacketType> types = EnumSet.noneOf(PacketType.class);
        for (Sample sample : samples()) {
            PacketMemory memory = PacketBytes.exactly(sample.bytes());
            PacketType type = PacketType.of(CommonHeader.type(memory, 0));
            assertThat(type).isNotNull();
            types.add(type);
            switch (PacketView.parse(memory, 0, memory.capacity())) {
                case PacketView.DataView view -> data.add(view.opcode());
                case PacketView.AtomicView view -> data.add(view.opcode());
                case PacketView.ReplyView view -> data.add(view.opcode());
                case PacketView.ControlView view -> control.add(view.opcode());
                case PacketView other -> assertThat(other).isNotNull();
            }
        }
        assertThat(types).containsExactly(PacketType.values());
        assertThat(data).containsExactly(Opcode.values());
        assertThat(control).containsExactly(ControlOpcode.values());
    }

    @ParameterizedTest
    @MethodSource("samples")
    void aValidPacketPasses(Sample sample) {
        assertThat(PacketBytes.check(sample.bytes())).isEqualTo(DoorVerdict.OK);
    }

    // MR-2.1-4
    @Test
    void theChecksumIsCrc32c() {
        byte[] digits = "123456789".getBytes(StandardCharsets.US_ASCII);
        assertThat(PacketBytes.exactly(digits).crc32c(0, 9)).isEqualTo(0xE306_9283);
        // RFC 3720, B.4: 32 bytes of zeros, then of ones.
        assertThat(new PacketMemory(32).crc32c(0, 32)).isEqualTo(0x8A91_36AA);
        byte[] ones = new byte[32];
        Arrays.fill(ones, (byte) 0xFF);
        assertThat(PacketBytes.exactly(ones).crc32c(0, 32)).isEqualTo(0x62A8_AB43);
    }

    /** W03: whatever was cut off, nothing reads past the end and nothing passes. */
    @ParameterizedTest
    @MethodSource("samples")
    void w03EveryPrefixIsRefused(Sample sample) {
        byte[] whole = sample.bytes();
        for (int length = 0; length < whole.length; length++) {
            byte[] prefix = Arrays.copyOf(whole, length);
            assertThat(PacketBytes.check(prefix))
                    .as("%s cut to %d", sample, length)
                    .isEqualTo(length < 20 ? DoorVerdict.TOO_SHORT : DoorVerdict.BAD_CRC);
        }
    }

    /**
     * W03: the same with a checksum that is right for the prefix, so that the sizes themselves are
     * judged. Only a packet from the middle of a message, or a reply to a READ, may lose payload
     * and still be one.
     */
    @ParameterizedTest
    @MethodSource("samples")
    void w03EveryPrefixWithAValidChecksumIsMalformed(Sample sample) {
        byte[] whole = sample.bytes();
        int shortestValid =
                sample.equals(SamplePackets.WRITE_IMM_MIDDLE)
                        ? DataHeader.headerBytes(Opcode.WRITE_IMM, false) + 1 + 4
                        : sample.equals(SamplePackets.READ_DATA)
                                ? ReplyHeader.BYTES + 4
                                : whole.length;
        for (int length = 20; length < whole.length; length++) {
            byte[] prefix = PacketBytes.resealed(Arrays.copyOf(whole, length));
            assertThat(PacketBytes.check(prefix))
                    .as("%s cut to %d", sample, length)
                    .isEqualTo(length < shortestValid ? DoorVerdict.MALFORMED : DoorVerdict.OK);
        }
    }

    @ParameterizedTest
    @MethodSource("samples")
    void oneByteTooManyIsMalformed(Sample sample) {
        byte[] whole = sample.bytes();
        byte[] longer = PacketBytes.resealed(Arrays.copyOf(whole, whole.length + 1));
        // A packet from the middle of a message, or a reply, may as well carry one byte more.
        boolean any =
                sample.equals(SamplePackets.WRITE_IMM_MIDDLE)
                        || sample.equals(SamplePackets.READ_DATA);
        assertThat(PacketBytes.check(longer))
                .isEqualTo(any ? DoorVerdict.OK : DoorVerdict.MALFORMED);
    }

    @ParameterizedTest
    @MethodSource("samples")
    void everyFlippedBitIsRefused(Sample sample) {
        byte[] whole = sample.bytes();
        for (int bit = 0; bit < whole.length * 8; bit++) {
            byte[] flipped = whole.clone();
            flipped[bit / 8] ^= (byte) (0x80 >>> (bit % 8));
            assertThat(PacketBytes.check(flipped))
                    .as("%s with bit %d flipped", sample, bit)
                    .isEqualTo(bit < 4 ? DoorVerdict.BAD_VERSION : DoorVerdict.BAD_CRC);
        }
    }

    /** W05: the version is judged before the checksum, since other versions may have another. */
    @ParameterizedTest
    @MethodSource("samples")
    void w05EveryOtherVersionIsRefused(Sample sample) {
        for (int version = 0; version < 16; version++) {
            if (version == CommonHeader.VERSION) {
                continue;
            }
            byte[] other = withVersion(sample, version);
            assertThat(PacketBytes.check(other)).isEqualTo(DoorVerdict.BAD_VERSION);
            assertThat(PacketBytes.check(PacketBytes.resealed(other)))
                    .isEqualTo(DoorVerdict.BAD_VERSION);
        }
    }

    /** W05: a request of another version can be told, so that one refusal may name ours. */
    @ParameterizedTest
    @MethodSource("samples")
    void w05OnlyARequestOfAnotherVersionIsAForeignRequest(Sample sample) {
        boolean request = sample.equals(SamplePackets.REQUEST);
        for (int version = 0; version < 16; version++) {
            byte[] sealed = PacketBytes.resealed(withVersion(sample, version));
            assertThat(isForeignRequest(sealed))
                    .as("%s version %d", sample, version)
                    .isEqualTo(request && version != CommonHeader.VERSION);

            byte[] broken = sealed.clone();
            broken[broken.length - 1] ^= 1;
            assertThat(isForeignRequest(broken)).isFalse();
        }
    }

    /** W05: an answer must not be longer than the question, so short requests get none. */
    @Test
    void w05ATruncatedForeignRequestIsNone() {
        byte[] whole = withVersion(SamplePackets.REQUEST, 2);
        for (int length = 0; length < whole.length; length++) {
            byte[] prefix = Arrays.copyOf(whole, length);
            assertThat(isForeignRequest(length < 4 ? prefix : PacketBytes.resealed(prefix)))
                    .isFalse();
        }
        byte[] longer = PacketBytes.resealed(Arrays.copyOf(whole, whole.length + 40));
        assertThat(isForeignRequest(longer)).isTrue();
    }

    // MR-2.1-7
    @Test
    void theFirstProblemDecides() {
        byte[] bad = new byte[19];
        assertThat(PacketBytes.check(bad)).isEqualTo(DoorVerdict.TOO_SHORT);
        bad = new byte[20];
        assertThat(PacketBytes.check(bad)).isEqualTo(DoorVerdict.BAD_VERSION);
        bad[0] = 0x1F;
        bad[19] = 1;
        assertThat(PacketBytes.check(bad)).isEqualTo(DoorVerdict.BAD_CRC);
        assertThat(PacketBytes.check(PacketBytes.resealed(bad))).isEqualTo(DoorVerdict.MALFORMED);
    }

    // MR-2.2-3
    @Test
    void unknownTypesAreMalformed() {
        for (int type = 0; type < 16; type++) {
            byte[] packet = SamplePackets.PROBE.bytes();
            packet[0] = (byte) (0x10 | type);
            // Of a DATA packet this is a SKIP without its opcode.
            assertThat(PacketBytes.check(PacketBytes.resealed(packet)))
                    .as("type %d", type)
                    .isEqualTo(
                            type == PacketType.PROBE.code()
                                    ? DoorVerdict.OK
                                    : DoorVerdict.MALFORMED);
        }
    }

    // MR-2.1-3
    @Test
    void theLongestPacketPassesAndALongerOneDoesNot() {
        assertThat(PacketBytes.check(middlePacket(65_507))).isEqualTo(DoorVerdict.OK);
        assertThat(PacketBytes.check(middlePacket(65_508))).isEqualTo(DoorVerdict.MALFORMED);
    }

    @Test
    void anElidedPayloadCountsAndIsNotLookedAt() {
        int payload = 1000;
        byte[] header = Arrays.copyOf(middlePacket(40 + payload), 40);
        PacketMemory memory = PacketBytes.exactly(PacketBytes.resealed(header));
        memory.elide(payload);

        assertThat(PacketDoor.check(memory, 0, 40 + payload)).isEqualTo(DoorVerdict.OK);
        assertThat(PacketView.parse(memory, 0, 40 + payload).toString())
                .contains("bytes 0+" + payload);
        memory.put8(20, 0xFF);
        assertThat(PacketDoor.check(memory, 0, 40 + payload)).isEqualTo(DoorVerdict.BAD_CRC);
    }

    @Test
    void onlyThePayloadOfDataCanBeElided() {
        byte[] probe = SamplePackets.PROBE.bytes();
        PacketMemory memory = PacketBytes.exactly(probe);
        memory.elide(8);

        assertThat(PacketDoor.check(memory, 0, probe.length)).isEqualTo(DoorVerdict.TOO_SHORT);
        assertThat(PacketDoor.check(memory, 0, probe.length + 8)).isEqualTo(DoorVerdict.MALFORMED);
    }

    @Test
    void aPacketThatElidesMoreOrLessThanItsPayloadIsMalformed() {
        byte[] whole = PacketBytes.resealed(Arrays.copyOf(middlePacket(140), 60));
        PacketMemory memory = PacketBytes.exactly(whole);
        memory.elide(80);

        assertThat(PacketDoor.check(memory, 0, 140)).isEqualTo(DoorVerdict.MALFORMED);
    }

    @Test
    void memoryThatEndsEarlyWouldBeNoticed() {
        byte[] whole = SamplePackets.REQUEST.bytes();
        PacketMemory memory = PacketBytes.exactly(Arrays.copyOf(whole, 100));

        assertThatThrownBy(() -> PacketDoor.check(memory, 0, whole.length))
                .isInstanceOf(RuntimeException.class);
    }

    /**
     * Three kinds of bytes, a checksum made right in two of them, each in memory that ends where
     * the datagram ends: noise, noise with a plausible start, and mutated valid packets.
     */
    @Test
    void w03RandomBytesNeverThrowAndNeverReadPastTheEnd() {
        Rng rng = new Rng(0xD00F);
        Map<DoorVerdict, Integer> seen = new EnumMap<>(DoorVerdict.class);
        for (int i = 0; i < 200_000; i++) {
            byte[] blob =
                    switch (i % 3) {
                        case 0 -> noise(rng, rng.nextInt(120));
                        case 1 -> plausible(rng);
                        default -> mutated(rng);
                    };
            PacketMemory memory = PacketBytes.exactly(blob);
            int bytes = blob.length;
            if (i % 8 == 7) {
                int elided = rng.nextInt(60);
                memory.elide(elided);
                bytes += elided;
            }
            DoorVerdict verdict = PacketDoor.check(memory, 0, bytes);
            PacketView view = PacketView.parse(memory, 0, bytes);
            assertThat(view instanceof PacketView.Malformed).isEqualTo(verdict != DoorVerdict.OK);
            assertThat(view.toString()).isNotEmpty().doesNotContain("\n");
            PacketDoor.isForeignRequest(memory, 0, bytes);
            seen.merge(verdict, 1, Integer::sum);
        }
        // Each verdict often enough to mean something.
        for (DoorVerdict verdict : DoorVerdict.values()) {
            assertThat(seen.getOrDefault(verdict, 0)).as("%s", verdict).isGreaterThan(1_000);
        }
    }

    private static byte[] noise(Rng rng, int length) {
        byte[] bytes = new byte[length];
        for (int i = 0; i < length; i++) {
            bytes[i] = (byte) rng.nextInt();
        }
        return bytes;
    }

    private static byte[] plausible(Rng rng) {
        byte[] bytes = noise(rng, 20 + rng.nextInt(300));
        bytes[0] = (byte) (0x10 | rng.nextInt(7));
        bytes[5] = (byte) rng.nextInt(17);
        return PacketBytes.resealed(bytes);
    }

    private static byte[] mutated(Rng rng) {
        List<Sample> all = samples();
        byte[] bytes = all.get(rng.nextInt(all.size())).bytes();
        for (int n = rng.nextInt(4); n > 0; n--) {
            bytes[1 + rng.nextInt(bytes.length - 1)] = (byte) rng.nextInt();
        }
        if (rng.chance(0.3)) {
            bytes = Arrays.copyOf(bytes, 20 + rng.nextInt(bytes.length));
        }
        return PacketBytes.resealed(bytes);
    }

    /** A valid packet of this size from the middle of a large message. */
    private static byte[] middlePacket(int bytes) {
        PacketMemory memory = new PacketMemory(bytes);
        int type = PacketType.DATA.code();
        CommonHeader.encode(memory, 0, type, 0, 0x0709, 0, Opcode.SEND.code(), 1, 2, 3);
        DataHeader.encodeMessage(memory, 0, 0, 0, 1 << 20, 0, 0);
        DataHeader.encodeRecvSeq(memory, 0, 0);
        CommonHeader.seal(memory, 0, bytes - CommonHeader.TRAILER_BYTES);
        return PacketBytes.bytes(memory, 0, bytes);
    }

    private static byte[] withVersion(Sample sample, int version) {
        byte[] bytes = sample.bytes();
        bytes[0] = (byte) (version << 4 | bytes[0] & 0xF);
        return bytes;
    }

    private static boolean isForeignRequest(byte[] bytes) {
        return PacketDoor.isForeignRequest(PacketBytes.exactly(bytes), 0, bytes.length);
    }
}
