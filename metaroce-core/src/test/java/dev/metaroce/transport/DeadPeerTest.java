package dev.metaroce.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.CounterId;
import dev.metaroce.testing.Lab;
import dev.metaroce.testing.Pair;
import dev.metaroce.testing.RawPacket;
import dev.metaroce.util.Rng;
import dev.metaroce.verbs.Connection;
import dev.metaroce.wire.ControlMessage;
import dev.metaroce.wire.ControlOpcode;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.PacketMemory;
import dev.metaroce.wire.RequestFields;

import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;

/** What a target keeps of peers that are gone: nothing, after a while. */
class DeadPeerTest {
    private static final long MS = 1_000_000;
    private static final long SECOND = 1_000 * MS;
    private static final DeviceLimits DEFAULTS = DeviceLimits.defaults();

    private static List<Connection> recordAccepted(Lab.Node server) {
        List<Connection> accepted = new ArrayList<>();
        server.device.listen(
                1,
                request -> {
                    accepted.add(request.connection());
                    request.accept();
                });
        return accepted;
    }

    /** The old process had no lease when it died, so no context tells of it. */
    @Test
    void allConnectionsOfARestartedPeerEnd() {
        Lab lab = new Lab(1);
        Lab.Node server = lab.add(DEFAULTS);
        Lab.Node client = lab.add(DEFAULTS);
        List<Connection> accepted = recordAccepted(server);
        for (int i = 0; i < 5; i++) {
            Connection connection = client.device.connect(server.address, 1, new byte[0]);
            lab.expect("open", () -> connection.state() == ConnectionState.OPEN, SECOND);
        }
        lab.advance(SECOND);
        assertThat(server.device.contextsInUse()).isZero();
        Lab.Node again = lab.replace(client, DEFAULTS);
        Connection connection = again.device.connect(server.address, 1, new byte[0]);
        lab.expect("open", () -> connection.state() == ConnectionState.OPEN, SECOND);
        lab.advance(MS);

        assertThat(accepted.subList(0, 5))
                .allMatch(c -> c.state() == ConnectionState.FAILED)
                .allMatch(c -> c.failure().contains("restarted"));
        assertThat(accepted.get(5).state()).isEqualTo(ConnectionState.OPEN);
    }

    /** A device with a fixed seed has the same endpoint id and nonces in its next life. */
    @Test
    void aPeerThatRestartsUnderItsOldNameIsANewPeer() {
        Lab lab = new Lab(1);
        Lab.Node server = lab.add(DEFAULTS);
        List<Connection> accepted = recordAccepted(server);
        NetAddress peer = NetAddress.ofIpv4(0x0A63_6363, 40_000);
        List<byte[]> answers = new ArrayList<>();
        lab.addFault(
                packet -> {
                    boolean end = RawPacket.is(packet.bytes, ControlOpcode.DISCONNECT);
                    if (packet.destination.equals(peer) && !end) {
                        answers.add(packet.bytes);
                    }
                    return 1;
                });
        lab.inject(peer, server, request(77, 1, 1, 1000));
        lab.advance(MS);
        lab.inject(peer, server, request(77, 2, 2, 1000));
        lab.advance(MS);
        // A late copy of the dead process's request is no news.
        lab.inject(peer, server, request(77, 1, 1, 1000));
        lab.advance(MS);

        assertThat(answers).hasSize(3);
        assertThat(RawPacket.is(answers.get(0), ControlOpcode.GRANT)).isTrue();
        assertThat(RawPacket.is(answers.get(1), ControlOpcode.GRANT)).isTrue();
        assertThat(RawPacket.is(answers.get(2), ControlOpcode.DENY)).isTrue();
        assertThat(server.count(CounterId.GRANTS)).isEqualTo(2);
        assertThat(server.count(CounterId.RETIRED)).isEqualTo(1);
        assertThat(accepted.get(0).state()).isEqualTo(ConnectionState.FAILED);
        assertThat(accepted.get(1).state()).isEqualTo(ConnectionState.OPEN);
    }

    private static byte[] request(long endpointId, int incarnation, long connectionId, long nonce) {
        RequestFields fields = new RequestFields();
        fields.endpointId = endpointId;
        fields.incarnation = incarnation;
        fields.connectionId = connectionId;
        fields.nonce = nonce;
        fields.serviceId = 1;
        fields.mtu = 1024;
        fields.profileMask = 3;
        fields.maxPaths = 4;
        fields.versionMask = 2;
        fields.flags = RequestFields.FLAG_CONNECT;
        PacketMemory memory = new PacketMemory(256);
        byte[] bytes = new byte[ControlMessage.encodeRequest(memory, 0, 0, fields)];
        memory.bytes().get(0, bytes);
        return bytes;
    }

    /** A flood of requests from nowhere takes connections and contexts, but gives them back. */
    @Test
    void aFloodOfRequestsKeepsNoClientOutForGood() {
        Lab lab = new Lab(1);
        DeviceLimits few = DEFAULTS.toBuilder().maxConnections(100).contexts(16).build();
        Lab.Node server = lab.add(few);
        List<Connection> accepted = recordAccepted(server);
        Rng rng = new Rng(4);
        for (int i = 0; i < 500; i++) {
            NetAddress from = NetAddress.ofIpv4(0x0A63_0000 + rng.nextInt(1000), 40_000);
            lab.inject(from, server, request(rng.nextLong(), 1, rng.nextLong(), 1 + i));
            lab.advance(MS / 10);
        }
        // From then on strangers need a cookie (MR-3.8-9).
        assertThat(accepted).hasSize(51);
        lab.advance(2 * DEFAULTS.silenceNs() + 3 * SECOND);

        Lab.Node client = lab.add(DEFAULTS);
        Connection connection = client.device.connect(server.address, 1, new byte[0]);
        lab.expect(
                "a real client",
                () -> connection.state() == ConnectionState.OPEN,
                2 * DEFAULTS.packetLifetimeNs());
    }

    @Test
    void aConnectionOutlivesALeaseThatWasTakenWhileItsPeerWasCutOff() {
        Pair pair = new Pair(1, DEFAULTS, 1, 1 << 16).connect();
        pair.clientEnd.fill(pair.lab.rng("data"));
        pair.write(0, 1, 0, 1 << 15);
        pair.expectSends(1, SECOND);
        pair.lab.addFault(packet -> 0);
        pair.lab.advance(2 * DEFAULTS.silenceNs() + SECOND);
        assertThat(pair.server.device.contextsInUse()).isZero();
        assertThat(pair.server.count(CounterId.EXPIRED)).isEqualTo(1);
        pair.lab.heal();
        pair.write(0, 2, 1 << 15, 1 << 15);
        pair.expectSends(2, SECOND);
        pair.lab.advance(DEFAULTS.giveUpNs() + SECOND);

        assertThat(pair.mismatch()).isEqualTo(-1);
        assertThat(pair.serverEnd.connection.state()).isEqualTo(ConnectionState.OPEN);
    }
}
