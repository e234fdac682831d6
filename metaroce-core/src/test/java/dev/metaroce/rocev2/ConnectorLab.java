package dev.metaroce.rocev2;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.memory.Access;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.testing.Lab;
import dev.metaroce.transport.ConnectionState;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.verbs.CompletionQueue;
import dev.metaroce.verbs.Connection;
import dev.metaroce.verbs.ConnectionRequest;
import dev.metaroce.verbs.ProtectionDomain;
import dev.metaroce.verbs.QueuePair;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.PacketMemory;
import dev.metaroce.wire.roce.Bth;
import dev.metaroce.wire.roce.CmMessage;
import dev.metaroce.wire.roce.Deth;
import dev.metaroce.wire.roce.Icrc;
import dev.metaroce.wire.roce.RcOpcode;

import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;

/** Two endpoints that connect by messages to queue pair 1, which a test sees and may drop. */
abstract class ConnectorLab {
    static final long SERVICE = 18_515;
    static final long SECOND_NS = 1_000_000_000L;
    static final int DEPTH = 16;

    final Lab lab = new Lab(0xC0DE);
    final List<CmMessage.Req> requests = new ArrayList<>();
    final List<String> said = new ArrayList<>();
    int toDrop;
    String dropped = "none";
    int copies = 1;

    final Lab.Node client = node(4_096);
    final Lab.Node server = node(4_096);
    final End clientEnd = new End(client);
    final End serverEnd = new End(server);
    final List<Connection> accepted = new ArrayList<>();
    final List<ConnectionRequest> held = new ArrayList<>();

    /** What one side needs for queue pairs. */
    static final class End {
        final ProtectionDomain domain;
        final CompletionQueue done;
        final MemoryRegion region;
        final List<QueuePair> pairs = new ArrayList<>();

        End(Lab.Node node) {
            domain = node.device.allocProtectionDomain();
            done = node.device.createCompletionQueue(1_024);
            region = domain.register(Arena.ofAuto().allocate(4_096), Access.ALL);
        }

        QueuePair add(Connection c) {
            QueuePair pair = c.createQueuePair(domain, done, done, DEPTH, DEPTH);
            pairs.add(pair);
            return pair;
        }

        int flushed() {
            WorkCompletion wc = new WorkCompletion();
            int flushed = 0;
            while (done.poll(wc)) {
                assertThat(wc.status()).hasToString("WR_FLUSH_ERROR");
                flushed++;
            }
            return flushed;
        }

        int completed() {
            WorkCompletion wc = new WorkCompletion();
            int good = 0;
            while (done.poll(wc)) {
                assertThat(wc.status()).hasToString("SUCCESS");
                good++;
            }
            return good;
        }
    }

    ConnectorLab() {
        lab.addFault(
                packet -> {
                    PacketMemory m = new PacketMemory(packet.bytes.length);
                    m.bytes().put(0, packet.bytes);
                    CmMessage message = CmMessage.parse(m, 0, packet.bytes.length);
                    if (message == null) {
                        return 1;
                    }
                    if (message instanceof CmMessage.Req req) {
                        requests.add(req);
                    }
                    String kind = message.getClass().getSimpleName();
                    said.add((packet.from == client ? "> " : "< ") + kind);
                    if (kind.equals(dropped) && toDrop > 0) {
                        toDrop--;
                        return 0;
                    }
                    return copies;
                });
    }

    Lab.Node node(int mtu) {
        DeviceLimits limits = DeviceLimits.defaults().toBuilder().payloadMtu(mtu).build();
        return lab.addRoce(limits, UnaryOperator.identity());
    }

    void drop(String kind, int count) {
        dropped = kind;
        toDrop = count;
    }

    void serve(int queuePairs) {
        serve(
                request -> {
                    for (int i = 0; i < queuePairs; i++) {
                        serverEnd.add(request.connection());
                    }
                    accepted.add(request.accept(new byte[] {5, 6}));
                });
    }

    void serve(Consumer<ConnectionRequest> handler) {
        server.device.listen(SERVICE, handler::accept);
    }

    /** One queue pair for each connection, at a node that is no part of this lab by itself. */
    static void serve(Lab.Node node, End end) {
        node.device.listen(
                SERVICE,
                request -> {
                    end.add(request.connection());
                    request.accept();
                });
    }

    Connection dial(byte... privateData) {
        Connection c = client.device.connect(server.address, SERVICE, privateData);
        clientEnd.add(c);
        return c;
    }

    /** The client closes the only connection, and no queue pair is left anywhere. */
    void closeAtBothEnds(Connection c) {
        c.close();
        expect(c, ConnectionState.CLOSED, SECOND_NS);
        expect(accepted.get(0), ConnectionState.CLOSED, SECOND_NS);
        assertThat(client.engine.contextsInUse() + server.engine.contextsInUse()).isZero();
    }

    void expect(Connection c, ConnectionState state, long maxNs) {
        lab.expect(state.toString(), () -> c.state() == state, maxNs);
    }

    /** A SEND each way, on the pairs of this number. */
    void transfer(int number) {
        QueuePair ours = clientEnd.pairs.get(number);
        QueuePair theirs = serverEnd.pairs.get(number);
        theirs.postReceive(1, serverEnd.region, 0, 100);
        ours.postReceive(2, clientEnd.region, 0, 100);
        ours.postSend(3, clientEnd.region, 0, 100);
        theirs.postSend(4, serverEnd.region, 0, 100);
        int[] good = new int[1];
        lab.expect(
                "a SEND each way",
                () -> (good[0] += clientEnd.completed() + serverEnd.completed()) == 4,
                SECOND_NS);
    }

    /** Gives the server a message as of the client. */
    void inject(CmMessage message) {
        byte[] mad = mad(message);
        lab.deliverNow(client.address, server, packet(mad, client.address, server.address));
    }

    static byte[] mad(CmMessage message) {
        PacketMemory m = new PacketMemory(CmMessage.PACKET_BYTES);
        message.encode(m, 0);
        byte[] mad = new byte[256];
        m.bytes().get(20, mad);
        return mad;
    }

    static byte[] packet(byte[] mad, NetAddress from, NetAddress to) {
        PacketMemory m = new PacketMemory(CmMessage.PACKET_BYTES);
        Bth.encode(m, 0, RcOpcode.UD_SEND_ONLY, 0, 256, Bth.DEFAULT_PKEY, 1, false, 0);
        Deth.encode(m, 0, Deth.QP1_QKEY, 1);
        m.bytes().put(20, mad);
        Icrc icrc = new Icrc();
        icrc.flow(from, to);
        icrc.seal(m, 0, 20, 256);
        byte[] bytes = new byte[CmMessage.PACKET_BYTES];
        m.bytes().get(0, bytes);
        return bytes;
    }
}
