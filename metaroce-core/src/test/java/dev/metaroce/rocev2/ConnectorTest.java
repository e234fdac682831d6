package dev.metaroce.rocev2;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.metaroce.testing.Lab;
import dev.metaroce.transport.ConnectionState;
import dev.metaroce.util.Rng;
import dev.metaroce.verbs.Connection;
import dev.metaroce.wire.roce.CmMessage;

import org.junit.jupiter.api.Test;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Connections made by messages to queue pair 1: every message lost, repeated or late. */
class ConnectorTest extends ConnectorLab {
    @Test
    void threeMessagesConnect() {
        serve(1);
        Connection c = dial();

        expect(c, ConnectionState.OPEN, SECOND_NS);
        lab.expect("accepted", () -> accepted.get(0).state() == ConnectionState.OPEN, SECOND_NS);

        assertThat(said).containsExactly("> Req", "< Rep", "> Rtu");
        assertThat(c.payloadMtu()).isEqualTo(4_096);
        transfer(0);
        assertThat(said).hasSize(3);
    }

    @Test
    void privateDataGoesBothWaysWithZerosBehind() {
        List<byte[]> asked = new ArrayList<>();
        serve(
                request -> {
                    asked.add(request.privateData());
                    serverEnd.add(request.connection());
                    request.accept(new byte[] {5, 6});
                });
        Connection c = dial((byte) 1, (byte) 2, (byte) 3);

        expect(c, ConnectionState.OPEN, SECOND_NS);

        assertThat(asked).containsExactly(Arrays.copyOf(new byte[] {1, 2, 3}, 56));
        assertThat(c.peerPrivateData()).isEqualTo(Arrays.copyOf(new byte[] {5, 6}, 196));
        assertThatThrownBy(() -> dial(new byte[57])).hasMessageContaining("at most 56");
    }

    @Test
    void theSmallerPathMtuIsFound() {
        Lab.Node small = node(512);
        End end = new End(small);
        serve(small, end);
        Connection c = client.device.connect(small.address, SERVICE, new byte[0]);
        clientEnd.add(c);

        expect(c, ConnectionState.OPEN, SECOND_NS);

        assertThat(c.payloadMtu()).isEqualTo(512);
        assertThat(said.subList(0, 4)).containsExactly("> Req", "< Rej", "> Req", "< Rej");
    }

    @Test
    void nobodyListens() {
        Connection c = dial();

        expect(c, ConnectionState.FAILED, SECOND_NS);

        assertThat(c.failure()).contains("nobody listens");
        assertThat(said).containsExactly("> Req", "< Rej");
    }

    @Test
    void theApplicationRefuses() {
        serve(request -> request.reject(new byte[] {9}));
        Connection c = dial();

        expect(c, ConnectionState.FAILED, SECOND_NS);

        assertThat(c.failure()).contains("refused");
        assertThat(c.peerPrivateData()).startsWith(9);
        assertThat(server.engine.contextsInUse()).isZero();
    }

    @Test
    void aLostRequestIsSentAgain() {
        serve(1);
        drop("Req", 3);
        Connection c = dial();

        expect(c, ConnectionState.OPEN, SECOND_NS);

        assertThat(said).containsExactly("> Req", "> Req", "> Req", "> Req", "< Rep", "> Rtu");
        transfer(0);
    }

    @Test
    void aLostAnswerIsSentAgain() {
        serve(1);
        drop("Rep", 2);
        Connection c = dial();

        expect(c, ConnectionState.OPEN, SECOND_NS);

        assertThat(accepted).hasSize(1);
        transfer(0);
    }

    @Test
    void aPacketStandsForALostReadyToUse() {
        serve(1);
        drop("Rtu", 1_000);
        Connection c = dial();
        expect(c, ConnectionState.OPEN, SECOND_NS);
        assertThat(accepted.get(0).state()).isEqualTo(ConnectionState.CONNECTING);

        transfer(0);

        assertThat(accepted.get(0).state()).isEqualTo(ConnectionState.OPEN);
    }

    @Test
    void aLostReadyToUseIsSentAgainForTheRepeatedAnswer() {
        serve(1);
        drop("Rtu", 2);
        dial();

        lab.expect(
                "open at the server",
                () -> !accepted.isEmpty() && accepted.get(0).state() == ConnectionState.OPEN,
                SECOND_NS);

        assertThat(said)
                .containsExactly("> Req", "< Rep", "> Rtu", "< Rep", "> Rtu", "< Rep", "> Rtu");
    }

    @Test
    void duplicatesChangeNothing() {
        serve(1);
        copies = 3;
        Connection c = dial();

        expect(c, ConnectionState.OPEN, SECOND_NS);
        transfer(0);
        c.close();
        expect(c, ConnectionState.CLOSED, SECOND_NS);
        lab.driveUntil(() -> false, 5 * SECOND_NS);

        assertThat(accepted).hasSize(1);
        assertThat(accepted.get(0).state()).isEqualTo(ConnectionState.CLOSED);
        assertThat(client.engine.contextsInUse() + server.engine.contextsInUse()).isZero();
    }

    @Test
    void nobodyAnswers() {
        drop("Req", 1_000);
        Connection c = dial();

        expect(c, ConnectionState.FAILED, 60 * SECOND_NS);

        assertThat(c.failure()).contains("no answer after 16 messages");
        assertThat(said).hasSize(16);
    }

    @Test
    void connectingEndsWithItsTime() {
        drop("Req", 1_000);
        Connection c = client.device.connect(server.address, SERVICE, new byte[0], SECOND_NS);
        clientEnd.add(c);
        long startNs = lab.nowNs();

        expect(c, ConnectionState.FAILED, 3 * SECOND_NS);

        assertThat(lab.nowNs() - startNs).isEqualTo(SECOND_NS);
    }

    @Test
    void theApplicationMayTakeItsTime() {
        serve(held::add);
        Connection c = dial();
        lab.driveUntil(() -> false, 3 * SECOND_NS);
        assertThat(c.state()).isEqualTo(ConnectionState.CONNECTING);
        assertThat(held).hasSize(1);

        serverEnd.add(held.get(0).connection());
        held.get(0).accept();
        expect(c, ConnectionState.OPEN, SECOND_NS);

        assertThat(said).startsWith("> Req", "< Mra");
        transfer(0);
    }

    @Test
    void aSlowApplicationLosesItsPeer() {
        serve(held::add);
        Connection c = dial();

        expect(c, ConnectionState.FAILED, 20 * SECOND_NS);

        assertThat(c.failure()).contains("waited for too long");
        assertThat(held.get(0).isWithdrawn()).isTrue();
    }

    @Test
    void aQueuePairMayComeAfterTheAnswer() {
        serve(request -> accepted.add(request.accept()));
        Connection c = client.device.connect(server.address, SERVICE, new byte[0]);
        lab.driveUntil(() -> false, SECOND_NS);
        assertThat(said).isEmpty();

        clientEnd.add(c);
        lab.driveUntil(() -> false, SECOND_NS / 100);
        assertThat(c.state()).isEqualTo(ConnectionState.CONNECTING);
        serverEnd.add(accepted.get(0));
        expect(c, ConnectionState.OPEN, SECOND_NS);

        transfer(0);
    }

    @Test
    void furtherQueuePairsFollow() {
        serve(3);
        Connection c = dial();
        clientEnd.add(c);
        expect(c, ConnectionState.OPEN, SECOND_NS);
        transfer(1);
        clientEnd.add(c);
        transfer(2);
        transfer(0);

        assertThat(said).hasSize(9);
        assertThat(accepted).hasSize(1);
        closeAtBothEnds(c);
    }

    @Test
    void aFurtherQueuePairWaitsForThatOfThePeer() {
        serve(1);
        Connection c = dial();
        clientEnd.add(c);
        expect(c, ConnectionState.OPEN, SECOND_NS);
        lab.driveUntil(() -> false, SECOND_NS);

        serverEnd.add(accepted.get(0));
        lab.driveUntil(() -> false, 2 * SECOND_NS);

        transfer(1);
    }

    @Test
    void aPeerThatRestartedMayUseItsNumbersAgain() {
        serve(1);
        dial();
        lab.expect("open", () -> accepted.size() == 1, SECOND_NS);
        Connection before = accepted.get(0);
        expect(before, ConnectionState.OPEN, SECOND_NS);

        CmMessage.Req again = requests.get(0);
        inject(again);
        assertThat(accepted).hasSize(1);
        inject(withTransaction(again, again.transactionId() + 1));

        assertThat(before.state()).isEqualTo(ConnectionState.CLOSED);
        assertThat(accepted).hasSize(2);
    }

    @Test
    void inventedMessagesDoNoHarm() {
        serve(
                request -> {
                    if (accepted.isEmpty()) {
                        serverEnd.add(request.connection());
                        accepted.add(request.accept());
                    } else {
                        held.add(request);
                    }
                });
        Connection c = dial();
        expect(c, ConnectionState.OPEN, SECOND_NS);
        Rng rng = lab.rng("messages");
        Lab.Node stranger = node(1_024);
        for (int i = 0; i < 20_000; i++) {
            byte[] mad = new byte[256];
            for (int at = 8; at < mad.length; at++) {
                mad[at] = (byte) rng.nextInt();
            }
            ByteBuffer.wrap(mad).putInt(0x0107_0203).putInt(0);
            ByteBuffer.wrap(mad).putShort(16, (short) (0x10 + rng.nextInt(7)));
            if (rng.chance(0.5)) {
                ByteBuffer.wrap(mad).putLong(32, rng.chance(0.5) ? 0x0106_0000L + SERVICE : 0);
                mad[24 + 43] = 0;
                mad[24 + 50] = (byte) (rng.nextInt(8) << 4);
            }
            Lab.Node to = rng.chance(0.5) ? server : client;
            lab.deliverNow(stranger.address, to, packet(mad, stranger.address, to.address));
        }
        assertThat(held).as("some were offered").isNotEmpty();
        transfer(0);
        assertThat(c.state()).isEqualTo(ConnectionState.OPEN);
        assertThat(accepted.get(0).state()).isEqualTo(ConnectionState.OPEN);
    }

    private static CmMessage.Req withTransaction(CmMessage.Req r, long transactionId) {
        return new CmMessage.Req(
                transactionId,
                r.localId(),
                r.serviceId(),
                r.guid(),
                r.qpn(),
                r.psn(),
                r.responderResources(),
                r.initiatorDepth(),
                r.cmTimeout(),
                r.flowControl(),
                r.retryCount(),
                r.rnrRetry(),
                r.pkey(),
                r.mtu(),
                r.cmRetries(),
                r.shared(),
                r.local(),
                r.remote(),
                r.flowLabel(),
                r.trafficClass(),
                r.hopLimit(),
                r.ackTimeout(),
                r.privateData());
    }
}
