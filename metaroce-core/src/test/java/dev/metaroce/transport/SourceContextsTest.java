package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.CounterId;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.testing.Lab;
import dev.metaroce.testing.Pair;
import dev.metaroce.testing.RawPacket;
import dev.metaroce.wire.ControlOpcode;
import dev.metaroce.wire.NetAddress;

import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Source contexts: who has one, and when. */
class SourceContextsTest {
    private static final long MS = 1_000_000;
    private static final long SECOND = 1_000 * MS;

    private static TransportConnection connection(int id) {
        return new TransportConnection(id, true, NetAddress.ofIpv4(1, 1), 1);
    }

    /** MR-1.2-7: never the same for two, and no more than there are. */
    @Test
    void asManyConnectionsHaveOneAsThereAreNumbers() {
        SourceContexts sources = new SourceContexts();
        List<TransportConnection> all = new ArrayList<>();
        Set<Integer> numbers = new HashSet<>();
        for (int i = 0; i < SourceContexts.MOST; i++) {
            TransportConnection c = connection(i);
            assertThat(sources.give(c)).isTrue();
            numbers.add(c.srcCtx);
            all.add(c);
        }
        assertThat(numbers).hasSize(SourceContexts.MOST).doesNotContain(SourceContexts.NONE);
        TransportConnection late = connection(-1);
        assertThat(sources.give(late)).isFalse();
        assertThat(sources.holder(SourceContexts.NONE)).isNull();

        int first = all.getFirst().srcCtx;
        sources.takeBack(all.getFirst());
        assertThat(sources.holder(first)).isNull();
        assertThat(sources.give(late)).isTrue();
        assertThat(sources.holder(late.srcCtx)).isSameAs(late);
        assertThat(sources.inUse()).isEqualTo(SourceContexts.MOST);
    }

    /** MR-1.2-7: an idle connection has none, and gets one with the next message. */
    @Test
    void aConnectionHasOneWhileItHasALease() {
        Pair pair = new Pair(1, DeviceLimits.defaults(), 1, 1 << 16).connect();
        TransportConnection c = device(pair).connection(0);
        assertThat(c.srcCtx).isNotEqualTo(SourceContexts.NONE);
        pair.expectNoContexts(SECOND);
        pair.lab.advance(100 * MS);
        assertThat(c.srcCtx).isEqualTo(SourceContexts.NONE);

        pair.write(0, 1, 0, 4096);
        pair.expectSends(1, SECOND);
        assertThat(c.srcCtx).isNotEqualTo(SourceContexts.NONE);
    }

    /**
     * Two connections use one number in turn. What was late for the first changes nothing for the
     * second: copies of all that the server told the first come while the second has the number.
     */
    @Test
    void latePacketsOfTheConnectionBeforeFindNothingWrong() {
        Pair pair = new Pair(1, DeviceLimits.defaults(), 1, 1 << 20);
        List<Lab.Packet> told = new ArrayList<>();
        boolean[] recording = {true};
        pair.lab.addFault(
                packet -> {
                    if (recording[0] && packet.from == pair.server) {
                        told.add(pair.lab.copy(packet, packet.bytes.clone()));
                    }
                    return 1;
                });
        pair.connect();
        pair.write(0, 1, 0, 4096);
        pair.expectSends(1, SECOND);
        pair.expectNoContexts(SECOND);
        pair.lab.advance(100 * MS);
        recording[0] = false;
        assertThat(told).anyMatch(packet -> RawPacket.is(packet.bytes, ControlOpcode.GRANT));
        assertThat(told).anyMatch(packet -> RawPacket.isAck(packet.bytes));

        pair.lab.link(1_000_000_000L, MS, 100 * MS);
        Pair.End second = pair.dialAgain();
        second.fill(pair.lab.rng("data"));
        second.qp()
                .postWrite(
                        2,
                        second.region,
                        0,
                        1 << 20,
                        pair.serverEnd.region.address(),
                        pair.serverEnd.region.rkey());
        pair.lab.advance(8 * MS);
        TransportConnection c = device(pair).connection(1);
        assertThat(c.leaseState).isEqualTo(LeaseState.OPEN);
        assertThat(told).anyMatch(packet -> RawPacket.ctx(packet.bytes) == c.srcCtx);
        told.forEach(pair.lab::inject);
        pair.lab.expect(
                "the WRITE of the second",
                () -> {
                    second.poll();
                    return second.sends.size() == 1;
                },
                SECOND);

        assertThat(second.sends.getFirst().status()).isEqualTo(WcStatus.SUCCESS);
        assertThat(second.region.segment().mismatch(pair.serverEnd.region.segment())).isEqualTo(-1);
        assertThat(pair.client.count(CounterId.CONNECTIONS_FAILED)).isZero();
    }

    private static DeviceState device(Pair pair) {
        return pair.client.engine.metaRoce().device();
    }
}
