package dev.metaroce.wire.roce;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.testing.Pcap;
import dev.metaroce.wire.PacketMemory;
import dev.metaroce.wire.roce.RocePacketView.Atomic;
import dev.metaroce.wire.roce.RocePacketView.Base;
import dev.metaroce.wire.roce.RocePacketView.Datagram;
import dev.metaroce.wire.roce.RocePacketView.Malformed;
import dev.metaroce.wire.roce.RocePacketView.Notice;
import dev.metaroce.wire.roce.RocePacketView.Request;
import dev.metaroce.wire.roce.RocePacketView.Response;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Every packet of the captures of Soft-RoCE: it decodes, its ICRC is right with the IP header and
 * without, and its fields give the same bytes again.
 */
class GoldenCapturesTest {
    private static final int CAPTURES = 45;
    private static final int PACKETS = 1_188;
    private static final Pattern ROW = Pattern.compile("(?m)^\\| `(\\w+)` \\| (\\d+) \\|");

    private final Icrc icrc = new Icrc();

    /** Name and RoCEv2 packets of each capture, from the table beside them. */
    static Map<String, Integer> captures() throws IOException {
        try (InputStream in = GoldenCapturesTest.class.getResourceAsStream("/rxe/README.md")) {
            assertThat(in).isNotNull();
            String text = new String(in.readAllBytes(), StandardCharsets.UTF_8);
            Map<String, Integer> captures = new TreeMap<>();
            for (Matcher m = ROW.matcher(text); m.find(); ) {
                captures.put(m.group(1), Integer.valueOf(m.group(2)));
            }
            return captures;
        }
    }

    static Set<String> names() throws IOException {
        return captures().keySet();
    }

    @Test
    void allCapturesAreThere() throws IOException {
        int packets = 0;
        Set<RcOpcode> seen = EnumSet.noneOf(RcOpcode.class);
        for (Map.Entry<String, Integer> capture : captures().entrySet()) {
            List<IpPacket> read = packets(capture.getKey());
            assertThat(read).as(capture.getKey()).hasSize(capture.getValue());
            packets += read.size();
            for (IpPacket packet : read) {
                RcOpcode opcode = RcOpcode.of(packet.packet()[0]);
                assertThat(opcode).isNotNull();
                seen.add(opcode);
            }
        }
        assertThat(captures()).hasSize(CAPTURES);
        assertThat(packets).isEqualTo(PACKETS);
        assertThat(EnumSet.complementOf(EnumSet.copyOf(seen)))
                .as("operations that Soft-RoCE was not seen to send")
                .containsExactly(RcOpcode.SEND_LAST_INV, RcOpcode.CNP);
    }

    @ParameterizedTest
    @MethodSource("names")
    void everyPacketDecodes(String capture) {
        for (IpPacket packet : packets(capture)) {
            assertThat(view(packet)).isNotInstanceOf(Malformed.class);
            assertThat(view(packet).toString()).matches("[A-Z_]+ qp 0x[0-9a-f]+ psn \\d+.*");
        }
    }

    @ParameterizedTest
    @MethodSource("names")
    void everyIcrcIsRight(String capture) {
        for (IpPacket packet : packets(capture)) {
            PacketMemory memory = packet.memory();
            int at = packet.bthAt();
            assertThat(icrc.checkWithHeader(memory, 0, at, packet.packetBytes())).isTrue();
            icrc.flow(packet.source(), packet.destination());
            assertThat(icrc.check(memory, at, packet.packetBytes()))
                    .as("identification found without the header")
                    .isEqualTo(packet.identification());
            assertThat(packet.door(icrc)).isEqualTo(RoceVerdict.OK);
        }
    }

    @ParameterizedTest
    @MethodSource("names")
    void fieldsGiveTheSameBytes(String capture) {
        for (IpPacket packet : packets(capture)) {
            byte[] bytes = packet.packet();
            IpPacket again =
                    IpPacket.around(
                            packet.source(),
                            packet.destination(),
                            packet.identification(),
                            encoded(view(packet), packet));
            assertThat(again.packet()).isEqualTo(bytes);
        }
    }

    /** From the BTH to the pad, of the fields and the payload. */
    private static byte[] encoded(RocePacketView view, IpPacket packet) {
        PacketMemory m = new PacketMemory(Icrc.MAX_PACKET_BYTES);
        Base base =
                switch (view) {
                    case Request request -> encode(m, request);
                    case Atomic atomic -> encode(m, atomic);
                    case Response response -> encode(m, response);
                    case Datagram datagram -> encode(m, datagram);
                    case Notice notice -> encode(m, notice.base());
                    case Malformed bad -> throw new AssertionError(bad);
                };
        int header = base.opcode().headerBytes();
        int payload = base.payloadBytes();
        m.bytes().put(header, packet.packet(), header, payload);
        byte[] bytes = new byte[header + payload + Bth.padBytes(payload)];
        m.bytes().get(0, bytes);
        return bytes;
    }

    private static Base encode(PacketMemory m, Base base) {
        int flags = (base.solicited() ? Bth.SOLICITED : 0) | (base.migrated() ? Bth.MIGRATED : 0);
        Bth.encode(
                m,
                0,
                base.opcode(),
                flags,
                base.payloadBytes(),
                base.pkey(),
                base.destQp(),
                base.ackReq(),
                base.psn());
        Bth.encodeNotices(m, 0, base.fecn(), base.becn());
        return base;
    }

    private static Base encode(PacketMemory m, Request request) {
        RcOpcode opcode = request.base().opcode();
        if (opcode.hasReth()) {
            Reth.encode(m, 0, request.va(), request.rkey(), request.length());
        }
        if (opcode.hasIeth()) {
            Ieth.encode(m, 0, request.rkey());
        }
        request.immediate().ifPresent(value -> ImmDt.encode(m, 0, opcode, value));
        return encode(m, request.base());
    }

    private static Base encode(PacketMemory m, Atomic atomic) {
        AtomicEth.encode(m, 0, atomic.va(), atomic.rkey(), atomic.swapOrAdd(), atomic.compare());
        return encode(m, atomic.base());
    }

    private static Base encode(PacketMemory m, Response response) {
        RcOpcode opcode = response.base().opcode();
        if (opcode.hasAeth()) {
            Aeth.encode(m, 0, response.syndrome(), response.msn());
        }
        if (opcode == RcOpcode.ATOMIC_ACKNOWLEDGE) {
            AtomicAckEth.encode(m, 0, response.original());
        }
        return encode(m, response.base());
    }

    private static Base encode(PacketMemory m, Datagram datagram) {
        RcOpcode opcode = datagram.base().opcode();
        Deth.encode(m, 0, datagram.qkey(), datagram.sourceQp());
        datagram.immediate().ifPresent(value -> ImmDt.encode(m, 0, opcode, value));
        return encode(m, datagram.base());
    }

    private static RocePacketView view(IpPacket packet) {
        return RocePacketView.parse(packet.memory(), packet.bthAt(), packet.packetBytes());
    }

    private static List<IpPacket> packets(String capture) {
        return Pcap.rocePackets(capture).stream().map(IpPacket::new).toList();
    }
}
