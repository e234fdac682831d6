package dev.metaroce.net;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.TxBatch;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** What the checksum and the peers of RoCEv2 ask of sockets (docs/rocev2.md). */
class RoceSocketsTest {
    private static final int UDP_NO_CHECK6_TX = 101;

    private static InetAddress host(String literal) {
        try {
            return InetAddress.getByName(literal);
        } catch (UnknownHostException e) {
            throw new IllegalStateException(e);
        }
    }

    private static Port open(SocketKind kind, Transport transport, String literal, int routes) {
        PortOptions roce = TestPorts.roce(host(literal), routes);
        return Port.open(
                new PortOptions(
                        transport,
                        roce.planes(),
                        roce.udpPort(),
                        roce.routes(),
                        roce.bufferBytes(),
                        kind,
                        roce.gso(),
                        roce.gro(),
                        roce.ecn(),
                        roce.dscp(),
                        roce.checksums()));
    }

    @ParameterizedTest
    @EnumSource(names = {"NIO", "LINUX"})
    @EnabledOnOs(OS.LINUX)
    void everyDatagramHasIdentification0AndIsNotToBeFragmented(SocketKind kind) {
        // a run that the kernel could cut, twice, from the device's socket and from a path socket
        TxBatch batch = new TxBatch(64 << 10, 64, 64);
        List<ByteBuffer> seen = new ArrayList<>();
        try (PacketSocket wire = PacketSocket.open();
                Port a = open(kind, Transport.ROCE_V2, "127.0.0.1", 1);
                Peer b = new Peer()) {
            NetAddress to = Addresses.toNetAddress(b.address());
            for (int route = 0; route <= 1; route++) {
                batch.clear();
                for (int i = 0; i < 5; i++) {
                    batch.append(to, route, false, 100);
                }
                a.send(batch);
                a.send(batch);
                int port = a.routePort(0, route);
                seen.clear();
                assertThat(Until.holds(() -> seen.addAll(wire.udpFrom(port)) && seen.size() >= 10))
                        .isTrue();
                assertThat(seen).hasSize(10);
                for (ByteBuffer packet : seen) {
                    assertThat(packet.get(0)).as("version, header length").isEqualTo((byte) 0x45);
                    assertThat(packet.getShort(2)).as("length").isEqualTo((short) 128);
                    assertThat(packet.getShort(4)).as("identification").isZero();
                    assertThat(packet.getShort(6)).as("flags").isEqualTo((short) 0x4000);
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"NIO", "LINUX"})
    @EnabledOnOs(OS.LINUX)
    void pathSocketsHaveDynamicPorts(SocketKind kind) {
        List<Integer> ports = new ArrayList<>();
        try (Port port = open(kind, Transport.ROCE_V2, "127.0.0.1", 60)) {
            for (int route = 1; route <= 60; route++) {
                ports.add(port.routePort(0, route));
            }
        }
        assertThat(ports).doesNotHaveDuplicates().allMatch(p -> p >= 0xC000 && p <= 0xFFFF);
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void segmentationIsLeftToTheKernelWhereItChangesNothing() {
        try (Port four = open(SocketKind.LINUX, Transport.ROCE_V2, "127.0.0.1", 0);
                Port six = open(SocketKind.LINUX, Transport.ROCE_V2, "::1", 0)) {
            assertThat(four.info().gso()).isFalse();
            assertThat(six.info().gso()).isTrue();
            assertThat(four.warnings()).isEqualTo(six.warnings());
        }
    }

    @ParameterizedTest
    @EnumSource
    @EnabledOnOs(OS.LINUX)
    void aDatagramOverIpv6WithoutChecksumArrives(Transport transport) {
        RecordingSink sink = new RecordingSink();
        try (Port port = open(SocketKind.LINUX, transport, "::1", 0)) {
            NetAddress to = Addresses.toNetAddress(port.localAddresses().getFirst());
            sendTwo(to);
            assertThat(Until.holds(() -> port.receive(sink, 8) >= 0 && sink.numbers().contains(2)))
                    .isTrue();
        }
        List<Integer> expected = transport == Transport.ROCE_V2 ? List.of(1, 2) : List.of(2);
        assertThat(sink.numbers()).isEqualTo(expected);
    }

    /** Number 1 goes without a UDP checksum, number 2 with one. */
    private static void sendTwo(NetAddress to) {
        Libc libc = new NativeLibc();
        int fd = libc.udpSocket(Libc.AF_INET6);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment bytes = arena.allocate(4);
            MessageArray message = new MessageArray(1, true, 0);
            message.buffer(0, bytes.address(), 4);
            message.outgoing(0, to, 0, false);
            for (int number = 1; number <= 2; number++) {
                libc.setsockopt(fd, Libc.SOL_UDP, UDP_NO_CHECK6_TX, number == 1 ? 1 : 0);
                bytes.asByteBuffer().putInt(number);
                assertThat(libc.sendmmsg(fd, message.address(0), 1)).isEqualTo(1);
            }
        } finally {
            libc.close(fd);
        }
    }

    @Test
    void javaSocketsOverIpv6SayWhatTheyMiss() {
        try (Port four = open(SocketKind.NIO, Transport.ROCE_V2, "127.0.0.1", 0);
                Port six = open(SocketKind.NIO, Transport.ROCE_V2, "::1", 0)) {
            assertThat(four.warnings()).noneMatch(line -> line.contains("UDP checksum"));
            assertThat(six.warnings()).filteredOn(l -> l.contains("UDP checksum")).hasSize(1);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "0.0.0.0", "::"})
    void allAddressesAreRefused(String bind) {
        DeviceOptions.Builder options = DeviceOptions.builder().transport(Transport.ROCE_V2);
        if (!bind.isEmpty()) {
            options.bind(bind);
        }
        assertThatThrownBy(() -> UdpDevice.open(options.build()))
                .isInstanceOf(NetSetupException.class)
                .hasMessageContaining("RoCEv2 cannot be bound to all addresses")
                .hasMessageNotContaining("\n");
    }

    @Test
    void theDefaultPortIsThatOfTheTransport() {
        DeviceOptions.Builder options = DeviceOptions.builder();
        assertThat(options.build().port()).isEqualTo(50_791);
        assertThat(options.transport(Transport.ROCE_V2).build().port()).isEqualTo(4791);
        assertThat(DeviceOptions.builder().port(0).build().port()).isZero();
        assertThatThrownBy(() -> options.port(0).build())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("RoCEv2 packets go to port 4791 only");
    }

    @ParameterizedTest
    @EnumSource(names = {"NIO", "LINUX"})
    @EnabledOnOs(OS.LINUX)
    void allPlanesHaveThePortsOfTheFirst(SocketKind kind) {
        List<InetAddress> planes = List.of(host("127.0.0.8"), host("127.0.0.9"));
        PortOptions one = TestPorts.roce(planes.getFirst(), 3);
        try (Port port =
                Port.open(
                        new PortOptions(
                                one.transport(),
                                planes,
                                one.udpPort(),
                                one.routes(),
                                one.bufferBytes(),
                                kind,
                                one.gso(),
                                one.gro(),
                                one.ecn(),
                                one.dscp(),
                                one.checksums()))) {
            for (int route = 0; route <= 3; route++) {
                assertThat(port.routePort(1, route)).isEqualTo(port.routePort(0, route));
            }
        }
    }

    @Test
    void aPathPortInUseIsNoObstacle() {
        // 1,024 path sockets beside as many of another device: some choices meet
        try (Port a = open(SocketKind.NIO, Transport.ROCE_V2, "127.0.0.1", 1024);
                Port b = open(SocketKind.NIO, Transport.ROCE_V2, "127.0.0.1", 1024)) {
            assertThat(a.routePort(0, 1024)).isNotEqualTo(b.routePort(0, 1024));
        }
    }
}
