package dev.metaroce.wire.roce;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.testing.Pcap;
import dev.metaroce.util.Rng;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.PacketMemory;
import dev.metaroce.wire.roce.CmMessage.IpAddresses;

import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Messages that connect, against those of Linux. */
class CmMessageTest {
    private static final int HEADERS = Bth.BYTES + Deth.BYTES;
    private static final List<String> CAPTURES =
            List.of(
                    "cm_write_bw_R",
                    "cm_read_bw_R",
                    "cm_send_bw_R",
                    "cm_write_bw_z",
                    "cm_rping",
                    "cm_rping_ipv6",
                    "cm_rdma_client",
                    "cm_reject",
                    "cm_rstream");

    @Test
    void everyCapturedMessageGivesTheSameBytesAgain() {
        int messages = 0;
        for (String capture : CAPTURES) {
            for (IpPacket packet : management(capture)) {
                CmMessage message = parse(packet);
                assertThat(message).as(capture).isNotNull();
                PacketMemory again = new PacketMemory(CmMessage.PACKET_BYTES);
                again.segment().fill((byte) 0xEE);
                again.bytes().put(0, packet.packet(), 0, HEADERS);
                message.encode(again, 0);
                byte[] bytes = new byte[CmMessage.PACKET_BYTES - Icrc.BYTES];
                again.bytes().get(0, bytes);
                assertThat(bytes)
                        .as("%s: %s", capture, message)
                        .isEqualTo(Arrays.copyOf(packet.packet(), bytes.length));
                messages++;
            }
        }
        assertThat(messages).isEqualTo(63);
    }

    @Test
    void theSmallestSession() {
        List<String> lines = new ArrayList<>();
        for (IpPacket packet : management("cm_rdma_client")) {
            lines.add(String.valueOf(parse(packet)));
        }
        assertThat(lines)
                .containsExactly(
                        "REQ id 0xbbb99495 service 0x1061d2f qp 0x34 psn 14633500",
                        "REP id 0x505f77a6 for 0xbbb99495 qp 0x32 psn 15331720",
                        "RTU id 0xbbb99495 for 0x505f77a6",
                        "DREQ id 0xbbb99495 for 0x505f77a6 qp 0x32",
                        "DREQ id 0x505f77a6 for 0xbbb99495 qp 0x34",
                        "DREP id 0x505f77a6 for 0xbbb99495",
                        "DREP id 0xbbb99495 for 0x505f77a6");
        assertThat(String.valueOf(parse(management("cm_reject").get(1))))
                .isEqualTo("REJ id 0x0 for 0xb8b99495 reason 8");
    }

    @Test
    void theFieldsOfARequestAreWhereLinuxHasThem() {
        IpPacket packet = management("cm_rstream").get(0);
        CmMessage.Req req = (CmMessage.Req) parse(packet);
        assertThat(req.transactionId()).isEqualTo(0x2_9594_B9B9L);
        assertThat(req.guid()).isEqualTo(0x5054_00FF_FE77_0002L);
        assertThat(req.cmTimeout()).isEqualTo(20);
        assertThat(req.flowControl()).isTrue();
        assertThat(req.retryCount()).isEqualTo(7);
        assertThat(req.rnrRetry()).isEqualTo(7);
        assertThat(req.pkey()).isEqualTo(0xFFFF);
        assertThat(PathMtu.bytes(req.mtu())).isEqualTo(1_024);
        assertThat(req.cmRetries()).isEqualTo(15);
        assertThat(req.shared()).isFalse();
        assertThat(req.local()).isEqualTo(NetAddress.ofIpv4(0x0A4D_0002, RoceUdp.PORT));
        assertThat(req.remote()).isEqualTo(NetAddress.ofIpv4(0x0A4D_0001, RoceUdp.PORT));
        assertThat(req.flowLabel()).isEqualTo(0x502FC);
        assertThat(req.hopLimit()).isEqualTo(64);
        assertThat(req.ackTimeout()).isEqualTo(19);
        assertThat(IpAddresses.fromWire(req.serviceId())).isEqualTo(7_471);
        assertThat(IpAddresses.toWire(7_471)).isEqualTo(req.serviceId());
        byte[] user = IpAddresses.user(req);
        assertThat(user).hasSize(56).startsWith(1, 2, 1, 0x80);
        NetAddress from = NetAddress.ofIpv4(0x0A4D_0002, 0xAC93);
        assertThat(IpAddresses.privateData(from, req.remote(), user)).isEqualTo(req.privateData());

        CmMessage.Req ipv6 = (CmMessage.Req) parse(management("cm_rping_ipv6").get(0));
        NetAddress from6 = new NetAddress(0xFD00_0077L << 32, 2, 0xAA87, 0, 0);
        assertThat(ipv6.local().sameHost(from6)).isTrue();
        assertThat(IpAddresses.privateData(from6, ipv6.remote(), IpAddresses.user(ipv6)))
                .isEqualTo(ipv6.privateData());
    }

    @Test
    void servicesThatAreNoPortsAreLeftAlone() {
        for (long service : new long[] {1 << 16, -1, Long.MIN_VALUE, 0x0107_0000L}) {
            assertThat(IpAddresses.toWire(service)).isEqualTo(service);
            assertThat(IpAddresses.fromWire(service)).isEqualTo(service);
            assertThat(IpAddresses.isPort(service)).isFalse();
        }
        assertThat(IpAddresses.toWire(0)).isEqualTo(0x0106_0000L);
        assertThat(IpAddresses.fromWire(IpAddresses.toWire(65_535))).isEqualTo(65_535);
    }

    @Test
    void whatSoftRoceWasNotSeenToSendSurvivesToo() {
        PacketMemory m = new PacketMemory(CmMessage.PACKET_BYTES + 3);
        CmMessage.Mra wait = new CmMessage.Mra(-5, 7, -9, CmMessage.Rej.REP, 31);
        assertThat(again(m, wait)).isEqualTo(wait);
        byte[] why = new byte[CmMessage.REJ_PRIVATE_BYTES];
        Arrays.fill(why, (byte) 7);
        PrivateData data = PrivateData.of(why, why.length);
        CmMessage.Rej no = new CmMessage.Rej(-5, 7, -9, 2, CmReject.CONSUMER.code(), 0, data);
        assertThat(again(m, no)).isEqualTo(no);
        no = new CmMessage.Rej(-5, 0, -9, 0, CmReject.VERSION.code(), CmMessage.VERSION, data);
        assertThat(again(m, no)).isEqualTo(no);
        CmMessage.OtherReq other = new CmMessage.OtherReq(-5, 7, 3);
        assertThat(again(m, other)).isEqualTo(other);
        assertThat(CmReject.of(28)).isEqualTo(CmReject.CONSUMER);
        assertThat(CmReject.of(29)).isNull();
    }

    @Test
    void otherDatagramsAreNoMessages() {
        for (IpPacket packet : management("cm_udaddy")) {
            assertThat(parse(packet)).as("about a datagram service").isNull();
        }
        IpPacket req = management("cm_reject").get(0);
        int mad = req.bthAt() + HEADERS;
        int transport = mad + 24 + 43;
        assertThat(parse(req.with(transport, req.bytes()[transport] | 2))).isNull();
        for (int at = mad; at < mad + 4; at++) {
            CmMessage other = parse(req.with(at, 9));
            if (at == mad + 2) {
                assertThat(other).isInstanceOf(CmMessage.OtherReq.class);
            } else {
                assertThat(other).as("kind, byte %d", at).isNull();
            }
        }
        assertThat(parse(req.with(req.bthAt() + Bth.BYTES, 0))).as("another Q_Key").isNull();
    }

    @Test
    void anyBytesAreReadWithoutHarm() {
        Rng rng = new Rng(0xC3);
        IpPacket packet = management("cm_reject").get(0);
        for (int i = 0; i < 20_000; i++) {
            byte[] bytes = packet.bytes().clone();
            int from = packet.bthAt() + HEADERS + (i % 2 == 0 ? 24 : 0);
            for (int at = from; at < bytes.length - 4; at++) {
                bytes[at] = (byte) rng.nextInt();
            }
            bytes[packet.bthAt() + HEADERS + 17] = (byte) (0x0F + rng.nextInt(9));
            CmMessage message = parse(new IpPacket(bytes));
            if (message != null) {
                message.encode(new PacketMemory(CmMessage.PACKET_BYTES), 0);
            }
        }
    }

    private static CmMessage again(PacketMemory m, CmMessage message) {
        Bth.encode(m, 3, RcOpcode.UD_SEND_ONLY, 0, 256, Bth.DEFAULT_PKEY, 1, false, 0);
        Deth.encode(m, 3, Deth.QP1_QKEY, 1);
        message.encode(m, 3);
        return CmMessage.parse(m, 3, CmMessage.PACKET_BYTES);
    }

    private static CmMessage parse(IpPacket packet) {
        return CmMessage.parse(packet.memory(), packet.bthAt(), packet.packetBytes());
    }

    private static List<IpPacket> management(String capture) {
        List<IpPacket> found = new ArrayList<>();
        for (byte[] bytes : Pcap.rocePackets(capture)) {
            IpPacket packet = new IpPacket(bytes);
            if (packet.packet()[0] == RcOpcode.UD_SEND_ONLY.code()) {
                found.add(packet);
            }
        }
        return found;
    }
}
