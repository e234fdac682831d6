package dev.metaroce.net;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.CounterId;
import dev.metaroce.ring.PostResult;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.transport.ConnectionState;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.util.Rng;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;

/** Two devices in one process over real datagrams: what arrives is what was sent. */
@Timeout(120)
class LoopbackTransferTest {
    private static final int MIB = 1 << 20;

    /** Around the units of the wire: packets of 64 bytes, 4096 and 65536. */
    private static final int[] SIZES = {
        0, 1, 63, 64, 65, 4095, 4096, 4097, 65_535, 65_536, 65_537, MIB, 64 * MIB
    };

    private static final int GUARD = 64;

    private static DeviceLimits limits(int payloadMtu) {
        return DeviceLimits.defaults().toBuilder().payloadMtu(payloadMtu).build();
    }

    @ParameterizedTest
    @CsvSource({"THREAD, 8896", "THREAD, 4096", "INLINE, 8896", "INLINE, 1024"})
    void writesOfEverySizeArriveAndTouchNothingElse_W08(DriveMode mode, int payloadMtu) {
        try (UdpPair pair = UdpPair.direct(mode, limits(payloadMtu), 64 * MIB + 2 * GUARD)) {
            writeEverySize(pair);

            assertThat(pair.clientEnd.connection.payloadMtu()).isEqualTo(payloadMtu);
        }
    }

    @ParameterizedTest
    @EnumSource(DriveMode.class)
    void writesOfEverySizeArriveThroughLossDuplicatesDisorderAndFlippedBits_L01_L05_L08(
            DriveMode mode) {
        try (UdpPair pair =
                UdpPair.through(badLink(), 11, mode, limits(8896), 64 * MIB + 2 * GUARD)) {
            writeEverySize(pair);

            RelayStats stats = pair.relay.stats();
            assertThat(stats.toTarget().dropped()).isPositive();
            assertThat(stats.toTarget().duplicated()).isPositive();
            assertThat(stats.toTarget().reordered()).isPositive();
            assertThat(stats.toTarget().corrupted()).isPositive();
            assertThat(pair.serverEnd.count(CounterId.BAD_CRC))
                    .isBetween(1L, stats.toTarget().corrupted());
            assertThat(pair.clientEnd.count(CounterId.DATA_RESENT)).isPositive();
        }
    }

    private static Faults badLink() {
        return Faults.builder()
                .dropRate(0.01)
                .duplicate(0.01, 1)
                .reorderRate(0.01, 1)
                .corruptRate(0.01)
                .build();
    }

    private static void writeEverySize(UdpPair pair) {
        MemorySegment from = pair.clientEnd.memory();
        MemorySegment to = pair.serverEnd.memory();
        int completions = 0;
        for (int size : SIZES) {
            to.asSlice(0, size + 2 * GUARD).fill((byte) 0x5A);
            pair.write(size, GUARD, size);
            pair.expectSends(++completions);

            WorkCompletion wc = pair.clientEnd.sends.get(completions - 1);
            assertThat(wc.wrId()).isEqualTo(size);
            assertThat(wc.byteLength()).isEqualTo(size);
            assertThat(MemorySegment.mismatch(from, GUARD, GUARD + size, to, GUARD, GUARD + size))
                    .as("first wrong byte of %d", size)
                    .isEqualTo(-1);
            for (int i = 0; i < GUARD; i++) {
                assertThat(to.get(ValueLayout.JAVA_BYTE, i)).isEqualTo((byte) 0x5A);
                assertThat(to.get(ValueLayout.JAVA_BYTE, GUARD + size + i)).isEqualTo((byte) 0x5A);
            }
        }
    }

    @ParameterizedTest
    @EnumSource(DriveMode.class)
    void sendsOfEverySizeArriveInOrder_W08(DriveMode mode) {
        try (UdpPair pair = UdpPair.direct(mode, limits(8896), 64 * MIB)) {
            sendEverySize(pair);
        }
    }

    @ParameterizedTest
    @EnumSource(DriveMode.class)
    void sendsAreConsumedOnceThroughABadLink_L01_L05_L08(DriveMode mode) {
        try (UdpPair pair = UdpPair.through(badLink(), 12, mode, limits(8896), 64 * MIB)) {
            sendEverySize(pair);
        }
    }

    private static void sendEverySize(UdpPair pair) {
        int completions = 0;
        for (int size : SIZES) {
            pair.serverEnd.memory().asSlice(0, size).fill((byte) 0);
            assertThat(pair.serverEnd.pair.postReceive(size, pair.serverEnd.region, 0, size))
                    .isEqualTo(PostResult.OK);
            assertThat(pair.clientEnd.pair.postSend(size, pair.clientEnd.region, 0, size))
                    .isEqualTo(PostResult.OK);
            pair.expectReceives(++completions);
            pair.expectSends(completions);

            WorkCompletion wc = pair.serverEnd.receives.get(completions - 1);
            assertThat(wc.wrId()).isEqualTo(size);
            assertThat(wc.byteLength()).isEqualTo(size);
            assertThat(
                            MemorySegment.mismatch(
                                    pair.clientEnd.memory(),
                                    0,
                                    size,
                                    pair.serverEnd.memory(),
                                    0,
                                    size))
                    .isEqualTo(-1);
        }
        assertThat(pair.serverEnd.receives).hasSize(SIZES.length);
    }

    @ParameterizedTest
    @EnumSource(DriveMode.class)
    void strangersOnThePortDisturbNobody_C11(DriveMode mode) {
        byte[] get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n".getBytes(StandardCharsets.US_ASCII);
        Rng rng = new Rng(3);
        try (UdpPair pair = UdpPair.direct(mode, limits(8896), 16 * MIB);
                Peer stranger = new Peer()) {
            pair.write(1, 0, 16 * MIB);
            for (int i = 0; i < 1000; i++) {
                byte[] few = new byte[1 + i % 7];
                byte[] many = new byte[1400];
                fill(few, rng);
                fill(many, rng);
                stranger.send(few, pair.server.localAddress());
                stranger.send(get, pair.server.localAddress());
                stranger.send(many, pair.server.localAddress());
                if (mode == DriveMode.INLINE) {
                    pair.client.rdma().progress();
                    pair.server.rdma().progress();
                }
            }
            pair.expectSends(1);

            assertThat(pair.clientEnd.memory().mismatch(pair.serverEnd.memory())).isEqualTo(-1);
            assertThat(pair.serverEnd.connection.state()).isEqualTo(ConnectionState.OPEN);
            assertThat(
                            pair.serverEnd.count(CounterId.MALFORMED)
                                    + pair.serverEnd.count(CounterId.BAD_VERSION)
                                    + pair.serverEnd.count(CounterId.BAD_CRC))
                    .isPositive();
            assertThat(stranger.look().got).as("strangers get no answer").isEmpty();
        }
    }

    private static void fill(byte[] bytes, Rng rng) {
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) rng.nextInt();
        }
    }

    @ParameterizedTest
    @EnumSource(DriveMode.class)
    void emptyDatagramsDisturbNobody_X02(DriveMode mode) {
        try (UdpPair pair = UdpPair.direct(mode, limits(8896), 16 * MIB);
                Peer stranger = new Peer()) {
            pair.write(1, 0, 16 * MIB);
            for (int i = 0; i < 100_000; i++) {
                stranger.send(new byte[0], pair.server.localAddress());
                if (mode == DriveMode.INLINE && i % 16 == 0) {
                    pair.client.rdma().progress();
                    pair.server.rdma().progress();
                }
            }
            pair.expectSends(1);

            assertThat(pair.clientEnd.memory().mismatch(pair.serverEnd.memory())).isEqualTo(-1);
            assertThat(pair.serverEnd.count(CounterId.MALFORMED)).isPositive();
        }
    }

    @Test
    void aPauseBetweenConnectingAndTheFirstPostIsHarmless_J01() {
        DeviceLimits limits = DeviceLimits.defaults().toBuilder().silenceNs(100_000_000L).build();
        try (UdpPair pair = UdpPair.direct(DriveMode.INLINE, limits, MIB)) {
            // the client stands still until the server has taken the unused grant back
            while (pair.server.rdma().contextsInUse() > 0) {
                pair.server.rdma().progress();
            }
            pair.write(1, 0, MIB);
            pair.expectSends(1);

            assertThat(pair.serverEnd.count(CounterId.GRANT_UNUSED)).isOne();
            assertThat(pair.clientEnd.memory().mismatch(pair.serverEnd.memory())).isEqualTo(-1);
        }
    }
}
