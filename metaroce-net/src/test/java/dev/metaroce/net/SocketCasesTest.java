package dev.metaroce.net;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.CounterId;
import dev.metaroce.transport.ConnectionState;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.util.Rng;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

import java.io.File;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * Cases C01, C11, C13, C15 and X02 on real sockets. They have exact twins in virtual time; here
 * nothing is judged by a clock that a busy machine could spoil.
 */
@Timeout(120)
class SocketCasesTest {
    private static final long SECOND_NS = 1_000_000_000L;
    private static final DeviceLimits DEFAULTS = DeviceLimits.defaults();
    private static final List<CounterId> REFUSED =
            List.of(
                    CounterId.MALFORMED,
                    CounterId.BAD_CRC,
                    CounterId.ICRC_ERRORS,
                    CounterId.BAD_VERSION);

    private static Station station(DriveMode mode, DeviceLimits limits, int bytes) {
        return new Station(mode, limits, bytes);
    }

    /**
     * @param which of both ends, 0 or 1
     */
    private static Station station(Transport transport, int which, DeviceLimits limits, int bytes) {
        InetSocketAddress at = OwnLoopback.free(transport, which);
        return new Station(transport, at, DriveMode.THREAD, limits, bytes);
    }

    @Test
    @DisplayName("C01: two devices dial each other at the same time, a thousand times")
    void c01BothSidesDial() {
        Rng skew = new Rng(1);
        try (Station a = station(DriveMode.THREAD, DEFAULTS, 4096);
                Station b = station(DriveMode.THREAD, DEFAULTS, 4096)) {
            for (int round = 0; round < 1000; round++) {
                a.outgoing().fill((byte) round);
                b.outgoing().fill((byte) ~round);
                Station.Call forth = a.call(b.address());
                long dueNs = System.nanoTime() + (round % 3 == 0 ? 0 : skew.nextInt(2_000_000));
                while (System.nanoTime() - dueNs < 0) {
                    Thread.onSpinWait();
                }
                Station.Call back = b.call(a.address());
                visit("round " + round, forth, back);
                assertThat(b.incoming().mismatch(a.outgoing())).isEqualTo(-1);
                assertThat(a.incoming().mismatch(b.outgoing())).isEqualTo(-1);
                a.accepted.clear();
                b.accepted.clear();
            }
            Until.expect(
                    "no contexts",
                    () ->
                            a.device.rdma().contextsInUse() == 0
                                    && b.device.rdma().contextsInUse() == 0);
        }
    }

    /** Each writes once, both the same bytes, and closes. */
    private static void visit(String what, Station.Call... calls) {
        Until.expect(
                what,
                () -> {
                    boolean over = true;
                    for (Station.Call call : calls) {
                        if (call.posted == 0) {
                            call.write(4096);
                        } else if (call.isDone()) {
                            call.connection.close();
                        }
                        assertThat(call.connection.failure()).isEmpty();
                        over &= call.connection.state() == ConnectionState.CLOSED;
                    }
                    return over;
                });
    }

    @ParameterizedTest
    @EnumSource
    @DisplayName("C11: strangers on the port, by UDP and TCP, disturb no connect")
    void c11StrangersDisturbNobody(Transport transport) throws IOException {
        try (Station server = station(transport, 0, DEFAULTS, 4096);
                Station client = station(transport, 1, DEFAULTS, 4096);
                Peer stranger = new Peer()) {
            Rng rng = new Rng(11);
            byte[] http = "GET / HTTP/1.1\r\nHost: a\r\n\r\n".getBytes(StandardCharsets.US_ASCII);
            InetSocketAddress target = server.address();
            for (int i = 0; i < 1000; i++) {
                stranger.send(new byte[0], target);
                stranger.send(random(rng, 1 + i % 7), target);
                stranger.send(http, target);
                stranger.send(random(rng, 1400), target);
                try (Socket tcp = new Socket()) {
                    tcp.connect(target);
                    throw new AssertionError("nobody listens on TCP");
                } catch (java.net.ConnectException e) {
                    // Refused by the kernel, as it should be.
                }
                if (i % 20 == 0) {
                    visit("connect " + i / 20, client.call(target));
                }
            }

            assertThat(server.accepted).hasSize(50);
            long refused = 0;
            for (CounterId id : REFUSED) {
                refused += server.device.rdma().counters().get(id);
            }
            // The kernel drops what finds no room; what came is counted, and none of it answered.
            assertThat(refused).isBetween(1L, 4_000L);
            assertThat(stranger.look().got).isEmpty();
        }
    }

    private static byte[] random(Rng rng, int length) {
        byte[] bytes = new byte[length];
        for (int i = 0; i < length; i++) {
            bytes[i] = (byte) rng.nextInt();
        }
        return bytes;
    }

    /** The times are the affair of {@code bench/leases}. */
    @ParameterizedTest
    @EnumSource
    @DisplayName("C13: three thousand connections in a row leave nothing")
    void c13ManyConnectionsInARow(Transport transport) {
        try (Station server = station(transport, 0, DEFAULTS, 4096);
                Station client = station(transport, 1, DEFAULTS, 4096)) {
            Held before = null;
            for (int round = 0; round < 3_000; round++) {
                visit("round " + round, client.call(server.address()));
                server.accepted.clear();
                before = round == 100 ? Held.now() : before;
            }
            Held after = Held.now();
            assertThat(after.threads()).isLessThanOrEqualTo(before.threads());
            assertThat(after.files()).isLessThanOrEqualTo(before.files());
            assertThat(after.offHeapBytes()).isLessThanOrEqualTo(before.offHeapBytes());
            Until.expect("no contexts", () -> server.device.rdma().contextsInUse() == 0);
        }
    }

    /** What a process holds that a leak would show in. */
    private record Held(int threads, int files, long offHeapBytes) {
        static Held now() {
            String[] open = new File("/proc/self/fd").list();
            long direct = 0;
            for (BufferPoolMXBean pool :
                    ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class)) {
                direct += pool.getMemoryUsed();
            }
            return new Held((int) Until.threadsNamed(""), open == null ? 0 : open.length, direct);
        }
    }

    @ParameterizedTest
    @CsvSource({"METAROCE,4096,1024", "METAROCE,1024,4096", "ROCE_V2,4096,1024"})
    @DisplayName("C15: the smaller payload of the two ends holds in both directions")
    void c15UnequalMtu(Transport transport, int mtuA, int mtuB) {
        int bytes = 1 << 20;
        DeviceLimits limitsA = DEFAULTS.toBuilder().payloadMtu(mtuA).build();
        DeviceLimits limitsB = DEFAULTS.toBuilder().payloadMtu(mtuB).build();
        try (Station a = station(transport, 0, limitsA, bytes);
                Station b = station(transport, 1, limitsB, bytes)) {
            for (Station from : List.of(a, b)) {
                Station to = from == a ? b : a;
                Rng rng = new Rng(mtuA);
                for (long i = 0; i < bytes; i += 8) {
                    from.outgoing().set(ValueLayout.JAVA_LONG, i, rng.nextLong());
                }
                Station.Call call = from.call(to.address());
                Until.expect("posted", () -> call.write(bytes));
                Until.expect("written", call::isDone);

                assertThat(to.incoming().mismatch(from.outgoing())).isEqualTo(-1);
                assertThat(call.connection.payloadMtu()).isEqualTo(1024);
                assertThat(from.device.rdma().counters().get(CounterId.DATA_SENT))
                        .isEqualTo(bytes / 1024);
            }
        }
    }

    @Test
    @DisplayName("X02: a flood of empty datagrams stops no receive loop and no transfer")
    void x02EmptyDatagrams() {
        try (UdpPair pair = UdpPair.direct(DriveMode.THREAD, DEFAULTS, 1 << 20);
                Peer stranger = new Peer()) {
            InetSocketAddress target = pair.server.localAddress();
            int written = 0;
            for (int i = 0; i < 100_000; i++) {
                stranger.send(new byte[0], target);
                if (i % 500 == 0) {
                    pair.write(i, 0, 1 << 20);
                    pair.expectSends(++written);
                }
            }
            long counted = pair.serverEnd.count(CounterId.MALFORMED);

            // What found room in the socket was counted; all of it, as the transfers in between
            // keep the loop awake.
            assertThat(counted).isBetween(50_000L, 100_000L);
            assertThat(pair.clientEnd.memory().mismatch(pair.serverEnd.memory())).isEqualTo(-1);
            assertThat(stranger.look().got).isEmpty();
        }
    }
}
