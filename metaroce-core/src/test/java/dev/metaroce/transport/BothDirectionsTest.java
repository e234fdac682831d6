package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.CounterId;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.testing.Lab;
import dev.metaroce.testing.Pair;
import dev.metaroce.testing.RawPacket;
import dev.metaroce.verbs.CompletionQueue;
import dev.metaroce.verbs.Connection;
import dev.metaroce.verbs.ProtectionDomain;
import dev.metaroce.wire.ControlOpcode;

import org.junit.jupiter.api.Test;

/** Connections on which both sides post work, each under a lease of its own. */
class BothDirectionsTest {
    private static final long MS = 1_000_000;
    private static final long SECOND = 1_000 * MS;

    /**
     * The side that accepted posts at once, and its REQUEST overtakes the GRANT that would tell the
     * dialler of the connection.
     */
    @Test
    void theAcceptorMayAskBeforeTheDiallerKnowsItWasAccepted() {
        Pair pair = new Pair(1, DeviceLimits.defaults(), 1, 1 << 20);
        int[] grants = new int[1];
        pair.lab.addFault(
                packet -> {
                    boolean grant = RawPacket.is(packet.bytes, ControlOpcode.GRANT);
                    return grant && grants[0]++ < 2 ? 0 : 1;
                });
        pair.serverEnd.fill(pair.lab.rng("data"));
        pair.lab.driveUntil(() -> pair.serverEnd.connection != null, SECOND);
        Pair.must(
                5,
                pair.serverEnd
                        .qp()
                        .postWrite(
                                5,
                                pair.serverEnd.region,
                                0,
                                1 << 20,
                                pair.clientEnd.region.address(),
                                pair.clientEnd.region.rkey()));
        pair.lab.expect(
                "the server's write",
                () -> {
                    pair.serverEnd.poll();
                    return !pair.serverEnd.sends.isEmpty();
                },
                SECOND);

        assertThat(pair.serverEnd.sends.get(0).status()).isEqualTo(WcStatus.SUCCESS);
        assertThat(pair.mismatch()).isEqualTo(-1);
        assertThat(pair.server.count(CounterId.CONNECTIONS_FAILED)).isZero();
        assertThat(pair.clientEnd.connection.state()).isEqualTo(ConnectionState.OPEN);
    }

    @Test
    void bothSidesWriteAtTheSameTime() {
        Pair pair = new Pair(2, DeviceLimits.defaults(), 2, 4 << 20).connect();
        pair.clientEnd.fill(pair.lab.rng("client"));
        pair.serverEnd.fill(pair.lab.rng("server"));
        long half = 2 << 20;
        pair.write(0, 1, 0, half);
        Pair.must(
                2,
                pair.serverEnd
                        .pairs
                        .get(1)
                        .postWrite(
                                2,
                                pair.serverEnd.region,
                                half,
                                half,
                                pair.clientEnd.region.address() + half,
                                pair.clientEnd.region.rkey()));
        pair.expectSends(1, SECOND);
        pair.lab.expect(
                "the server's write",
                () -> {
                    pair.serverEnd.poll();
                    return !pair.serverEnd.sends.isEmpty();
                },
                SECOND);

        assertThat(pair.mismatch()).isEqualTo(-1);
        assertThat(pair.client.device.contextsInUse()).isEqualTo(1);
        assertThat(pair.server.device.contextsInUse()).isEqualTo(1);
        pair.expectNoContexts(SECOND);
    }

    /** The only context of the server is busy, so the dialler waits in line; its own is free. */
    @Test
    void theAcceptorNeedNotWaitForTheDiallersTurnInLine() {
        DeviceLimits limits =
                DeviceLimits.defaults().toBuilder()
                        .contexts(1)
                        .quotaBytes(1L << 40)
                        .quotaTimeNs(3_600 * SECOND)
                        .giveUpNs(60 * SECOND)
                        .build();
        Pair pair = new Pair(3, limits, 1, 1 << 16).connect();
        // A SEND without a receive keeps the context busy.
        pair.send(0, 1, 0, 64);
        pair.lab.advance(MS);
        Lab.Node late = pair.lab.add(DeviceLimits.defaults());
        Connection[] accepted = new Connection[1];
        pair.server.device.listen(
                8,
                request -> {
                    accepted[0] = request.connection();
                    request.accept();
                });
        Connection dialed = late.device.connect(pair.server.address, 8, new byte[0]);
        ProtectionDomain domain = late.device.allocProtectionDomain();
        CompletionQueue queue = late.device.createCompletionQueue(8);
        dialed.createQueuePair(domain, queue, queue, 4, 4).postReceive(77);
        pair.lab.driveUntil(() -> accepted[0] != null, SECOND);
        CompletionQueue sends = pair.server.device.createCompletionQueue(8);
        accepted[0]
                .createQueuePair(pair.serverEnd.domain, sends, sends, 4, 4)
                .postSend(5, pair.serverEnd.region, 0, 0);
        pair.lab.expect("the server's send", () -> sends.size() == 1, SECOND);

        WorkCompletion wc = new WorkCompletion();
        sends.poll(wc);
        assertThat(wc.status()).isEqualTo(WcStatus.SUCCESS);
        assertThat(dialed.state()).isEqualTo(ConnectionState.CONNECTING);
        pair.receive(0, 1, 0, 64);
        pair.lab.expect("connected", () -> dialed.state() == ConnectionState.OPEN, SECOND);
    }
}
