package dev.metaroce.net;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.metaroce.event.AsyncEventType;
import dev.metaroce.event.CounterId;
import dev.metaroce.net.PacketFilter.Verdict;
import dev.metaroce.transport.ConnectionState;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.util.Rng;
import dev.metaroce.verbs.AsyncEvent;
import dev.metaroce.verbs.AsyncEvents;
import dev.metaroce.wire.Flags;
import dev.metaroce.wire.PacketType;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicInteger;

/** What one misfortune on the way does to a transfer: a delay, never an error or a wrong byte. */
@Timeout(120)
class BadNetworkTest {
    private static final int MIB = 1 << 20;

    /** A window small enough that no socket overflows, whatever the filter doubles. */
    private static UdpPair through(PacketFilter filter, long regionBytes) {
        return through(
                filter,
                DeviceLimits.defaults().toBuilder().receiveWindowBytes(MIB / 2).build(),
                regionBytes);
    }

    private static UdpPair through(PacketFilter filter, DeviceLimits limits, long regionBytes) {
        return new UdpPair(
                DriveMode.THREAD,
                limits,
                regionBytes,
                target ->
                        FaultRelay.start(
                                RelayOptions.between(new InetSocketAddress("127.0.0.1", 0), target)
                                        .withFilter(filter)));
    }

    private static boolean is(PacketType type, ByteBuffer packet) {
        return packet.limit() > 0 && (packet.get(0) & 0xF) == type.code();
    }

    private static boolean isLast(ByteBuffer packet) {
        return (packet.get(1) & Flags.LAST) != 0;
    }

    private static void expectEqual(UdpPair pair) {
        assertThat(pair.clientEnd.memory().mismatch(pair.serverEnd.memory())).isEqualTo(-1);
        assertThat(pair.clientEnd.connection.state()).isEqualTo(ConnectionState.OPEN);
    }

    /** A relay passes bytes on, not the IP header. */
    @Test
    void clearedEcnFieldsAreCountedAndToldOnce_G04() {
        try (UdpPair pair = through((toTarget, packet, index) -> Verdict.FORWARD, MIB)) {
            assumeTrue(pair.server.sockets().ecn());
            AsyncEvents events = pair.server.rdma().events();
            assertThat(events.poll()).isNull();
            pair.write(1, 0, MIB);
            pair.write(2, 0, MIB);
            pair.expectSends(2);
            expectEqual(pair);

            assertThat(pair.serverEnd.count(CounterId.NOT_ECT_PACKETS))
                    .isPositive()
                    .isEqualTo(pair.serverEnd.count(CounterId.DATA_ACCEPTED));
            AsyncEvent event = events.poll();
            assertThat(event).isNotNull();
            assertThat(event.type()).isEqualTo(AsyncEventType.ECN_MISSING);
            assertThat(events.poll()).isNull();
        }
        try (UdpPair pair = UdpPair.direct(DriveMode.THREAD, DeviceLimits.defaults(), MIB)) {
            pair.write(1, 0, MIB);
            pair.expectSends(1);
            assertThat(pair.serverEnd.count(CounterId.NOT_ECT_PACKETS)).isZero();
        }
    }

    @Test
    void everyCopyIsCountedAndPlacedOnce_L05() {
        PacketFilter twice =
                (toTarget, packet, index) ->
                        is(PacketType.DATA, packet) ? Verdict.DUPLICATE : Verdict.FORWARD;
        try (UdpPair pair = through(twice, 8 * MIB)) {
            pair.write(1, 0, 8 * MIB);
            pair.expectSends(1);
            expectEqual(pair);

            long copies = pair.relay.stats().toTarget().duplicated();
            long resent = pair.clientEnd.count(CounterId.DATA_RESENT);
            pair.await(
                    "all copies counted",
                    () -> pair.serverEnd.count(CounterId.DUPLICATES) >= copies);
            assertThat(pair.serverEnd.count(CounterId.DUPLICATES))
                    .isBetween(copies, copies + resent);
            assertThat(pair.serverEnd.count(CounterId.PAYLOAD_BYTES)).isEqualTo(8 * MIB);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 3})
    void aLostTailIsRepairedWithoutFurtherTraffic_L03(int packets) {
        // the last packet is lost, and so are the next attempts; the application is silent then
        int[] left = {packets};
        PacketFilter tail =
                (toTarget, packet, index) -> {
                    boolean hit =
                            toTarget
                                    && left[0] > 0
                                    && is(PacketType.DATA, packet)
                                    && (left[0] < packets || isLast(packet));
                    left[0] -= hit ? 1 : 0;
                    return hit ? Verdict.DROP : Verdict.FORWARD;
                };
        try (UdpPair pair = through(tail, MIB)) {
            pair.write(1, 0, MIB);
            pair.expectSends(1);

            expectEqual(pair);
            assertThat(pair.relay.stats().toTarget().dropped()).isEqualTo(packets);
        }
    }

    @Test
    void halfOfTheAcknowledgementsMayGetLost_L04() {
        Rng rng = new Rng(4);
        PacketFilter acks =
                (toTarget, packet, index) ->
                        is(PacketType.ACK, packet) && rng.chance(0.5)
                                ? Verdict.DROP
                                : Verdict.FORWARD;
        try (UdpPair pair = through(acks, 16 * MIB)) {
            pair.write(1, 0, 16 * MIB);
            pair.expectSends(1);

            expectEqual(pair);
            assertThat(pair.relay.stats().toClient().dropped()).isPositive();
        }
    }

    @Test
    void aPathThatSwallowsEverythingIsLeft_L07() {
        AtomicInteger inUse = new AtomicInteger();
        PacketFilter watch =
                (toTarget, packet, index) -> {
                    if (toTarget && is(PacketType.DATA, packet)) {
                        inUse.set(index);
                    }
                    return Verdict.PASS;
                };
        try (UdpPair pair = through(watch, 16 * MIB)) {
            pair.write(1, 0, 16 * MIB);
            pair.expectSends(1);

            int swallowed = inUse.get();
            pair.relay.blackHole(swallowed, true);
            pair.clientEnd.fill(0xDEAD);
            pair.write(2, 0, 16 * MIB);
            pair.expectSends(2);
            expectEqual(pair);
            assertThat(pair.relay.stats().toTarget().blackHoled()).isPositive();
            assertThat(pair.clientEnd.count(CounterId.REROUTES)).isPositive();

            pair.relay.blackHole(swallowed, false);
            pair.clientEnd.fill(0xF00D);
            pair.write(3, 0, 16 * MIB);
            pair.expectSends(3);
            expectEqual(pair);
        }
    }

    @Test
    void delayAndJitterCostTimeOnly_L09() {
        // a delay of 5 ms with as much jitter turns the order of everything upside down
        Faults slow = Faults.builder().delay(5_000_000, 5_000_000).build();
        try (UdpPair pair =
                UdpPair.through(slow, 9, DriveMode.THREAD, DeviceLimits.defaults(), 4 * MIB)) {
            pair.write(1, 0, 4 * MIB);
            pair.expectSends(1);

            expectEqual(pair);
        }
    }

    @Test
    void aLinkThatSwallowsLongPacketsIsNamed_E04() {
        PacketFilter narrow =
                (toTarget, packet, index) -> packet.limit() > 1400 ? Verdict.DROP : Verdict.FORWARD;
        DeviceLimits wide = DeviceLimits.defaults().toBuilder().payloadMtu(4096).build();
        try (UdpPair pair = through(narrow, wide, MIB)) {
            pair.write(1, 0, 1000);
            pair.expectSends(1);
            pair.write(2, 0, MIB);
            pair.await("failed", () -> pair.clientEnd.connection.state() == ConnectionState.FAILED);

            assertThat(pair.clientEnd.connection.failure())
                    .contains("packets of 4,148 bytes do not get through")
                    .contains("those of up to 1,052 bytes do");
        }
    }
}
