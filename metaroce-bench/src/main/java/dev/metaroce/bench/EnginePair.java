package dev.metaroce.bench;

import dev.metaroce.engine.Engine;
import dev.metaroce.event.CounterId;
import dev.metaroce.event.EventSink;
import dev.metaroce.memory.Access;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.ring.PostResult;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.transport.ConnectionState;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.transport.EndpointIdentity;
import dev.metaroce.util.Rng;
import dev.metaroce.verbs.CompletionQueue;
import dev.metaroce.verbs.Connection;
import dev.metaroce.verbs.ManualDriver;
import dev.metaroce.verbs.ProtectionDomain;
import dev.metaroce.verbs.QueuePair;
import dev.metaroce.verbs.RdmaDevice;
import dev.metaroce.wire.Ecn;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.TxBatch;

import java.lang.foreign.Arena;

/**
 * A client that writes to a server as fast as both can, driven by one thread: every packet of one
 * is handed to the other where it lies. Time is virtual and advances by a fixed step per turn.
 *
 * <p>Owned by one thread. Allocates nothing after construction.
 */
final class EnginePair {
    private static final int DEPTH = 128;
    private static final int PAYLOAD_MTU = 8896;
    private static final long SERVICE = 1;

    /** Real turns take so long, and pacing and round-trip times follow from it. */
    private static final long TURN_NS = 20_000;

    private static final int CONNECT_TURNS_MAX = 100_000;
    private static final int STALLED_TURNS_MAX = 1_000_000;

    private final Node client;
    private final Node server;
    private final QueuePair pair;
    private final WorkCompletion completion = new WorkCompletion();
    private final int messageBytes;
    private long nowNs;
    private long posted;
    private long completed;

    /** What a call moves too much, the next one moves less. */
    private long goal;

    /** One engine and its packets on the way out. */
    private static final class Node {
        private final Engine engine;
        private final RdmaDevice device;
        private final NetAddress address;
        private final TxBatch batch = new TxBatch(1 << 18, 64, 64);
        private final ProtectionDomain domain;
        private final CompletionQueue queue;
        private final MemoryRegion region;

        private Node(int number, long regionBytes) {
            Rng rng = new Rng(number);
            DeviceLimits limits =
                    DeviceLimits.defaults().toBuilder().payloadMtu(PAYLOAD_MTU).build();
            EndpointIdentity identity = new EndpointIdentity(number, number);
            engine = new Engine(limits, identity, rng, rng.fork("keys")::nextInt, EventSink.NONE);
            address = NetAddress.ofIpv4(0x0A00_0000 + number, 50_791);
            device = new RdmaDevice(engine, new ManualDriver());
            domain = device.allocProtectionDomain();
            queue = device.createCompletionQueue(2 * DEPTH);
            region =
                    domain.register(
                            Arena.ofAuto().allocate(regionBytes, 64),
                            Access.LOCAL_WRITE | Access.REMOTE_WRITE);
        }

        private QueuePair pairOn(Connection connection) {
            return connection.createQueuePair(domain, queue, queue, DEPTH, DEPTH);
        }

        private void turn(long nowNs, Node to) {
            engine.drainPosted(nowNs);
            if (engine.nextDeadlineNs() <= nowNs) {
                engine.onTimeout(nowNs);
            }
            batch.clear();
            engine.pollTransmit(nowNs, batch);
            for (int run = 0; run < batch.runs(); run++) {
                int at = batch.offset(run);
                int end = at + batch.bytes(run);
                while (at < end) {
                    int bytes = Math.min(batch.segmentBytes(run), end - at);
                    to.engine.onDatagram(nowNs, batch.memory(), at, bytes, address, Ecn.UNKNOWN);
                    at += bytes;
                }
            }
        }
    }

    EnginePair(int messageBytes) {
        this.messageBytes = messageBytes;
        client = new Node(1, messageBytes);
        server = new Node(2, messageBytes);
        server.device.listen(
                SERVICE,
                request -> {
                    server.pairOn(request.connection());
                    request.accept(request.privateData());
                });
        Connection connection = client.device.connect(server.address, SERVICE, new byte[0]);
        pair = client.pairOn(connection);
        for (int i = 0; connection.state() != ConnectionState.OPEN; i++) {
            if (i == CONNECT_TURNS_MAX) {
                throw new IllegalStateException("the engines do not connect");
            }
            exchange();
        }
    }

    /**
     * Keeps the queue pair full until the server has accepted so many more packets.
     *
     * @return packets accepted since the beginning
     */
    long move(int packets) {
        goal += packets;
        for (int turns = 0; accepted() < goal; turns++) {
            if (turns == STALLED_TURNS_MAX) {
                throw new IllegalStateException("the engines move nothing");
            }
            while (posted - completed < DEPTH && post() == PostResult.OK) {
                posted++;
            }
            exchange();
            while (client.queue.poll(completion)) {
                if (completion.status() != WcStatus.SUCCESS) {
                    throw new IllegalStateException(completion.toString());
                }
                completed++;
            }
        }
        return accepted();
    }

    private PostResult post() {
        return pair.postWrite(
                posted,
                client.region,
                0,
                messageBytes,
                server.region.address(),
                server.region.rkey());
    }

    private void exchange() {
        nowNs += TURN_NS;
        client.turn(nowNs, server);
        nowNs += TURN_NS;
        server.turn(nowNs, client);
    }

    private long accepted() {
        return server.engine.counters().get(CounterId.DATA_ACCEPTED);
    }
}
