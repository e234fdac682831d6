package dev.metaroce.memory;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.util.Rng;
import dev.metaroce.wire.CommonHeader;
import dev.metaroce.wire.PacketMemory;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Copies between packets and regions, with canaries around both: MR-6-2. */
class PlacementTest {
    private static final byte CANARY = (byte) 0xCA;
    private static final byte BEFORE = 0x11;
    private static final int GUARD = 64;
    private static final int LENGTH = 4096;

    private final PacketMemory packet = new PacketMemory(8192);
    private final RegionTable table = new RegionTable(new Rng(1)::nextInt);
    private final MemorySegment block = Arena.ofAuto().allocate(LENGTH + 2 * GUARD, 64);
    private final MemoryRegion region;

    PlacementTest() {
        block.fill(CANARY);
        MemorySegment inner = block.asSlice(GUARD, LENGTH);
        inner.fill(BEFORE);
        region = table.register(inner, Access.ALL, 1);
        for (int i = 0; i < packet.capacity(); i++) {
            packet.put8(i, i * 31 + 7);
        }
    }

    private void assertCanaries() {
        for (int i = 0; i < GUARD; i++) {
            assertThat(block.get(ValueLayout.JAVA_BYTE, i)).isEqualTo(CANARY);
            assertThat(block.get(ValueLayout.JAVA_BYTE, GUARD + LENGTH + i)).isEqualTo(CANARY);
        }
    }

    private byte at(int offset) {
        return region.segment().get(ValueLayout.JAVA_BYTE, offset);
    }

    @ParameterizedTest
    @CsvSource({"0, 4096", "4095, 1", "17, 1408", "4096, 0", "0, 0"})
    void payloadLandsExactlyWhereItBelongs(int offset, int length) {
        boolean placed = MemoryRegion.place(packet, 48, region, region.address() + offset, length);

        assertThat(placed).isTrue();
        for (int i = 0; i < LENGTH; i++) {
            boolean inside = i >= offset && i < offset + length;
            byte want = inside ? (byte) packet.u8(48 + i - offset) : BEFORE;
            if (at(i) != want) {
                assertThat(at(i)).as("byte %d", i).isEqualTo(want);
            }
        }
        assertCanaries();
    }

    @ParameterizedTest
    @CsvSource({"4095, 2", "4096, 1", "-1, 1", "0, 4097", "-8, 16"})
    void a02NothingIsPlacedOutsideTheRegion(long offset, int length) {
        boolean placed = MemoryRegion.place(packet, 0, region, region.address() + offset, length);

        assertThat(placed).isFalse();
        assertThat(region.segment().mismatch(filled(BEFORE))).isEqualTo(-1);
        assertCanaries();
    }

    private static MemorySegment filled(byte value) {
        return Arena.ofAuto().allocate(LENGTH).fill(value);
    }

    @Test
    void fillTakesTheBytesOfTheRegion() {
        MemoryRegion.place(packet, 0, region, region.address(), LENGTH);
        PacketMemory out = new PacketMemory(256);

        assertThat(MemoryRegion.fill(region, 100, out, 32, 128)).isTrue();

        for (int i = 0; i < 128; i++) {
            assertThat(out.u8(32 + i)).isEqualTo(packet.u8(100 + i));
        }
        assertThat(out.i64(24)).isZero();
        assertThat(out.i64(160)).isZero();
        assertThat(MemoryRegion.fill(region, LENGTH - 1, out, 0, 2)).isFalse();
        assertThat(MemoryRegion.fill(region, -1, out, 0, 1)).isFalse();
        assertThat(MemoryRegion.fill(region, Long.MIN_VALUE, out, 0, 1)).isFalse();
    }

    @Test
    void closedRegionIsNeitherReadNorWritten() {
        region.close();

        assertThat(MemoryRegion.place(packet, 0, region, region.address(), 8)).isFalse();
        assertThat(MemoryRegion.fill(region, 0, packet, 0, 8)).isFalse();
        assertThat(region.segment().mismatch(filled(BEFORE))).isEqualTo(-1);
    }

    @Test
    void arenaClosedUnderARegionIsAnAnswerAndNoException() {
        MemoryRegion orphan;
        try (Arena arena = Arena.ofShared()) {
            orphan = table.register(arena.allocate(64), Access.ALL, 1);
        }

        assertThat(MemoryRegion.place(packet, 0, orphan, orphan.address(), 8)).isFalse();
        assertThat(MemoryRegion.fill(orphan, 0, packet, 0, 8)).isFalse();
        orphan.close();
    }

    @Test
    void memoryOfAThreadOfItsOwnIsOutOfReachOfOthers() throws InterruptedException {
        try (Arena arena = Arena.ofConfined()) {
            MemoryRegion mine = table.register(arena.allocate(64), Access.ALL, 1);
            boolean[] placed = {true};
            Thread engine =
                    new Thread(
                            () ->
                                    placed[0] =
                                            MemoryRegion.place(packet, 0, mine, mine.address(), 8));
            engine.start();
            engine.join();

            assertThat(placed[0]).isFalse();
            assertThat(MemoryRegion.place(packet, 0, mine, mine.address(), 8)).isTrue();
        }
    }

    @Test
    void regionWithoutAnyWriteRightIsNotWritten() {
        MemoryRegion readOnly =
                table.register(region.segment().asReadOnly(), Access.REMOTE_READ, 1);

        assertThat(MemoryRegion.place(packet, 0, readOnly, readOnly.address(), 8)).isFalse();
    }

    @Test
    void aVirtualRegionTakesAndLendsPayloadThatIsOnlyALength() {
        MemoryRegion virtual = table.registerVirtual(1L << 40, Access.ALL, 1);
        long last = virtual.address() + virtual.length() - 8;

        assertThat(virtual.isVirtual()).isTrue();
        assertThat(MemoryRegion.place(packet, 0, virtual, last, 8)).isTrue();
        assertThat(MemoryRegion.place(packet, 0, virtual, last, 9)).isFalse();
        assertThat(MemoryRegion.fill(virtual, 0, packet, 0, 8)).isFalse();
        assertThat(MemoryRegion.lend(virtual, 1L << 39, CommonHeader.SEALER, packet, 16, 40, 100))
                .isTrue();
        assertThat(packet.i32(156)).isEqualTo(packet.crc32c(16, 40));
        assertThat(
                        MemoryRegion.lend(
                                virtual,
                                virtual.length() - 8,
                                CommonHeader.SEALER,
                                packet,
                                16,
                                40,
                                9))
                .isFalse();
        virtual.close();
        assertThat(MemoryRegion.place(packet, 0, virtual, last, 8)).isFalse();
        assertThat(MemoryRegion.lend(virtual, 0, CommonHeader.SEALER, packet, 16, 40, 100))
                .isFalse();
    }

    @Test
    void anElidedPayloadIsPlacedNowhereButInAVirtualRegion() {
        MemoryRegion virtual = table.registerVirtual(64, Access.ALL, 1);
        packet.elide(8);

        assertThat(MemoryRegion.place(packet, 0, region, region.address(), 8)).isFalse();
        assertThat(MemoryRegion.place(packet, 0, virtual, virtual.address(), 8)).isTrue();
        assertThat(region.segment().mismatch(filled(BEFORE))).isEqualTo(-1);
        packet.elide(0);
        assertThat(MemoryRegion.place(packet, 0, region, region.address(), 8)).isTrue();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void descriptorIsTwentyBytesBigEndianInAnyBuffer(boolean bigEndian) {
        RegionDescriptor descriptor =
                new RegionDescriptor(0x0102_0304_0506_0708L, 0x0A0B0C0D, 0x1112_1314_1516_1718L);
        ByteBuffer buffer = ByteBuffer.allocate(24);
        buffer.order(bigEndian ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN);
        buffer.position(2);

        descriptor.put(buffer);

        assertThat(buffer.position()).isEqualTo(2 + RegionDescriptor.BYTES);
        assertThat(buffer.array())
                .containsExactly(
                        0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 0x11, 0x12, 0x13, 0x14, 0x15,
                        0x16, 0x17, 0x18, 0, 0);
        buffer.position(2);
        assertThat(RegionDescriptor.get(buffer)).isEqualTo(descriptor);
    }

    @Test
    void rightsAreNamed() {
        assertThat(Access.describe(0)).isEqualTo("LOCAL_READ");
        assertThat(Access.describe(Access.LOCAL_WRITE | Access.REMOTE_ATOMIC))
                .isEqualTo("LOCAL_WRITE|REMOTE_ATOMIC");
        assertThat(Access.describe(0x44)).isEqualTo("REMOTE_READ|0x40");
    }
}
