package dev.metaroce.rocev2;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.transport.ConnectionState;
import dev.metaroce.verbs.Connection;
import dev.metaroce.verbs.QueuePair;
import dev.metaroce.wire.roce.CmMessage;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** How connections that messages made end, or one of their queue pairs, and who is told. */
class ConnectorClosingTest extends ConnectorLab {
    /** A connection with one queue pair, over which something was sent. */
    private Connection used() {
        serve(1);
        Connection c = dial();
        expect(c, ConnectionState.OPEN, SECOND_NS);
        transfer(0);
        said.clear();
        return c;
    }

    @Test
    void whoClosesTellsThePeer() {
        Connection c = used();

        c.close();
        expect(c, ConnectionState.CLOSED, SECOND_NS);
        expect(accepted.get(0), ConnectionState.CLOSED, SECOND_NS);

        assertThat(said).containsExactly("> Dreq", "< Drep");
    }

    @Test
    void goodbyesAreRepeatedAndGivenUp() {
        Connection c = used();
        drop("Dreq", 2);
        c.close();
        expect(c, ConnectionState.CLOSED, SECOND_NS);
        assertThat(said).containsExactly("> Dreq", "> Dreq", "> Dreq", "< Drep");

        Connection second = dial();
        expect(second, ConnectionState.OPEN, SECOND_NS);
        server.kill();
        second.close();
        expect(second, ConnectionState.CLOSED, 10 * SECOND_NS);
    }

    @Test
    void bothEndsClose() {
        Connection c = used();

        c.close();
        accepted.get(0).close();
        expect(c, ConnectionState.CLOSED, SECOND_NS);
        expect(accepted.get(0), ConnectionState.CLOSED, SECOND_NS);

        assertThat(said).contains("> Dreq", "< Dreq");
    }

    @Test
    void whoChangesHisMindTellsThePeer() {
        serve(held::add);
        Connection c = dial();
        lab.expect("offered", () -> !held.isEmpty(), SECOND_NS);

        c.close();
        lab.expect("withdrawn", () -> held.get(0).isWithdrawn(), SECOND_NS);

        assertThat(c.state()).isEqualTo(ConnectionState.CLOSED);
        assertThat(said).endsWith("> Rej");
    }

    @Test
    void aConnectionThatBreaksTellsThePeerIfItIsThere() {
        Connection c = used();
        lab.addFault(packet -> packet.bytes.length == CmMessage.PACKET_BYTES ? 1 : 0);

        clientEnd.pairs.get(0).postSend(1, clientEnd.region, 0, 100);
        expect(c, ConnectionState.FAILED, 10 * SECOND_NS);
        expect(accepted.get(0), ConnectionState.CLOSED, SECOND_NS);

        assertThat(said).containsExactly("> Dreq", "< Drep");
    }

    @Test
    void aQueuePairClosedBeforeTheRequestEndsTheConnection() {
        Connection c = dial();
        clientEnd.pairs.get(0).close();

        expect(c, ConnectionState.FAILED, SECOND_NS);

        assertThat(c.failure()).contains("its first queue pair was closed before");
        assertThat(said).isEmpty();
        assertThat(client.engine.contextsInUse()).isZero();
    }

    @Test
    void aQueuePairClosedBeforeTheAnswerEndsTheConnectionAtBothEnds() {
        serve(held::add);
        Connection c = dial();
        lab.expect("offered", () -> !held.isEmpty(), SECOND_NS);

        clientEnd.pairs.get(0).close();
        expect(c, ConnectionState.FAILED, SECOND_NS);
        lab.expect("withdrawn", () -> held.get(0).isWithdrawn(), SECOND_NS);

        assertThat(said).endsWith("> Rej");
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aQueuePairOfWhoListensClosedTooEarlyEndsTheConnectionAtBothEnds(boolean replied) {
        serve(
                request -> {
                    QueuePair pair = serverEnd.add(request.connection());
                    accepted.add(request.connection());
                    if (!replied) {
                        pair.close();
                    }
                    request.accept();
                });
        drop("Rtu", 1_000);
        Connection c = dial();
        lab.expect("offered", () -> !accepted.isEmpty(), SECOND_NS);
        if (replied) {
            expect(c, ConnectionState.OPEN, SECOND_NS);
            serverEnd.pairs.get(0).close();
        }

        expect(accepted.get(0), ConnectionState.FAILED, SECOND_NS);
        expect(c, replied ? ConnectionState.CLOSED : ConnectionState.FAILED, SECOND_NS);

        assertThat(client.engine.contextsInUse() + server.engine.contextsInUse()).isZero();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aFurtherQueuePairThatIsClosedTellsThatOfThePeer(boolean byWhoDialled) {
        serve(3);
        Connection c = dial();
        clientEnd.add(c);
        clientEnd.add(c);
        expect(c, ConnectionState.OPEN, SECOND_NS);
        transfer(1);
        transfer(2);
        said.clear();
        End from = byWhoDialled ? clientEnd : serverEnd;
        End to = byWhoDialled ? serverEnd : clientEnd;
        to.pairs.get(1).postReceive(7, to.region, 0, 100);

        from.pairs.get(1).close();
        lab.expect("told", () -> to.pairs.get(1).inError(), SECOND_NS);

        assertThat(to.flushed()).isEqualTo(1);
        to.pairs.get(1).postSend(8, to.region, 0, 100);
        lab.expect("flushed at once", () -> to.flushed() == 1, SECOND_NS);
        assertThat(said)
                .containsExactly(
                        byWhoDialled ? "> Dreq" : "< Dreq", byWhoDialled ? "< Drep" : "> Drep");
        transfer(2);
        transfer(0);
        to.pairs.get(1).close();
        lab.driveUntil(() -> false, 5 * SECOND_NS);
        assertThat(said).hasSize(2);
        assertThat(client.engine.contextsInUse()).isEqualTo(2);
        assertThat(server.engine.contextsInUse()).isEqualTo(2);
        closeAtBothEnds(c);
    }

    @Test
    void bothEndsMayCloseAFurtherQueuePair() {
        serve(2);
        Connection c = dial();
        clientEnd.add(c);
        expect(c, ConnectionState.OPEN, SECOND_NS);
        transfer(1);

        clientEnd.pairs.get(1).close();
        serverEnd.pairs.get(1).close();
        lab.driveUntil(() -> false, 5 * SECOND_NS);

        assertThat(client.engine.contextsInUse() + server.engine.contextsInUse()).isEqualTo(2);
        transfer(0);
    }

    /** Its peer asked for it, or was asked, and learns that nothing comes of it. */
    @Test
    void aFurtherQueuePairMayBeClosedBeforeItIsConnected() {
        serve(1);
        Connection c = dial();
        clientEnd.add(c);
        expect(c, ConnectionState.OPEN, SECOND_NS);
        said.clear();
        lab.expect("asked", () -> said.contains("> Req"), SECOND_NS);

        clientEnd.pairs.get(1).close();
        lab.driveUntil(() -> false, 60 * SECOND_NS);
        assertThat(said).endsWith("> Rej");
        assertThat(client.engine.contextsInUse()).isEqualTo(1);
        c.close();
        expect(c, ConnectionState.CLOSED, SECOND_NS);
        assertThat(client.engine.contextsInUse()).isZero();
    }
}
