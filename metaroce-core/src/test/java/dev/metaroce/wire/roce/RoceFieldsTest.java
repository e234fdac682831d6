package dev.metaroce.wire.roce;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.wire.PacketMemory;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

import java.util.HexFormat;

/** Fields, tables and codes of RoCEv2 against the figures of the InfiniBand specification. */
class RoceFieldsTest {
    @ParameterizedTest
    @CsvSource({
        "00, SEND_FIRST, 12", "01, SEND_MIDDLE, 12", "02, SEND_LAST, 12",
        "03, SEND_LAST_IMM, 16", "04, SEND_ONLY, 12", "05, SEND_ONLY_IMM, 16",
        "06, WRITE_FIRST, 28", "07, WRITE_MIDDLE, 12", "08, WRITE_LAST, 12",
        "09, WRITE_LAST_IMM, 16", "0A, WRITE_ONLY, 28", "0B, WRITE_ONLY_IMM, 32",
        "0C, READ_REQUEST, 28", "0D, READ_RESPONSE_FIRST, 16", "0E, READ_RESPONSE_MIDDLE, 12",
        "0F, READ_RESPONSE_LAST, 16", "10, READ_RESPONSE_ONLY, 16", "11, ACKNOWLEDGE, 16",
        "12, ATOMIC_ACKNOWLEDGE, 24", "13, CMP_SWAP, 40", "14, FETCH_ADD, 40",
        "16, SEND_LAST_INV, 16", "17, SEND_ONLY_INV, 16", "64, UD_SEND_ONLY, 20",
        "65, UD_SEND_ONLY_IMM, 24", "81, CNP, 28"
    })
    void operationsHaveTheirCodesAndHeaders(String code, RcOpcode opcode, int headerBytes) {
        assertThat(opcode.code()).isEqualTo(HexFormat.fromHexDigits(code));
        assertThat(RcOpcode.of(opcode.code())).isEqualTo(opcode);
        assertThat(opcode.headerBytes()).isEqualTo(headerBytes);
    }

    @Test
    void noOtherCodeIsKnown() {
        int known = 0;
        for (int code = 0; code < 256; code++) {
            known += RcOpcode.of(code) == null ? 0 : 1;
        }
        assertThat(known).isEqualTo(RcOpcode.values().length).isEqualTo(26);
        assertThat(RcOpcode.of(0x15)).as("RESYNC, of reliable datagrams").isNull();
    }

    @ParameterizedTest
    @EnumSource
    void flagsFollowFromTheName(RcOpcode opcode) {
        String name = opcode.name();
        boolean only = !name.matches(".*_(FIRST|MIDDLE|LAST)(_.*)?");
        boolean rc = !name.startsWith("UD_") && opcode != RcOpcode.CNP;
        boolean response = name.contains("RESPONSE") || name.contains("ACKNOWLEDGE");
        assertThat(opcode.isFirst()).isEqualTo(only || name.contains("_FIRST"));
        assertThat(opcode.isLast()).isEqualTo(only || name.contains("_LAST"));
        assertThat(opcode.isResponse()).isEqualTo(response);
        assertThat(opcode.isRequest()).isEqualTo(rc && !response);
        assertThat(opcode.isSend()).isEqualTo(name.startsWith("SEND"));
        assertThat(opcode.isWrite()).isEqualTo(name.startsWith("WRITE"));
        assertThat(opcode.isReadResponse()).isEqualTo(name.startsWith("READ_RESPONSE"));
        assertThat(opcode.isDatagram()).isEqualTo(name.startsWith("UD_"));
        assertThat(opcode.hasImmediate()).isEqualTo(name.endsWith("_IMM"));
        assertThat(opcode.hasIeth()).isEqualTo(name.endsWith("_INV"));
        assertThat(opcode.hasPayload())
                .isEqualTo(name.matches("(UD_)?SEND.*|WRITE.*|.*RESPONSE.*"));
        assertThat(opcode.endsReceive())
                .isEqualTo(rc && opcode.isLast() && name.matches("SEND.*|WRITE.*_IMM"));
    }

    @ParameterizedTest
    @CsvSource({"true, true", "true, false", "false, true", "false, false"})
    void operationsAreFoundByPlace(boolean first, boolean last) {
        String place = first ? last ? "_ONLY" : "_FIRST" : last ? "_LAST" : "_MIDDLE";
        assertThat(RcOpcode.send(first, last)).hasToString("SEND" + place);
        assertThat(RcOpcode.write(first, last)).hasToString("WRITE" + place);
        assertThat(RcOpcode.readResponse(first, last)).hasToString("READ_RESPONSE" + place);
        assertThat(RcOpcode.sendImm(first, last))
                .hasToString("SEND" + place + (last ? "_IMM" : ""));
        assertThat(RcOpcode.sendInv(first, last))
                .hasToString("SEND" + place + (last ? "_INV" : ""));
        assertThat(RcOpcode.writeImm(first, last))
                .hasToString("WRITE" + place + (last ? "_IMM" : ""));
    }

    @Test
    void headersAreWrittenBitByBit() {
        PacketMemory m = new PacketMemory(64);
        Bth.encode(m, 1, RcOpcode.WRITE_ONLY_IMM, Bth.SOLICITED, 5, 0x8001, -1, true, 0x1000002);
        Bth.encodeNotices(m, 1, true, true);
        Reth.encode(m, 1, 0x0102_0304_0506_0708L, 0xC0FFEE, 0xFFFF_FFFFL);
        ImmDt.encode(m, 1, RcOpcode.WRITE_ONLY_IMM, 0xCAFE);
        assertThat(hex(m, 32))
                .isEqualTo("0bb08001c0ffffff80000002" + "010203040506070800c0ffeeffffffff0000cafe");
        assertThat(Bth.solicited(m, 1) && !Bth.migrated(m, 1) && Bth.ackReq(m, 1)).isTrue();
        assertThat(Bth.fecn(m, 1) && Bth.becn(m, 1)).isTrue();
        assertThat(Bth.padCount(m, 1)).isEqualTo(3);
        assertThat(Bth.version(m, 1)).isZero();
        assertThat(Bth.pkey(m, 1)).isEqualTo(0x8001);
        assertThat(Bth.destQp(m, 1)).isEqualTo(0xFFFFFF);
        assertThat(Bth.psn(m, 1)).isEqualTo(2);
        assertThat(Reth.va(m, 1)).isEqualTo(0x0102_0304_0506_0708L);
        assertThat(Reth.rkey(m, 1)).isEqualTo(0xC0FFEE);
        assertThat(Reth.length(m, 1)).isEqualTo(0xFFFF_FFFFL);
        assertThat(ImmDt.value(m, 1, RcOpcode.WRITE_ONLY_IMM)).isEqualTo(0xCAFE);

        Bth.encode(m, 1, RcOpcode.CMP_SWAP, Bth.MIGRATED, 0, 0xFFFF, 2, false, 3);
        AtomicEth.encode(m, 1, -2, 0xC0FFEE, 5, 7);
        assertThat(hex(m, 40))
                .isEqualTo(
                        "1340ffff0000000200000003"
                                + "fffffffffffffffe00c0ffee00000000000000050000000000000007");
        assertThat(AtomicEth.va(m, 1)).isEqualTo(-2);
        assertThat(AtomicEth.rkey(m, 1)).isEqualTo(0xC0FFEE);
        assertThat(AtomicEth.swapOrAdd(m, 1)).isEqualTo(5);
        assertThat(AtomicEth.compare(m, 1)).isEqualTo(7);

        Bth.encode(m, 1, RcOpcode.ATOMIC_ACKNOWLEDGE, 0, 0, 0xFFFF, 2, false, 3);
        Aeth.encode(m, 1, Syndrome.ACK_NO_CREDITS, 0x1000004);
        AtomicAckEth.encode(m, 1, -1);
        assertThat(hex(m, 24)).isEqualTo("1200ffff00000002000000031f000004ffffffffffffffff");
        assertThat(Aeth.syndrome(m, 1)).isEqualTo(0x1F);
        assertThat(Aeth.msn(m, 1)).isEqualTo(4);
        assertThat(AtomicAckEth.value(m, 1)).isEqualTo(-1);

        Ieth.encode(m, 1, 0xC0FFEE);
        assertThat(Ieth.rkey(m, 1)).isEqualTo(0xC0FFEE);
        Deth.encode(m, 1, Deth.QP1_QKEY, 0x1000001);
        assertThat(hex(m, 20)).endsWith("8001000000000001");
        assertThat(Deth.qkey(m, 1)).isEqualTo(0x8001_0000);
        assertThat(Deth.sourceQp(m, 1)).isEqualTo(1);
    }

    @Test
    void syndromesAreSortedByTheirClass() {
        for (int syndrome = 0; syndrome < 256; syndrome++) {
            Syndrome.Kind kind =
                    syndrome < 0x20
                            ? Syndrome.Kind.ACK
                            : syndrome < 0x40
                                    ? Syndrome.Kind.RNR
                                    : syndrome >= 0x60 && syndrome < 0x80
                                            ? Syndrome.Kind.NAK
                                            : Syndrome.Kind.RESERVED;
            assertThat(Syndrome.kind(syndrome)).as("%x", syndrome).isEqualTo(kind);
            RoceNak nak = RoceNak.of(syndrome);
            boolean known = syndrome >= 0x60 && syndrome <= 0x63;
            assertThat(nak == null ? -1 : nak.syndrome()).isEqualTo(known ? syndrome : -1);
        }
        assertThat(Syndrome.rnr(20)).isEqualTo(0x34);
        assertThat(Syndrome.rnrTimer(0x34)).isEqualTo(20);
    }

    @Test
    void creditsAreThoseOfTheTable() {
        int[] table = {
            0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024,
            1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768
        };
        for (int code = 0; code < table.length; code++) {
            assertThat(Syndrome.credits(code)).as("code %d", code).isEqualTo(table[code]);
            assertThat(Syndrome.ackWithCredits(table[code])).isEqualTo(code);
            int below = code + 1 < table.length ? table[code + 1] - 1 : Integer.MAX_VALUE;
            assertThat(Syndrome.ackWithCredits(below)).isEqualTo(code);
        }
        assertThat(Syndrome.credits(Syndrome.ACK_NO_CREDITS)).isEqualTo(Syndrome.UNLIMITED);
    }

    @Test
    void rnrTimersAreThoseOfTheTable() {
        int[] us = {
            655360, 10, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640, 960, 1280, 1920, 2560,
            3840, 5120, 7680, 10240, 15360, 20480, 30720, 40960, 61440, 81920, 122880, 163840,
            245760, 327680, 491520
        };
        for (int code = 0; code < us.length; code++) {
            assertThat(RnrTimer.ns(code)).as("code %d", code).isEqualTo(us[code] * 1_000L);
            assertThat(RnrTimer.code(us[code] * 1_000L)).isEqualTo(code);
        }
        assertThat(RnrTimer.code(0)).isEqualTo(1);
        assertThat(RnrTimer.code(10_001)).isEqualTo(2);
        assertThat(RnrTimer.code(491_520_001)).isZero();
        assertThat(RnrTimer.code(Long.MAX_VALUE)).isZero();
    }

    @Test
    void ackTimeoutsDoubleFromFourMicroseconds() {
        assertThat(AckTimeout.ns(1)).isEqualTo(8_192);
        assertThat(AckTimeout.ns(14)).isEqualTo(67_108_864);
        assertThat(AckTimeout.ns(31)).isEqualTo(8_796_093_022_208L);
        assertThat(AckTimeout.ns(AckTimeout.INFINITE)).isEqualTo(Long.MAX_VALUE);
        assertThat(AckTimeout.code(0)).isEqualTo(1);
        assertThat(AckTimeout.code(67_108_864)).isEqualTo(14);
        assertThat(AckTimeout.code(67_108_865)).isEqualTo(15);
        assertThat(AckTimeout.code(Long.MAX_VALUE)).isEqualTo(31);
    }

    @Test
    void mtusHaveFiveCodes() {
        int[] bytes = {0, 256, 512, 1024, 2048, 4096, 0, 0};
        for (int code = 0; code < 8; code++) {
            assertThat(PathMtu.bytes(code)).isEqualTo(bytes[code]);
            assertThat(PathMtu.isValid(bytes[code])).isEqualTo(bytes[code] != 0);
            if (bytes[code] != 0) {
                assertThat(PathMtu.code(bytes[code])).isEqualTo(code);
                assertThat(PathMtu.atMost(bytes[code])).isEqualTo(bytes[code]);
                assertThat(PathMtu.atMost(bytes[code] + 1)).isEqualTo(bytes[code]);
            }
        }
        assertThat(PathMtu.isValid(1_000)).isFalse();
        assertThat(PathMtu.atMost(255)).isZero();
        assertThat(PathMtu.atMost(9_000)).isEqualTo(4_096);
    }

    @Test
    void sourcePortsFoldTheFlowLabel() {
        assertThat(RoceUdp.sourcePort(0)).isEqualTo(0xC000);
        assertThat(RoceUdp.sourcePort(0x17)).isEqualTo(0xC017);
        assertThat(RoceUdp.sourcePort(0xFC000)).isEqualTo(0xC03F);
        assertThat(RoceUdp.sourcePort(0xFFFFF)).isEqualTo(0xFFC0);
        assertThat(RoceUdp.flowLabel(0x11, 0x12)).isEqualTo(0x11 * 0x12);
        // 0xFFFFFF * 0xFFFFFF = 0xFFFFFE000001: 0xFFFFF ^ 0xE0000 ... folded twice.
        long product = 0xFFFFFFL * 0xFFFFFFL;
        long once = product ^ (product >> 20);
        assertThat(RoceUdp.flowLabel(0xFFFFFF, 0xFFFFFF))
                .isEqualTo((int) ((once ^ (once >> 40)) & 0xFFFFF));
    }

    @Test
    void sequenceNumbersLiveOnARing() {
        assertThat(Psn24.add(0xFFFFFF, 1)).isZero();
        assertThat(Psn24.add(0, -1)).isEqualTo(0xFFFFFF);
        assertThat(Psn24.distance(0xFFFFF0, 0x10)).isEqualTo(0x20);
        assertThat(Psn24.distance(0x10, 0xFFFFF0)).isEqualTo(-0x20);
        assertThat(Psn24.distance(0, 0x7FFFFF)).isEqualTo(0x7FFFFF);
        assertThat(Psn24.distance(0, Psn24.HALF)).isEqualTo(-Psn24.HALF);
        assertThat(Psn24.isBefore(0xFFFFFF, 0)).isTrue();
        assertThat(Psn24.isBefore(0, 0)).isFalse();
        assertThat(Psn24.isBefore(0, Psn24.HALF)).isFalse();
    }

    private static String hex(PacketMemory m, int bytes) {
        byte[] read = new byte[bytes];
        m.bytes().get(1, read);
        return HexFormat.of().formatHex(read);
    }
}
