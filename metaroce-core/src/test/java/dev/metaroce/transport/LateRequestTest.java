package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.CounterId;
import dev.metaroce.testing.Lab;
import dev.metaroce.testing.Occupant;
import dev.metaroce.testing.Pair;
import dev.metaroce.testing.RawPacket;
import dev.metaroce.verbs.Connection;
import dev.metaroce.wire.ControlMessage;
import dev.metaroce.wire.ControlOpcode;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** Copies of requests that come when their sender has long gone on. */
class LateRequestTest {
    private static final long MS = 1_000_000;
    private static final long SECOND = 1_000 * MS;

    private static List<Lab.Packet> recordRequests(Pair pair) {
        List<Lab.Packet> requests = new ArrayList<>();
        pair.lab.addFault(
                packet -> {
                    if (packet.from == pair.client
                            && RawPacket.is(packet.bytes, ControlOpcode.REQUEST)) {
                        requests.add(pair.lab.copy(packet, packet.bytes.clone()));
                    }
                    return 1;
                });
        return requests;
    }

    /**
     * A request is refused; the client asks anew and is served. Then a late copy of the refused
     * request comes while its data flows: it must neither get a context nor disturb the numbering
     * of messages.
     */
    @Test
    void aLateCopyOfARefusedRequestDisturbsNothing() {
        DeviceLimits limits =
                DeviceLimits.defaults().toBuilder()
                        .contexts(2)
                        .policy(ExhaustionPolicy.DENY)
                        .build();
        Pair pair = new Pair(1, limits, 1, 4 << 20).connect();
        pair.clientEnd.fill(pair.lab.rng("data"));
        pair.expectNoContexts(SECOND);
        Occupant first = new Occupant(pair.lab, pair.server, 1);
        Occupant second = new Occupant(pair.lab, pair.server, 2);
        List<Lab.Packet> requests = recordRequests(pair);
        pair.write(0, 0, 0, 4096);
        pair.lab.advance(30 * MS);
        Lab.Packet refused = requests.getLast();
        first.leave();
        second.leave();
        pair.expectSends(1, SECOND);

        pair.lab.link(1_000_000_000L, MS, 100 * MS);
        for (int i = 1; i < 16; i++) {
            pair.write(0, i, i << 18, 1 << 18);
        }
        pair.lab.advance(MS);
        assertThat(pair.server.device.contextsInUse()).isEqualTo(1);
        pair.lab.inject(refused);
        pair.lab.advance(5 * MS);
        assertThat(pair.server.device.contextsInUse()).isEqualTo(1);
        pair.expectSends(16, SECOND);

        assertThat(pair.server.count(CounterId.GRANT_UNUSED)).isZero();
        assertThat(
                        pair.clientEnd
                                .region
                                .segment()
                                .asSlice(1 << 18)
                                .mismatch(pair.serverEnd.region.segment().asSlice(1 << 18)))
                .isEqualTo(-1);
    }

    /**
     * What the model in the directory model found: a late GRANT is answered with RELEASE, and both
     * together may be slow enough for its token to have come round. MR-3.3-14
     */
    @Test
    void aLateReleaseOfAnEarlierLeaseEndsNoOther() {
        DeviceLimits limits = DeviceLimits.defaults().toBuilder().contexts(1).build();
        Pair pair = new Pair(1, limits, 1, 4 << 20);
        List<Lab.Packet> releases = new ArrayList<>();
        int[] token = {0};
        pair.lab.addFault(
                packet -> {
                    if (RawPacket.is(packet.bytes, ControlOpcode.RELEASE)) {
                        releases.add(pair.lab.copy(packet, packet.bytes.clone()));
                    } else if (RawPacket.isData(packet.bytes)) {
                        token[0] = RawPacket.ctx(packet.bytes);
                    }
                    return 1;
                });
        pair.connect();
        pair.clientEnd.fill(pair.lab.rng("data"));
        pair.expectNoContexts(SECOND);
        assertThat(releases).isNotEmpty();

        pair.lab.link(1_000_000_000L, MS, 100 * MS);
        pair.write(0, 1, 0, 4 << 20);
        pair.lab.advance(10 * MS);
        assertThat(pair.server.device.contextsInUse()).isEqualTo(1);
        byte[] late = releases.getFirst().bytes;
        ByteBuffer.wrap(late).putShort(2, (short) token[0]);
        pair.lab.deliverNow(pair.client.address, pair.server, RawPacket.seal(late));
        assertThat(pair.server.device.contextsInUse()).isEqualTo(1);
        pair.expectSends(1, SECOND);

        assertThat(pair.mismatch()).isEqualTo(-1);
        assertThat(pair.server.count(CounterId.RESETS_SENT)).isZero();
    }

    /**
     * All six RELEASEs are lost. The client takes its lease as given back; the server is told so.
     */
    @Test
    void aNewRequestGivesBackTheContextWhoseReleaseWasLost() {
        DeviceLimits limits =
                DeviceLimits.defaults().toBuilder().contexts(1).packetLifetimeNs(10 * MS).build();
        Pair pair = new Pair(1, limits, 1, 1 << 16);
        pair.clientEnd.fill(pair.lab.rng("data"));
        pair.lab.addFault(packet -> RawPacket.is(packet.bytes, ControlOpcode.RELEASE) ? 0 : 1);
        pair.connect();
        pair.write(0, 1, 0, 1 << 15);
        pair.expectSends(1, SECOND);
        pair.lab.advance(SECOND);
        assertThat(pair.clientEnd.connection.cid()).isEqualTo(-1);
        assertThat(pair.server.device.contextsInUse()).isEqualTo(1);

        pair.write(0, 2, 1 << 15, 1 << 15);
        pair.expectSends(2, 250 * MS);
        assertThat(pair.mismatch()).isEqualTo(-1);
        assertThat(pair.server.device.contextsInUse()).isEqualTo(1);
    }

    /**
     * Someone waits for the context whose six RELEASEs were lost: its last holder is asked, and
     * says.
     */
    @Test
    void aHolderThatGaveItsContextBackSaysSoWhenAskedForIt() {
        DeviceLimits limits =
                DeviceLimits.defaults().toBuilder().contexts(1).packetLifetimeNs(10 * MS).build();
        Pair pair = new Pair(1, limits, 1, 1 << 16);
        pair.lab.addFault(
                packet -> {
                    boolean named =
                            packet.bytes.length > ControlMessage.bytes(ControlOpcode.RELEASE);
                    return named && RawPacket.is(packet.bytes, ControlOpcode.RELEASE) ? 0 : 1;
                });
        pair.connect();
        pair.write(0, 1, 0, 1 << 15);
        pair.expectSends(1, SECOND);
        pair.lab.advance(SECOND);
        Lab.Node other = pair.lab.add(DeviceLimits.defaults());
        pair.server.device.listen(8, request -> request.accept());
        Connection connection = other.device.connect(pair.server.address, 8, new byte[0]);

        pair.lab.expect("the context", () -> connection.state() == ConnectionState.OPEN, 300 * MS);
    }

    /**
     * A dialler is refused for want of a context and gives up, or its application does. The server,
     * whose service had accepted, is told; and a late copy of the request opens nothing again.
     */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void whatADiallerGaveUpLeavesNothingAtTheServer(boolean closes) {
        DeviceLimits limits =
                DeviceLimits.defaults().toBuilder()
                        .contexts(1)
                        .policy(ExhaustionPolicy.DENY)
                        .build();
        Pair pair = new Pair(1, limits, 1, 4096).connect();
        pair.expectNoContexts(SECOND);
        Occupant occupant = new Occupant(pair.lab, pair.server, 1);
        List<Connection> accepted = new ArrayList<>();
        pair.server.device.listen(
                8,
                request -> {
                    accepted.add(request.connection());
                    request.accept();
                });
        List<Lab.Packet> requests = recordRequests(pair);
        Connection dialed = pair.client.device.connect(pair.server.address, 8, new byte[0]);
        if (closes) {
            pair.lab.advance(50 * MS);
            dialed.close();
        }
        ConnectionState last = closes ? ConnectionState.CLOSED : ConnectionState.FAILED;
        pair.lab.expect("given up", () -> dialed.state() == last, 10 * SECOND);
        pair.lab.advance(MS);
        assertThat(accepted)
                .singleElement()
                .matches(connection -> connection.state() == ConnectionState.CLOSED);

        occupant.leave();
        pair.lab.inject(requests.getLast());
        pair.lab.advance(MS);
        assertThat(accepted).hasSize(1);
        assertThat(pair.server.device.contextsInUse()).isZero();
    }
}
