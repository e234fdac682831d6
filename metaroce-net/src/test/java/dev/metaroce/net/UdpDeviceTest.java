package dev.metaroce.net;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.metaroce.event.CounterId;
import dev.metaroce.event.EventId;
import dev.metaroce.event.EventSink;
import dev.metaroce.transport.ConnectionState;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.verbs.Connection;
import dev.metaroce.wire.NetAddress;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

/** Opening, driving and closing of devices. */
@Timeout(60)
class UdpDeviceTest {
    private static final long SECOND_NS = 1_000_000_000L;

    private static DeviceOptions.Builder options(DriveMode mode) {
        return DeviceOptions.builder().bind("127.0.0.1").port(0).driveMode(mode);
    }

    private static UdpDevice open(DriveMode mode) {
        return UdpDevice.open(options(mode).build());
    }

    private static NetAddress addressOf(UdpDevice device) {
        return Addresses.toNetAddress(device.localAddress());
    }

    @Test
    void defaultsAreThoseOfTheDocumentation() {
        DeviceOptions options = DeviceOptions.builder().build();

        assertThat(options.bindHosts()).isEmpty();
        assertThat(options.port()).isEqualTo(50_791);
        assertThat(options.driveMode()).isEqualTo(DriveMode.THREAD);
        assertThat(options.limits()).isEqualTo(DeviceLimits.defaults());
        assertThat(options.isSeeded()).isFalse();
    }

    @ParameterizedTest
    @EnumSource(
            value = SocketKind.class,
            names = {"NIO", "LINUX"})
    void aDeviceIsReachedOnEveryPlane(SocketKind sockets) {
        DeviceOptions options =
                options(DriveMode.THREAD).bind("127.0.0.4", "127.0.0.5").sockets(sockets).build();
        try (UdpDevice server = UdpDevice.open(options);
                UdpDevice client = UdpDevice.open(options)) {
            server.rdma().listen(1, request -> request.accept());
            for (InetSocketAddress plane : server.localAddresses()) {
                String text = plane.getAddress().getHostAddress() + ":" + plane.getPort();
                Connection c = client.rdma().connect(client.address(text, 1), 1, new byte[0]);
                assertThat(client.rdma().awaitOpen(c, 5 * SECOND_NS)).isTrue();
            }
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = SocketKind.class,
            names = {"NIO", "LINUX"})
    void pathsGoOverAllPlanes(SocketKind sockets) throws InterruptedException {
        DeviceOptions.Builder options = options(DriveMode.THREAD).sockets(sockets);
        CountDownLatch answered = new CountDownLatch(1);
        EventSink watch =
                (nowNs, id, a, b, c) -> {
                    if (id == EventId.PATH_GOOD && a == 2) {
                        answered.countDown();
                    }
                };
        try (UdpDevice server = UdpDevice.open(options.bind("127.0.0.4", "127.0.0.5").build());
                UdpDevice client =
                        UdpDevice.open(
                                options.bind("127.0.0.6", "127.0.0.7").events(watch).build())) {
            server.rdma().listen(1, request -> request.accept());
            Connection c = client.rdma().connect(addressOf(server), 1, new byte[0]);
            assertThat(client.rdma().awaitOpen(c, 5 * SECOND_NS)).isTrue();

            // Paths of the second plane were asked, and answered from there.
            assertThat(answered.await(5, TimeUnit.SECONDS)).isTrue();
            assertThat(server.rdma().counters().get(CounterId.WRONG_SOURCE)).isZero();
        }
    }

    @Test
    void planesOfBothFamiliesAreRefused() {
        DeviceOptions options = options(DriveMode.THREAD).bind("127.0.0.1", "::1").build();

        assertThatThrownBy(() -> UdpDevice.open(options))
                .isInstanceOf(NetSetupException.class)
                .hasMessage(
                        "cannot bind 127.0.0.1, ::1: give different addresses, all IPv4 or all"
                                + " IPv6");
    }

    @Test
    void shorthandsChangeTheLimits() {
        DeviceLimits limits =
                DeviceOptions.builder().paths(4).payloadMtu(1024).profiles(1).build().limits();

        assertThat(limits.maxPaths()).isEqualTo(4);
        assertThat(limits.routes()).isEqualTo(6);
        assertThat(limits.payloadMtu()).isEqualTo(1024);
        assertThat(limits.profiles()).isOne();
    }

    @Test
    void wrongOptionsAreNamed() {
        assertThatThrownBy(() -> DeviceOptions.builder().port(70_000))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("DeviceOptions: port 70000 is not in 0..65535");
        assertThatThrownBy(() -> DeviceOptions.builder().payloadMtu(1000))
                .hasMessageContaining("payloadMtu 1000");
    }

    @Test
    void loopbackCarriesTheConfiguredPayload_E03() {
        try (UdpDevice device = open(DriveMode.INLINE)) {
            assertThat(device.rdma().limits().payloadMtu()).isEqualTo(8896);
        }
    }

    @Test
    void thePayloadIsLoweredToWhatTheLinksCarry_E03() {
        DeviceOptions any =
                DeviceOptions.builder()
                        .port(0)
                        .payloadMtu(65_408)
                        .driveMode(DriveMode.INLINE)
                        .build();
        try (UdpDevice device = UdpDevice.open(any)) {
            assertThat(device.rdma().limits().payloadMtu())
                    .isEqualTo(Addresses.payloadMtuOfLocal(device.localAddress().getAddress()));
        }
    }

    @Test
    void aTargetOnLoopbackLetsAWildcardDeviceUseItsPayload_E08() throws Exception {
        DeviceOptions options =
                DeviceOptions.builder()
                        .port(0)
                        .targetHint("127.0.0.1")
                        .driveMode(DriveMode.INLINE)
                        .build();
        int loopbackMtu = NetworkInterface.getByName("lo").getMTU();
        try (UdpDevice device = UdpDevice.open(options)) {
            assertThat(device.rdma().limits().payloadMtu())
                    .isEqualTo(Math.min(8896, Addresses.payloadMtu(loopbackMtu, true)));
        }
    }

    @Test
    void theReceiveWindowIsHalfTheSocketBufferUnlessGiven_E01() {
        try (UdpDevice device = open(DriveMode.INLINE)) {
            assertThat(device.rdma().limits().receiveWindowBytes()).isPositive();
        }
        DeviceOptions small = options(DriveMode.INLINE).socketBufferBytes(64 << 10).build();
        try (UdpDevice device = UdpDevice.open(small)) {
            assertThat(device.rdma().limits().receiveWindowBytes()).isBetween(1L, 128L << 10);
            assertThat(device.warnings()).hasSize(2);
        }
        DeviceLimits given = DeviceLimits.defaults().toBuilder().receiveWindowBytes(12_345).build();
        try (UdpDevice device = UdpDevice.open(options(DriveMode.INLINE).limits(given).build())) {
            assertThat(device.rdma().limits().receiveWindowBytes()).isEqualTo(12_345);
        }
    }

    @Test
    void aTakenPortEndsOpenWithOneClearLine_I02() {
        try (UdpDevice first = open(DriveMode.THREAD)) {
            int port = first.localAddress().getPort();
            long threads = Until.threadsNamed("metaroce-");

            assertThatThrownBy(() -> UdpDevice.open(options(DriveMode.THREAD).port(port).build()))
                    .isInstanceOf(NetSetupException.class)
                    .hasMessageContaining("127.0.0.1 port " + port)
                    .hasMessageContaining("in use");
            assertThat(Until.threadsNamed("metaroce-")).isEqualTo(threads);
        }
    }

    @ParameterizedTest
    @EnumSource(DriveMode.class)
    void closeLeavesNoThreadAndFreesThePort_C10(DriveMode mode) {
        UdpDevice device = open(mode);
        int port = device.localAddress().getPort();
        String name = "metaroce-" + port;
        assertThat(Until.threadsNamed(name)).isEqualTo(mode == DriveMode.THREAD ? 1 : 0);

        device.close();
        device.close();

        assertThat(Until.threadsNamed(name)).isZero();
        assertThatThrownBy(() -> device.rdma().progress())
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("closed");
        UdpDevice.open(options(mode).port(port).build()).close();
    }

    @Test
    void progressDoesNothingWhereAThreadDrives() {
        try (UdpDevice device = open(DriveMode.THREAD)) {
            assertThat(device.rdma().progress()).isZero();
        }
    }

    @Test
    void anInlineDeviceBelongsToTheThreadThatDroveItFirst() {
        try (UdpDevice device = open(DriveMode.INLINE)) {
            device.rdma().progress();

            CompletableFuture<Integer> other =
                    CompletableFuture.supplyAsync(() -> device.rdma().progress());
            assertThatThrownBy(other::join)
                    .isInstanceOf(CompletionException.class)
                    .hasCauseInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("driven by thread " + Thread.currentThread().getName());
            device.rdma().progress();
        }
    }

    @Test
    void anInlineDevicePassesOnWhenItsThreadHasEnded() throws InterruptedException {
        try (UdpDevice device = open(DriveMode.INLINE)) {
            Thread first = new Thread(() -> device.rdma().progress());
            first.start();
            first.join();

            device.rdma().progress();
        }
    }

    @Test
    void awaitEndsInTimeWhenNothingHappens() {
        for (DriveMode mode : DriveMode.values()) {
            try (UdpDevice device = open(mode)) {
                Connection lonely =
                        device.rdma().connect(NetAddress.ofIpv4(0x7F00_0001, 9), 1, new byte[0]);
                long startNs = System.nanoTime();

                assertThat(device.rdma().awaitOpen(lonely, SECOND_NS / 20)).isFalse();

                assertThat(System.nanoTime() - startNs).isGreaterThanOrEqualTo(SECOND_NS / 20);
                assertThat(lonely.state()).isEqualTo(ConnectionState.CONNECTING);
            }
        }
    }

    @Test
    void aSleepingDriverIsWokenByEveryPost() {
        // sleeps of a minute: a lost wake-up is a test that fails, not one that is slow
        DeviceOptions sleepy =
                options(DriveMode.THREAD).spinNs(0).sleepNsMax(60 * SECOND_NS).build();
        try (UdpDevice device = UdpDevice.open(sleepy)) {
            for (int i = 0; i < 2000; i++) {
                Connection connection = device.rdma().connect(addressOf(device), 99, new byte[0]);
                connection.close();
                assertThat(Until.holds(() -> connection.state() == ConnectionState.CLOSED))
                        .as("round %d", i)
                        .isTrue();
            }
        }
    }

    @Test
    void aDefectInTheEngineIsLoudAndLast() throws InterruptedException {
        EventSink broken =
                (nowNs, id, a, b, c) -> {
                    throw new IllegalStateException("broken sink");
                };
        for (DriveMode mode : DriveMode.values()) {
            UdpDevice device = UdpDevice.open(options(mode).events(broken).build());
            Connection connection =
                    device.rdma().connect(NetAddress.ofIpv4(0x7F00_0001, 9), 1, new byte[0]);

            assertThatThrownBy(() -> device.rdma().awaitOpen(connection, 10 * SECOND_NS))
                    .as(mode.name())
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("broken sink")
                    .hasRootCauseMessage("broken sink");
            assertThatThrownBy(() -> device.rdma().progress()).hasRootCauseMessage("broken sink");
            assertThat(
                            Until.holds(
                                    () ->
                                            Until.threadsNamed(
                                                            "metaroce-"
                                                                    + device.localAddress()
                                                                            .getPort())
                                                    == 0))
                    .isTrue();
            device.close();
        }
    }

    @Test
    void aHandlerMustNotWaitForItsOwnEngine() throws InterruptedException {
        AtomicReference<Throwable> thrown = new AtomicReference<>();
        CountDownLatch asked = new CountDownLatch(1);
        try (UdpDevice server = open(DriveMode.THREAD);
                UdpDevice client = open(DriveMode.THREAD)) {
            server.rdma()
                    .listen(
                            5,
                            request -> {
                                try {
                                    server.rdma().awaitOpen(request.connection(), SECOND_NS);
                                } catch (IllegalStateException e) {
                                    thrown.set(e);
                                }
                                asked.countDown();
                                request.accept();
                            });
            client.rdma().connect(addressOf(server), 5, new byte[0]);

            assertThat(asked.await(10, TimeUnit.SECONDS)).isTrue();
        }
        assertThat(thrown.get()).hasMessageContaining("must not wait");
    }

    @Test
    void closeFromAHandlerDoesNotDeadlock() {
        UdpDevice server = open(DriveMode.THREAD);
        String name = "metaroce-" + server.localAddress().getPort();
        try (UdpDevice client = open(DriveMode.THREAD)) {
            server.rdma()
                    .listen(
                            5,
                            request -> {
                                server.close();
                                request.accept();
                            });
            client.rdma().connect(addressOf(server), 5, new byte[0]);

            assertThat(Until.holds(() -> Until.threadsNamed(name) == 0)).isTrue();
        }
    }
}
