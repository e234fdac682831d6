package dev.metaroce.wire.roce;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.testing.Pcap;
import dev.metaroce.wire.PacketMemory;

import org.junit.jupiter.api.Test;

/** Packets in one line. */
class RocePacketViewTest {
    @Test
    void requestsTellTheirFields() {
        assertThat(captured("rcvec_ops", 12))
                .isEqualTo("SEND_LAST_IMM qp 0x37 psn 1 imm 0x55667788 payload 452 ACK_REQ");
        assertThat(captured("rcvec_ops", 14))
                .isEqualTo("SEND_ONLY_INV qp 0x37 psn 2 invalidates 0x80001f0 payload 3 ACK_REQ");
        assertThat(captured("rcvec_ops", 20))
                .isEqualTo(
                        "WRITE_FIRST qp 0x37 psn 5 va 0x56420df7e001 rkey 0x2da8 length 2048"
                                + " payload 1024");
        assertThat(captured("rcvec_ops", 33))
                .isEqualTo(
                        "READ_REQUEST qp 0x37 psn 13 va 0x56420df7e001 rkey 0x2da8 length 7"
                                + " ACK_REQ");
        assertThat(captured("rcvec_ops", 42))
                .isEqualTo(
                        "FETCH_ADD qp 0x37 psn 19 va 0x56420df7f000 rkey 0x2da8"
                                + " add 0x1122334455667788 ACK_REQ");
        assertThat(captured("rcvec_ops", 44))
                .endsWith(" swap 0xcafebabedeadbeef compare 0x434d57616b757f89 ACK_REQ");
        assertThat(captured("rcvec_ops", 29)).endsWith(" payload 452 ACK_REQ SOLICITED");
    }

    @Test
    void responsesTellTheirFields() {
        assertThat(captured("rcvec_ops", 39))
                .isEqualTo("READ_RESPONSE_FIRST qp 0x3a psn 16 msn 17 payload 1024");
        assertThat(captured("rcvec_ops", 40))
                .isEqualTo("READ_RESPONSE_MIDDLE qp 0x3a psn 17 payload 1024");
        assertThat(captured("rcvec_ops", 43))
                .isEqualTo("ATOMIC_ACKNOWLEDGE qp 0x3a psn 19 msn 18 original 0x322b241d160f0801");
        assertThat(captured("rcvec_rnr", 3))
                .isEqualTo("ACKNOWLEDGE qp 0x3b psn 16777211 msn 1 RNR 10240us");
        assertThat(captured("rcvec_noremoteop", 1))
                .isEqualTo("ACKNOWLEDGE qp 0x3f psn 16777210 msn 0 NAK INVALID_REQUEST");
        assertThat(answer(0x08)).isEqualTo("ACKNOWLEDGE qp 0x7 psn 9 msn 2 credits 16");
        assertThat(answer(0x6F)).isEqualTo("ACKNOWLEDGE qp 0x7 psn 9 msn 2 syndrome 0x6f");
        assertThat(answer(0xFF)).isEqualTo("ACKNOWLEDGE qp 0x7 psn 9 msn 2 syndrome 0xff");
    }

    @Test
    void datagramsAndNoticesTellTheirFields() {
        assertThat(captured("cm_udaddy", 2))
                .isEqualTo(
                        "UD_SEND_ONLY_IMM qp 0x34 psn 0 qkey 0x1234567 from qp 0x37 imm 0x37"
                                + " payload 64");
        assertThat(captured("cm_reject", 1))
                .isEqualTo(
                        "UD_SEND_ONLY qp 0x1 psn 20 qkey 0x80010000 from qp 0x1 payload 256"
                                + " ACK_REQ: REJ id 0x0 for 0xb8b99495 reason 8");
        PacketMemory m = new PacketMemory(32);
        Bth.encode(m, 0, RcOpcode.CNP, 0, 0, 0x8001, 0x118, false, 0);
        Bth.encodeNotices(m, 0, true, true);
        assertThat(RocePacketView.parse(m, 0, 32))
                .hasToString("CNP qp 0x118 psn 0 FECN BECN pkey 0x8001");
        assertThat(RocePacketView.parse(m, 0, 31)).hasToString("REFUSED MALFORMED 31 bytes");
    }

    private static String answer(int syndrome) {
        PacketMemory m = new PacketMemory(20);
        Bth.encode(m, 0, RcOpcode.ACKNOWLEDGE, 0, 0, Bth.DEFAULT_PKEY, 7, false, 9);
        Aeth.encode(m, 0, syndrome, 2);
        return RocePacketView.parse(m, 0, 20).toString();
    }

    private static String captured(String capture, int index) {
        IpPacket packet = new IpPacket(Pcap.rocePackets(capture).get(index));
        PacketMemory memory = packet.memory();
        return RocePacketView.parse(memory, packet.bthAt(), packet.packetBytes()).toString();
    }
}
