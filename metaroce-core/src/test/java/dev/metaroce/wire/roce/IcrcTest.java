package dev.metaroce.wire.roce;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.util.Rng;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.PacketMemory;

import org.junit.jupiter.api.Test;

import java.nio.ByteBuffer;
import java.util.HexFormat;
import java.util.List;

/** The ICRC at codec level: cases W01 and W02, lent and elided payload, all lengths. */
class IcrcTest {
    /** The first WRITE of a capture of Soft-RoCE: one byte, pad 3, ICRC 0x084963EB. */
    private static final IpPacket WRITE =
            IpPacket.of(
                    "45000040a0c140004011854f0a4d00020a4d0001c12112b7002c0000"
                            + "0a30ffff00000011809ba4f7"
                            + "0000562ec6bad0000000029d00000001de000000eb634908");

    /** W01: the captured notice of real hardware. */
    private static final IpPacket NOTICE =
            IpPacket.of(
                    "45c2003c718c4000401191610a0011010a001201000012b700280000"
                            + "8100ffff40000118000000000000000000000000000000000000000000000000");

    private static final NetAddress A = NetAddress.ofIpv4(0x0A4D_0001, 0xC123);
    private static final NetAddress B = NetAddress.ofIpv4(0x0A4D_0002, RoceUdp.PORT);
    private static final NetAddress A6 = new NetAddress(0xFD00_0077L << 32, 1, 0xC123, 0, 0);
    private static final NetAddress B6 = new NetAddress(0xFD00_0077L << 32, 2, RoceUdp.PORT, 0, 0);

    private final Icrc icrc = new Icrc();

    @Test
    void w01TheCapturedNoticeHasTheIcrcThatHardwareSent() {
        assertThat(HexFormat.of().formatHex(NOTICE.sealed().bytes(), 56, 60))
                .as("the rule by hand")
                .isEqualTo("82fd002a");

        PacketMemory captured = NOTICE.sealed().memory();
        int at = NOTICE.bthAt();
        assertThat(icrc.checkWithHeader(captured, 0, at, NOTICE.packetBytes())).isTrue();
        assertThat(NOTICE.sealed().door(icrc)).isEqualTo(RoceVerdict.OK);
        assertThat(NOTICE.source().port()).as("source port").isZero();

        PacketMemory ours = new PacketMemory(64);
        Bth.encode(ours, 3, RcOpcode.CNP, 0, 0, Bth.DEFAULT_PKEY, 0x118, false, 0);
        Bth.encodeNotices(ours, 3, false, true);
        icrc.flow(NOTICE.source(), NOTICE.destination());
        icrc.seal(ours, 3, RcOpcode.CNP.headerBytes(), 0);
        IpPacket withoutIdentification = NOTICE.with(4, 0).with(5, 0).sealed();
        assertThat(bytes(ours, 3, 32)).isEqualTo(withoutIdentification.packet());
    }

    @Test
    void w02WhatRoutersChangeIsNotCovered() {
        // TOS; TTL; IP checksum; UDP checksum; FECN, BECN and the reserved bits beside them.
        int[][] ranges = {{8, 16}, {64, 72}, {80, 96}, {208, 224}, {256, 264}};
        for (int[] range : ranges) {
            for (int bit = range[0]; bit < range[1]; bit++) {
                IpPacket changed = WRITE.flipped(bit);
                assertThat(full(changed)).as("bit %d, header seen", bit).isTrue();
                assertThat(changed.door(icrc)).as("bit %d", bit).isEqualTo(RoceVerdict.OK);
            }
        }
    }

    @Test
    void w02EveryOtherBitIsCovered() {
        // Identification; addresses; source port; P_Key; destination; PSN; payload and pad; ICRC.
        int[][] ranges = {
            {32, 48}, {96, 160}, {160, 176}, {240, 256}, {264, 288}, {296, 320}, {448, 512}
        };
        for (int[] range : ranges) {
            for (int bit = range[0]; bit < range[1]; bit++) {
                IpPacket changed = WRITE.flipped(bit);
                assertThat(full(changed)).as("bit %d, header seen", bit).isFalse();
                boolean hidden = bit < 48;
                assertThat(changed.door(icrc))
                        .as("bit %d", bit)
                        .isEqualTo(hidden ? RoceVerdict.OK : RoceVerdict.BAD_ICRC);
            }
        }
    }

    @Test
    void theIdentificationIsFoundWhateverTheLength() {
        Rng rng = new Rng(0xC0FFEE);
        icrc.flow(A, B);
        for (int payload = 0; payload <= PathMtu.MAX_BYTES; payload += 1 + payload / 7) {
            int identification = rng.nextInt(1 << 16);
            IpPacket sent = IpPacket.around(A, B, identification, write(payload, rng));
            assertThat(icrc.check(sent.memory(), sent.bthAt(), sent.packetBytes()))
                    .as("payload %d", payload)
                    .isEqualTo(identification);
        }
    }

    @Test
    void aWrongIcrcIsRightForAFewIdentificationsOnly() {
        // 16 bits are left to check: of 2^16 random ICRCs one is taken for right, more or less.
        Rng rng = new Rng(0xDEC0DE);
        PacketMemory memory = IpPacket.around(A, B, 0, write(64, rng)).memory();
        int at = 28;
        int bytes = memory.capacity() - at;
        icrc.flow(A, B);
        int taken = 0;
        for (int i = 0; i < 1 << 18; i++) {
            memory.put32(memory.capacity() - Icrc.BYTES, rng.nextInt());
            taken += icrc.check(memory, at, bytes) == Icrc.MISMATCH ? 0 : 1;
        }
        assertThat(taken).isBetween(1, 16);
    }

    @Test
    void overIpv6TheIcrcMustBeExact() {
        Rng rng = new Rng(6);
        IpPacket sent = IpPacket.around(A6, B6, 0, write(777, rng));
        assertThat(full(sent)).isTrue();
        assertThat(sent.door(icrc)).isEqualTo(RoceVerdict.OK);
        // Addresses and ports; all behind the congestion notices of the BTH.
        for (int bit = 64; bit < sent.bytes().length * 8; bit = bit == 351 ? 424 : bit + 1) {
            IpPacket changed = sent.flipped(bit);
            assertThat(full(changed)).as("bit %d, header seen", bit).isFalse();
            assertThat(changed.door(icrc)).as("bit %d", bit).isEqualTo(RoceVerdict.BAD_ICRC);
        }
    }

    @Test
    void packetsAreSealedWhereverTheirPayloadIs() {
        Rng rng = new Rng(0x5EA1);
        for (NetAddress[] flow : List.of(new NetAddress[] {A, B}, new NetAddress[] {A6, B6})) {
            icrc.flow(flow[0], flow[1]);
            for (int payload = 0; payload < 70; payload++) {
                IpPacket right = IpPacket.around(flow[0], flow[1], 0, write(payload, rng));
                int header = RcOpcode.WRITE_ONLY.headerBytes();
                byte[] packet = right.packet();

                PacketMemory whole = canaries();
                whole.bytes().put(5, packet, 0, header + payload);
                icrc.seal(whole, 5, header, payload);
                assertThat(bytes(whole, 5, packet.length)).isEqualTo(packet);
                assertThat(whole.u8(5 + packet.length)).as("canary").isEqualTo(0xEE);

                PacketMemory apart = canaries();
                apart.bytes().put(5, packet, 0, header);
                ByteBuffer lent = ByteBuffer.allocateDirect(99).put(7, packet, header, payload);
                icrc.seal(apart, 5, header, payload, lent.limit(7 + payload).position(7));
                apart.bytes().put(5 + header, packet, header, payload);
                assertThat(bytes(apart, 5, packet.length)).isEqualTo(packet);
                assertThat(apart.u8(5 + packet.length)).as("canary").isEqualTo(0xEE);
            }
        }
    }

    @Test
    void anElidedPayloadCountsInTheLengthOnly() {
        PacketMemory sent = new PacketMemory(4_200);
        int header = RcOpcode.WRITE_ONLY.headerBytes();
        int payload = 1_001;
        int total = RoceDoor.packetBytes(RcOpcode.WRITE_ONLY, payload);
        Bth.encode(sent, 0, RcOpcode.WRITE_ONLY, 0, payload, 0xFFFF, 17, true, 5);
        Reth.encode(sent, 0, 4_096, 0xC0FFEE, payload);
        icrc.flow(A, B);
        icrc.seal(sent, 0, header, payload, ByteBuffer.allocate(0));

        PacketMemory received = new PacketMemory(total - payload);
        received.bytes().put(0, bytes(sent, 0, header));
        received.bytes().put(header, bytes(sent, header + payload, total - header - payload));
        received.elide(payload);
        assertThat(RoceDoor.check(icrc, received, 0, total, A, B)).isEqualTo(RoceVerdict.OK);
        received.elide(payload + 4);
        assertThat(RoceDoor.check(icrc, received, 0, total + 4, A, B))
                .as("another length")
                .isEqualTo(RoceVerdict.BAD_ICRC);
    }

    private boolean full(IpPacket p) {
        return icrc.checkWithHeader(p.memory(), 0, p.bthAt(), p.packetBytes());
    }

    /** A WRITE_ONLY with random payload, from the BTH to the pad. */
    private static byte[] write(int payload, Rng rng) {
        PacketMemory m = new PacketMemory(4_200);
        Bth.encode(m, 0, RcOpcode.WRITE_ONLY, 0, payload, 0xFFFF, 17, true, 0xFFFFFF);
        Reth.encode(m, 0, 0x7F00_0000_1234L, 0xC0FFEE, payload);
        int header = RcOpcode.WRITE_ONLY.headerBytes();
        for (int i = 0; i < payload; i++) {
            m.put8(header + i, rng.nextInt());
        }
        return bytes(m, 0, header + payload + Bth.padBytes(payload));
    }

    private static PacketMemory canaries() {
        PacketMemory m = new PacketMemory(256);
        m.segment().fill((byte) 0xEE);
        return m;
    }

    private static byte[] bytes(PacketMemory m, int at, int length) {
        byte[] bytes = new byte[length];
        m.bytes().get(at, bytes);
        return bytes;
    }
}
