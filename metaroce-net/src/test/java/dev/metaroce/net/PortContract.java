package dev.metaroce.net;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.management.ThreadMXBean;

import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.TxBatch;

import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.List;

/** What every kind of port does; each kind runs all of it. */
abstract class PortContract {
    private static InetSocketAddress loopback(int port) {
        return new InetSocketAddress("127.0.0.1", port);
    }

    /** The kind under test, with its features on or off. */
    abstract Port open(PortOptions options);

    /** The most datagrams that a call may hand over which was allowed {@code datagramsMax}. */
    abstract int mostPerCall(int datagramsMax);

    /** How many sending sockets may take turns without an allocation at the receiver. */
    abstract int routesWithoutAllocation();

    Port open(InetSocketAddress bind, int routes, int bufferBytes) {
        return open(TestPorts.options(bind, routes, bufferBytes));
    }

    private static NetAddress addressOf(Port port) {
        return Addresses.toNetAddress(port.localAddresses().getFirst());
    }

    private static void append(TxBatch batch, NetAddress to, int route, int number, int bytes) {
        int at = batch.append(to, route, false, bytes);
        batch.memory().put32(at, number);
        batch.memory().put8(at + bytes - 1, number);
    }

    @AutoClose private final Port a = open(loopback(0), 3, Port.WANTED_BUFFER_BYTES);
    @AutoClose private final Port b = open(loopback(0), 3, Port.WANTED_BUFFER_BYTES);
    private final NetAddress addressOfB = addressOf(b);
    private long received;
    private final DatagramSink counter = (nowNs, memory, at, bytes, source, ecn) -> received++;
    private final RecordingSink sink = new RecordingSink();
    private final TxBatch batch = new TxBatch(256 << 10, 64, 64);

    @Test
    void everyPacketOfARunIsOneDatagramFromTheSocketOfItsRoute() {
        // two runs: five packets of 1000 bytes and a shorter one, then one from another route
        for (int i = 0; i < 5; i++) {
            append(batch, addressOf(b), 2, i, 1000);
        }
        append(batch, addressOf(b), 2, 5, 77);
        append(batch, addressOf(b), 0, 6, 64);
        assertThat(batch.runs()).isEqualTo(2);

        assertThat(a.send(batch)).isEqualTo(7);

        assertThat(Until.holds(() -> b.receive(sink, 64) >= 0 && sink.datagrams.size() == 7))
                .isTrue();
        for (int i = 0; i < 7; i++) {
            byte[] bytes = sink.datagrams.get(i);
            assertThat(bytes).hasSize(i < 5 ? 1000 : i == 5 ? 77 : 64);
            assertThat(bytes[3]).isEqualTo((byte) i);
            assertThat(bytes[bytes.length - 1]).isEqualTo((byte) i);
            assertThat(sink.sources.get(i))
                    .isEqualTo(NetAddress.ofIpv4(0x7F00_0001, a.routePort(0, i < 6 ? 2 : 0)));
        }
        assertThat(sink.sources.get(1)).isSameAs(sink.sources.get(0));
        assertThat(a.stats().txDatagrams()).isEqualTo(7);
        assertThat(a.stats().txBytes()).isEqualTo(5000 + 77 + 64);
        assertThat(b.stats().rxDatagrams()).isEqualTo(7);
        assertThat(b.stats().rxBytes()).isEqualTo(5000 + 77 + 64);
    }

    @Test
    void timesOfDatagramsNeverGoBack() {
        for (int i = 0; i < 40; i++) {
            append(batch, addressOf(b), 0, i, 64);
        }
        long before = System.nanoTime();
        a.send(batch);

        assertThat(Until.holds(() -> b.receive(sink, 7) >= 0 && sink.datagrams.size() == 40))
                .isTrue();

        long last = before;
        for (long time : sink.times) {
            assertThat(time - last).isNotNegative();
            last = time;
        }
        assertThat(System.nanoTime() - last).isNotNegative();
    }

    @Test
    void theLongestDatagramArrivesWhole() {
        int bytes = 65_507;
        append(batch, addressOf(b), 1, 9, bytes);
        a.send(batch);

        assertThat(Until.holds(() -> b.receive(sink, 1) == 1)).isTrue();

        assertThat(sink.datagrams.get(0)).hasSize(bytes);
        assertThat(sink.datagrams.get(0)[bytes - 1]).isEqualTo((byte) 9);
    }

    @Test
    void emptyDatagramsAreHandedOn_X02() {
        try (Peer peer = new Peer()) {
            for (int i = 0; i < 10; i++) {
                peer.send(new byte[0], b.localAddresses().getFirst());
            }
            peer.send(Peer.numbered(1, 4), b.localAddresses().getFirst());

            assertThat(Until.holds(() -> b.receive(sink, 3) >= 0 && sink.datagrams.size() == 11))
                    .isTrue();
        }
        assertThat(sink.datagrams.subList(0, 10)).allMatch(bytes -> bytes.length == 0);
        assertThat(b.stats().rxDatagrams()).isEqualTo(11);
        assertThat(b.stats().rxErrors()).isZero();
    }

    @Test
    void aCallTakesNoMoreThanItWasAllowed() {
        for (int i = 0; i < 10; i++) {
            append(batch, addressOf(b), 0, i, 64);
        }
        a.send(batch);
        assertThat(Until.holds(() -> b.await(0))).isTrue();

        assertThat(b.receive(sink, 4)).isBetween(1, mostPerCall(4));
        assertThat(sink.datagrams).hasSizeLessThanOrEqualTo(mostPerCall(4));
    }

    @Test
    void pathSocketsAreReadToo() {
        // a busy driver never selects: the port must look by itself now and then
        try (Peer peer = new Peer()) {
            peer.send(Peer.numbered(77, 4), loopback(b.routePort(0, 3)));

            assertThat(Until.holds(() -> b.receive(sink, 64) == 1)).isTrue();
        }
        assertThat(sink.datagrams.get(0)[3]).isEqualTo((byte) 77);
    }

    @Test
    void aSelectThatSawAPathSocketMakesTheNextReceiveReadIt() {
        try (Peer peer = new Peer()) {
            peer.send(Peer.numbered(78, 4), loopback(b.routePort(0, 1)));
            assertThat(Until.holds(() -> b.await(100_000_000))).isTrue();

            assertThat(b.receive(sink, 64)).isEqualTo(1);
        }
    }

    @Test
    void sendingWhereNothingGoesIsCountedAndNothingElse_C12() {
        // the reserved block 240/4 has no route; port 1 of loopback has no listener
        append(batch, NetAddress.ofIpv4(0xF000_0001, 5), 0, 1, 64);
        append(batch, NetAddress.ofIpv4(0x7F00_0001, 1), 0, 2, 64);
        append(batch, addressOf(b), 0, 3, 64);

        a.send(batch);

        assertThat(Until.holds(() -> b.receive(sink, 64) == 1)).isTrue();
        PortStats stats = a.stats();
        assertThat(stats.txErrors()).isEqualTo(1);
        assertThat(stats.lastError()).contains("send to").contains("240.0.0.1");
        assertThat(stats.txDatagrams()).isEqualTo(2);
    }

    @Test
    void fragmentsAreForbiddenOnEverySocket_E03() {
        assertThat(a.warnings()).noneMatch(line -> line.contains("fragments"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"::1", "127.0.0.1"})
    void aWildcardPortServesBothFamilies_I04(String host) {
        try (Port any = open(TestPorts.wildcard(1, 1 << 20))) {
            int port = any.localAddresses().getFirst().getPort();
            try (Peer peer = new Peer(new InetSocketAddress(host, 0))) {
                peer.send(Peer.numbered(1, 4), new InetSocketAddress(host, port));
                assertThat(Until.holds(() -> any.receive(sink, 64) == 1)).isTrue();

                append(batch, sink.sources.get(0), 1, 5, 64);
                any.send(batch);

                assertThat(peer.has(1)).isTrue();
                assertThat(peer.got.get(0).from().getPort()).isEqualTo(any.routePort(0, 1));
                assertThat(peer.numbers()).containsExactly(5);
            }
        }
    }

    @Test
    void anExactAddressIsTheSourceOfAllRoutes_E08() {
        try (Port exact = open(new InetSocketAddress("127.0.0.3", 0), 2, 1 << 20)) {
            for (int route = 0; route <= 2; route++) {
                append(batch, addressOf(b), route, route, 64);
            }
            exact.send(batch);

            assertThat(Until.holds(() -> b.receive(sink, 64) >= 0 && sink.datagrams.size() == 3))
                    .isTrue();
            for (int route = 0; route <= 2; route++) {
                assertThat(sink.sources.get(route))
                        .isEqualTo(NetAddress.ofIpv4(0x7F00_0003, exact.routePort(0, route)));
            }
        }
    }

    @Test
    void everyPlaneReceivesAndAnswersFromItsOwnAddress() throws UnknownHostException {
        List<InetAddress> planes =
                List.of(InetAddress.getByName("127.0.0.4"), InetAddress.getByName("127.0.0.5"));
        try (Port port = open(TestPorts.planes(planes, 2, 1 << 20));
                Peer peer = new Peer()) {
            assertThat(port.localAddresses()).hasSize(2);
            for (int plane = 0; plane < 2; plane++) {
                InetSocketAddress address = port.localAddresses().get(plane);
                assertThat(address.getPort()).isEqualTo(port.routePort(0, 0));
                peer.send(Peer.numbered(plane, 4), address);
                int expected = plane + 1;
                assertThat(Until.holds(() -> port.receive(sink, 64) >= 0 && count() == expected))
                        .isTrue();
                assertThat(sink.sources.get(plane).plane()).isEqualTo(plane);
            }
            // an answer each over the device's own socket and over a path socket, in one batch
            for (int plane = 0; plane < 2; plane++) {
                append(batch, sink.sources.get(plane), 0, plane, 64);
                append(batch, sink.sources.get(plane), 2, plane, 64);
            }
            port.send(batch);

            assertThat(peer.has(4)).isTrue();
            for (Peer.Got got : peer.got) {
                int plane = got.number();
                assertThat(got.from().getAddress()).isEqualTo(planes.get(plane));
                assertThat(got.from().getPort())
                        .isIn(port.routePort(plane, 0), port.routePort(plane, 2));
            }
        }
    }

    private int count() {
        return sink.datagrams.size();
    }

    @Test
    void aTakenPortIsNamedWithAddressCauseAndAdvice_I02() {
        int taken = a.localAddresses().getFirst().getPort();

        assertThatThrownBy(() -> open(loopback(taken), 1, 1 << 20))
                .isInstanceOf(NetSetupException.class)
                .hasMessageContaining("127.0.0.1")
                .hasMessageContaining("port " + taken)
                .hasMessageContaining("in use")
                .hasMessageContaining("choose another port")
                .message()
                .doesNotContain("\n");
    }

    @Test
    void anAddressOfAnotherMachineIsNamed_I02() {
        InetSocketAddress foreign = new InetSocketAddress("198.51.100.7", 0);

        assertThatThrownBy(() -> open(foreign, 1, 1 << 20))
                .isInstanceOf(NetSetupException.class)
                .hasMessageContaining("198.51.100.7")
                .hasMessageContaining("no such address");
    }

    @Test
    void thePortIsFreeAgainAfterClose_C10() {
        InetSocketAddress address = a.localAddresses().getFirst();
        a.close();
        a.close();
        assertThat(a.isOpen()).isFalse();
        assertThat(a.receive(sink, 64)).isZero();
        append(batch, addressOf(b), 0, 1, 64);
        assertThat(a.send(batch)).isZero();

        try (Port again = open(address, 0, 1 << 20)) {
            assertThat(again.localAddresses().getFirst()).isEqualTo(address);
        }
    }

    @Test
    void smallBuffersGiveOneWarningEach_E01() {
        try (Port small = open(loopback(0), 1, 64 << 10)) {
            assertThat(small.info().receiveBufferBytes()).isEqualTo(64 << 10);
            assertThat(small.warnings()).hasSize(2);
            assertThat(small.warnings().get(0))
                    .contains("receive")
                    .contains("net.core.rmem_max")
                    .contains("has " + small.info().receiveBufferBytes())
                    .contains("wants " + Port.WANTED_BUFFER_BYTES);
            assertThat(small.warnings().get(1))
                    .contains("send")
                    .contains("net.core.wmem_max")
                    .contains("has " + small.info().sendBufferBytes());
        }
    }

    @Test
    void nothingIsAllocatedPerPacketOnceTheCodeIsCompiled() {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        double bytesPerPacket = Double.MAX_VALUE;
        for (int block = 0; block < 200 && bytesPerPacket >= 0.01; block++) {
            long before = threads.getCurrentThreadAllocatedBytes();
            long packets = exchange(500);
            bytesPerPacket = (double) (threads.getCurrentThreadAllocatedBytes() - before) / packets;
        }
        assertThat(bytesPerPacket).isLessThan(0.01);
    }

    /** Sends rounds of 50 packets and takes them; returns how many arrived. */
    private long exchange(int rounds) {
        received = 0;
        for (int round = 0; round < rounds; round++) {
            batch.clear();
            int route = 1 + round % routesWithoutAllocation();
            for (int i = 0; i < 50; i++) {
                append(batch, addressOfB, route, i, 200);
            }
            a.send(batch);
            while (b.receive(counter, 64) > 0) {
                // until the socket is empty
            }
        }
        return received;
    }
}
