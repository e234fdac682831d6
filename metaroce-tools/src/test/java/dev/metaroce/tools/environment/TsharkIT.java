package dev.metaroce.tools.environment;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.congestion.DcqcnSettings;
import dev.metaroce.event.CounterId;
import dev.metaroce.memory.Access;
import dev.metaroce.rocev2.RoceSettings;
import dev.metaroce.testing.Lab;
import dev.metaroce.testing.Pair;
import dev.metaroce.testing.Reader;
import dev.metaroce.testing.RocePackets;
import dev.metaroce.transport.ConnectionState;
import dev.metaroce.verbs.Connection;
import dev.metaroce.verbs.SendRequest;
import dev.metaroce.wire.Ecn;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.PacketMemory;
import dev.metaroce.wire.roce.Bth;
import dev.metaroce.wire.roce.Icrc;
import dev.metaroce.wire.roce.RcOpcode;

import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;

/** What Wireshark makes of the RoCEv2 packets that we send. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class TsharkIT {
    private static final long SECOND_NS = 1_000_000_000L;
    private static final int MTU = 1_024;
    private static final int IP_BYTES = 20;
    private static final int UDP_BYTES = 8;
    private static final int SNAP_BYTES = 65_535;

    private final List<byte[]> packets = new ArrayList<>();

    @TempDir private Path directory;

    @BeforeAll
    static void findTshark() {
        Shell.Result found = Shell.run("tshark", "--version");
        Assumptions.assumeTrue(found.exitCode() == 0, () -> "needs package tshark: " + found);
    }

    @Test
    void wiresharkReadsAllThatWeSend() throws IOException {
        operations();
        connection();
        assertThat(opcodes()).containsExactlyInAnyOrder(RcOpcode.values());
        Path capture = write();

        assertThat(tshark(capture, "-Y", "_ws.malformed")).as("malformed").isEmpty();
        assertThat(tshark(capture, "-Y", "_ws.expert.severity >= \"Warning\"")).isEmpty();
        assertThat(tshark(capture, "-Y", "!(ip.checksum.status == \"Good\")")).isEmpty();
        String[] fields = {
            "-T",
            "fields",
            "-e",
            "infiniband.bth.opcode",
            "-e",
            "infiniband.bth.destqp",
            "-e",
            "infiniband.bth.psn",
            "-e",
            "infiniband.invariant.crc"
        };
        assertThat(tshark(capture, fields)).containsExactlyElementsOf(expected());
        String port = "infiniband.cm.req.serviceid.dport";
        assertThat(tshark(capture, "-Y", port, "-T", "fields", "-e", port))
                .as("the ports that we connect to")
                .containsExactly("0x1d2f", "0x1d30");
    }

    /** Every operation, a gap, a wait for a receive and a congestion mark. */
    private void operations() {
        UnaryOperator<RoceSettings> rates =
                settings -> settings.toBuilder().dcqcn(DcqcnSettings.reference()).build();
        Pair pair = Pair.ofRoce(5, RocePackets.mtu(MTU), rates, 1, 1 << 16);
        boolean[] spoilt = new boolean[2];
        pair.lab.addFault(this::record);
        pair.lab.addFault(
                packet -> {
                    if (!spoilt[0] && RocePackets.opcode(packet) == RcOpcode.SEND_MIDDLE) {
                        spoilt[0] = true;
                        return 0;
                    }
                    if (!spoilt[1] && RocePackets.opcode(packet) == RcOpcode.WRITE_MIDDLE) {
                        spoilt[1] = true;
                        packet.ecn = Ecn.CE;
                    }
                    return 1;
                });
        pair.connect();
        int work = 0;
        // A SEND shorter than 64 bytes is guessed to be of other protocols, and called malformed.
        for (int bytes : new int[] {64, 3_001}) {
            pair.receive(0, work, 0, 4_096);
            pair.send(0, work++, 0, bytes);
            pair.receive(0, work, 0, 4_096);
            Pair.must(
                    work,
                    pair.clientEnd
                            .qp()
                            .postSendWithImmediate(
                                    work++, pair.clientEnd.region, 0, bytes, 0xC0FFEE, true));
        }
        for (int bytes : new int[] {0, 1, 2, 3, 3_001}) {
            pair.write(0, work++, 0, bytes);
            pair.receive(0, work, 0, 4_096);
            Pair.must(
                    work,
                    pair.clientEnd
                            .qp()
                            .postWriteWithImmediate(
                                    work++,
                                    pair.clientEnd.region,
                                    0,
                                    bytes,
                                    pair.serverEnd.region.address(),
                                    pair.serverEnd.region.rkey(),
                                    0xC0FFEE,
                                    true));
        }
        pair.expectSends(work, SECOND_NS);
        Reader reader = new Reader(pair, 1 << 16);
        reader.read(0, work++, 0, 1);
        reader.read(0, work++, 0, 3_001);
        reader.add(0, work++, 0, 8, 2);
        reader.swap(0, work++, 8, 8, 42, 7);
        pair.expectSends(work, SECOND_NS);
        work = invalidate(pair, work);
        pair.send(0, work++, 0, 100);
        pair.lab.advance(1_000_000);
        assertThat(pair.client.count(CounterId.RNR_NAKS_RECEIVED)).isPositive();
        pair.receive(0, work, 0, 4_096);
        pair.expectSends(work, SECOND_NS);
    }

    private static int invalidate(Pair pair, int first) {
        int work = first;
        for (int bytes : new int[] {64, 3_001}) {
            pair.receive(0, work, 0, 4_096);
            MemorySegment lent = Arena.ofAuto().allocate(64);
            int rkey = pair.serverEnd.domain.register(lent, Access.ALL).rkey();
            SendRequest request =
                    new SendRequest()
                            .wrId(work)
                            .sendWithInvalidate(rkey)
                            .local(pair.clientEnd.region, 0, bytes);
            Pair.must(work++, pair.clientEnd.qp().post(request));
        }
        pair.expectSends(work, SECOND_NS);
        return work;
    }

    /** REQ to DREP, and a REJ. */
    private void connection() {
        Lab lab = new Lab(6);
        lab.addFault(this::record);
        Lab.Node client = lab.addRoce(RocePackets.mtu(MTU), UnaryOperator.identity());
        Lab.Node server = lab.addRoce(RocePackets.mtu(MTU), UnaryOperator.identity());
        server.device.listen(
                7_471,
                request -> {
                    queuePair(server, request.connection());
                    request.accept();
                });
        Connection good = client.device.connect(server.address, 7_471, new byte[] {1, 2});
        queuePair(client, good);
        lab.expect("open", () -> good.state() == ConnectionState.OPEN, SECOND_NS);
        good.close();
        lab.expect("closed", () -> good.state() == ConnectionState.CLOSED, SECOND_NS);
        Connection bad = client.device.connect(server.address, 7_472, new byte[0]);
        queuePair(client, bad);
        lab.expect("refused", () -> bad.state() == ConnectionState.FAILED, SECOND_NS);
    }

    private static void queuePair(Lab.Node node, Connection connection) {
        connection.createQueuePair(
                node.device.allocProtectionDomain(),
                node.device.createCompletionQueue(16),
                node.device.createCompletionQueue(16),
                16,
                16);
    }

    private int record(Lab.Packet packet) {
        packets.add(datagram(packet.source, packet.destination, packet.bytes));
        return 1;
    }

    /** With the IPv4 and UDP headers that the kernel writes: DF, identification 0. */
    private static byte[] datagram(NetAddress source, NetAddress destination, byte[] packet) {
        int bytes = IP_BYTES + UDP_BYTES + packet.length;
        ByteBuffer b = ByteBuffer.allocate(bytes);
        b.putShort((short) 0x4502).putShort((short) bytes).putInt(0x4000);
        b.putInt(0x4011_0000).putInt((int) source.low()).putInt((int) destination.low());
        int sum = 0;
        for (int i = 0; i < IP_BYTES; i += 2) {
            sum += b.getShort(i) & 0xFFFF;
        }
        b.putShort(10, (short) ~((sum & 0xFFFF) + (sum >>> 16)));
        b.putShort((short) source.port()).putShort((short) destination.port());
        b.putShort((short) (UDP_BYTES + packet.length)).putShort((short) 0).put(packet);
        return b.array();
    }

    private static RcOpcode opcode(byte[] datagram) {
        return Objects.requireNonNull(RcOpcode.of(datagram[IP_BYTES + UDP_BYTES]));
    }

    private Set<RcOpcode> opcodes() {
        Set<RcOpcode> seen = EnumSet.noneOf(RcOpcode.class);
        packets.forEach(packet -> seen.add(opcode(packet)));
        // We never send datagrams with immediate.
        seen.add(RcOpcode.UD_SEND_ONLY_IMM);
        return seen;
    }

    /** Operation, queue pair, PSN and ICRC of each packet, after the ICRC was checked. */
    private List<String> expected() {
        Icrc icrc = new Icrc();
        List<String> lines = new ArrayList<>();
        for (byte[] datagram : packets) {
            PacketMemory m = new PacketMemory(datagram.length);
            m.bytes().put(0, datagram);
            int at = IP_BYTES + UDP_BYTES;
            assertThat(icrc.checkWithHeader(m, 0, at, datagram.length - at)).isTrue();
            String line =
                    "%d\t0x%06x\t%d\t"
                            .formatted(Bth.opcode(m, at), Bth.destQp(m, at), Bth.psn(m, at));
            // It leaves out the ICRC of a congestion notice.
            boolean notice = opcode(datagram) == RcOpcode.CNP;
            int shown = m.i32(datagram.length - Icrc.BYTES);
            lines.add(notice ? line : line + "0x%08x".formatted(shown));
        }
        return lines;
    }

    private Path write() throws IOException {
        int bytes = packets.stream().mapToInt(packet -> 16 + packet.length).sum();
        ByteBuffer file = ByteBuffer.allocate(24 + bytes).order(ByteOrder.LITTLE_ENDIAN);
        int rawIp = 101;
        file.putInt(0xA1B2_C3D4).putInt(0x0004_0002).putLong(0).putInt(SNAP_BYTES).putInt(rawIp);
        for (byte[] packet : packets) {
            file.putLong(0).putInt(packet.length).putInt(packet.length).put(packet);
        }
        return Files.write(directory.resolve("ours.pcap"), file.array());
    }

    private static List<String> tshark(Path capture, String... arguments) {
        List<String> command = new ArrayList<>();
        command.addAll(List.of("tshark", "-r", capture.toString(), "-n", "-Q"));
        command.addAll(List.of("-o", "ip.check_checksum:TRUE"));
        command.addAll(List.of(arguments));
        return Shell.run(command)
                .expectSuccess()
                .lines()
                .filter(line -> !line.startsWith("Running as user"))
                .toList();
    }
}
