package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.ring.WcStatus;
import dev.metaroce.testing.Lab;
import dev.metaroce.testing.Pair;
import dev.metaroce.testing.RawPacket;
import dev.metaroce.wire.ControlMessage;
import dev.metaroce.wire.ControlOpcode;
import dev.metaroce.wire.PacketMemory;
import dev.metaroce.wire.ResetReason;

import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/** Closing a connection, whatever it is doing. */
class CloseTest {
    private static final long MS = 1_000_000;
    private static final long SECOND = 1_000 * MS;

    private final Pair pair = new Pair(1, DeviceLimits.defaults(), 1, 1 << 20);

    private void expectClosed() {
        pair.lab.expect(
                "client closed",
                () -> pair.clientEnd.connection.state() == ConnectionState.CLOSED,
                5 * SECOND);
    }

    @Test
    void workPostedWhileConnectingIsFinishedBeforeTheConnectionCloses() {
        pair.clientEnd.fill(pair.lab.rng("data"));
        pair.write(0, 1, 0, 1 << 20);
        pair.clientEnd.connection.close();

        expectClosed();
        pair.expectSends(1, 1);
        assertThat(pair.mismatch()).isEqualTo(-1);
        assertThat(pair.serverEnd.connection.state()).isEqualTo(ConnectionState.CLOSED);
    }

    @Test
    void workPostedWhileConnectingFailsWhenThePeerNeverAnswers() {
        pair.server.kill();
        pair.write(0, 1, 0, 1 << 20);
        pair.clientEnd.connection.close();
        pair.lab.expect(
                "client failed",
                () -> pair.clientEnd.connection.state() == ConnectionState.FAILED,
                5 * SECOND);
        pair.clientEnd.poll();

        assertThat(pair.clientEnd.sends)
                .singleElement()
                .matches(wc -> wc.status() == WcStatus.RETRY_EXCEEDED_ERROR);
    }

    @Test
    void aConnectionWithoutWorkIsClosedAtOnceWhileConnecting() {
        List<Lab.Packet> grants = new ArrayList<>();
        pair.lab.addFault(
                packet -> {
                    boolean grant = RawPacket.is(packet.bytes, ControlOpcode.GRANT);
                    if (grant) {
                        grants.add(packet);
                    }
                    return grant ? 0 : 1;
                });
        pair.lab.driveUntil(() -> !grants.isEmpty(), SECOND);
        pair.clientEnd.connection.close();
        pair.lab.advance(MS);
        assertThat(pair.clientEnd.connection.state()).isEqualTo(ConnectionState.CLOSED);

        // The late answer opens nothing.
        pair.lab.heal();
        pair.lab.inject(grants.get(0));
        pair.lab.advance(MS);
        assertThat(pair.clientEnd.connection.cid()).isEqualTo(-1);
        pair.expectNoContexts(2 * SECOND);
    }

    @Test
    void workPostedRightBeforeTheCloseOfAnIdleConnectionIsFinished() {
        pair.connect();
        pair.lab.advance(SECOND);
        assertThat(pair.clientEnd.connection.cid()).isEqualTo(-1);
        pair.clientEnd.fill(pair.lab.rng("data"));
        pair.write(0, 1, 0, 1 << 20);
        pair.clientEnd.connection.close();

        expectClosed();
        pair.expectSends(1, 1);
        assertThat(pair.mismatch()).isEqualTo(-1);
    }

    /**
     * The server restarts while the client gives its lease back, so that a RESET answers the client
     * in place of a RELEASE_ACK.
     */
    @Test
    void aResetWhileClosingDoesNotKeepTheConnectionFromClosing() {
        pair.connect();
        pair.write(0, 1, 0, 4096);
        pair.expectSends(1, SECOND);
        TxLease lease = lease(pair);
        pair.lab.addFault(packet -> packet.from == pair.client ? 0 : 1);
        pair.clientEnd.connection.close();
        pair.lab.advance(MS);
        assertThat(pair.clientEnd.connection.state()).isEqualTo(ConnectionState.CLOSING);

        PacketMemory memory = new PacketMemory(64);
        int bytes =
                ControlMessage.encodeReset(
                        memory,
                        0,
                        0,
                        Integer.toUnsignedLong(lease.paths[0].una()),
                        ResetReason.UNKNOWN_CONTEXT,
                        lease.cid,
                        lease.epoch,
                        7);
        byte[] reset = new byte[bytes];
        memory.bytes().get(0, reset);
        pair.lab.inject(pair.server.address, pair.client, reset);
        pair.lab.advance(MS);
        pair.lab.heal();

        expectClosed();
    }

    private static TxLease lease(Pair pair) {
        TransportConnection connection = pair.client.engine.metaRoce().device().connection(0);
        return Objects.requireNonNull(Objects.requireNonNull(connection).lease);
    }
}
