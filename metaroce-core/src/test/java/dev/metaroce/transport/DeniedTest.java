package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.CounterId;
import dev.metaroce.testing.Lab;
import dev.metaroce.testing.Pair;
import dev.metaroce.testing.RawPacket;
import dev.metaroce.verbs.Connection;
import dev.metaroce.wire.ControlOpcode;

import org.junit.jupiter.api.Test;

import java.util.Objects;

/** Initiators that are refused for a while. */
class DeniedTest {
    private static final long MS = 1_000_000;
    private static final long SECOND = 1_000 * MS;

    /**
     * The only context is held for two seconds. The time spent refused is not a round-trip time,
     * else the first time-out after the grant would take as long.
     */
    @Test
    void theTimeSpentRefusedIsNoRoundTripTime() {
        DeviceLimits limits =
                DeviceLimits.defaults().toBuilder()
                        .contexts(1)
                        .policy(ExhaustionPolicy.DENY)
                        .build();
        Pair pair = new Pair(1, limits, 1, 1 << 20).connect();
        // A SEND without a receive keeps the client's lease busy.
        pair.send(0, 1, 0, 4096);
        Lab.Node late = pair.lab.add(DeviceLimits.defaults());
        pair.server.device.listen(8, request -> request.accept());
        Connection connection = late.device.connect(pair.server.address, 8, new byte[0]);
        pair.lab.advance(2 * SECOND);
        pair.receive(0, 1, 0, 4096);
        pair.expectSends(1, SECOND);
        pair.lab.expect(
                "the late client's lease",
                () -> connection.state() == ConnectionState.OPEN,
                SECOND);
        assertThat(pair.server.count(CounterId.DENIED)).isGreaterThan(100);

        TransportConnection transport = late.engine.metaRoce().device().connection(0);
        long srttNs = Objects.requireNonNull(transport.lease).states[0].rtt().srttNs();
        assertThat(srttNs).isBetween(1L, 100 * MS);
    }

    /**
     * After five seconds in line the server loses sight of the client for a while and drops it. The
     * client is told that its request is finished, and may not take the five seconds for a refusal.
     */
    @Test
    void theTimeSpentInLineIsNoRefusal() {
        DeviceLimits limits =
                DeviceLimits.defaults().toBuilder()
                        .contexts(1)
                        .quotaBytes(1L << 40)
                        .quotaTimeNs(3_600 * SECOND)
                        .giveUpNs(60 * SECOND)
                        .build();
        Pair pair = new Pair(1, limits, 1, 1 << 20).connect();
        pair.send(0, 1, 0, 4096);
        pair.lab.advance(MS);
        Lab.Node late = pair.lab.add(DeviceLimits.defaults());
        pair.server.device.listen(8, request -> request.accept());
        Connection connection = late.device.connect(pair.server.address, 8, new byte[0]);
        pair.lab.advance(5 * SECOND);
        assertThat(pair.server.engine.metaRoce().pool().waiting()).isEqualTo(1);
        pair.lab.addFault(packet -> packet.from == late ? 0 : 1);
        pair.lab.advance(5 * SECOND / 2);
        assertThat(pair.server.engine.metaRoce().pool().waiting()).isZero();
        pair.lab.heal();
        pair.lab.advance(SECOND);
        assertThat(connection.failure()).isEmpty();
        assertThat(pair.server.engine.metaRoce().pool().waiting()).isEqualTo(1);

        pair.receive(0, 1, 0, 4096);
        pair.lab.expect(
                "the late client's lease",
                () -> connection.state() == ConnectionState.OPEN,
                SECOND);
    }

    /** Seven requests are lost. The second and more until the answer is no round trip either. */
    @Test
    void aLateAnswerIsNoLongRoundTrip() {
        Pair pair = new Pair(1, DeviceLimits.defaults(), 1, 1 << 16);
        int[] requests = new int[1];
        pair.lab.addFault(
                packet -> {
                    boolean request = RawPacket.is(packet.bytes, ControlOpcode.REQUEST);
                    return request && ++requests[0] <= 7 ? 0 : 1;
                });
        pair.connect();
        pair.clientEnd.fill(pair.lab.rng("data"));
        boolean[] lost = new boolean[1];
        pair.lab.addFault(
                packet -> {
                    boolean first = RawPacket.isData(packet.bytes) && !lost[0];
                    lost[0] |= first;
                    return first ? 0 : 1;
                });
        long start = pair.lab.nowNs();
        pair.write(0, 1, 0, 64);
        pair.expectSends(1, SECOND);

        assertThat(pair.lab.nowNs() - start).isLessThan(20 * MS);
    }
}
