package dev.metaroce.engine;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;

import dev.metaroce.congestion.CongestionAlgorithm;
import dev.metaroce.congestion.DcqcnSettings;
import dev.metaroce.event.CounterId;
import dev.metaroce.event.EventSink;
import dev.metaroce.memory.Access;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.path.PathStrategy;
import dev.metaroce.ring.PostResult;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.rocev2.RoceProtocol;
import dev.metaroce.rocev2.RoceSettings;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.transport.EndpointIdentity;
import dev.metaroce.transport.Mechanisms;
import dev.metaroce.util.Rng;
import dev.metaroce.verbs.CompletionQueue;
import dev.metaroce.verbs.Connection;
import dev.metaroce.verbs.ManualDriver;
import dev.metaroce.verbs.ProtectionDomain;
import dev.metaroce.verbs.QueuePair;
import dev.metaroce.verbs.RdmaDevice;
import dev.metaroce.wire.Ecn;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.Profile;
import dev.metaroce.wire.TxBatch;
import dev.metaroce.wire.roce.RoceUdp;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

import java.lang.foreign.Arena;
import java.lang.management.ManagementFactory;
import java.util.function.IntSupplier;

/** A million packets through both engines, posts and polls included, allocate nothing. */
class ZeroAllocationTest {
    private static final long PACKETS = 1_000_000;
    private static final int DEPTH = 128;
    private static final int DROP_EVERY = 997;
    private static final int MARK_EVERY = 4999;

    private enum Kind {
        WRITE,
        SEND,
        READ,
        ADD
    }

    /** One engine and its packets on the way out; it is driven by hand. */
    private static final class Node {
        private final Engine engine;
        private final RdmaDevice device;
        private final NetAddress address;
        private final TxBatch batch = new TxBatch(1 << 18, 64, 64);
        private final ProtectionDomain domain;
        private final CompletionQueue queue;
        private final MemoryRegion region;
        private long datagrams;

        private Node(Engine engine, NetAddress address) {
            this.engine = engine;
            this.address = address;
            device = new RdmaDevice(engine, new ManualDriver());
            domain = device.allocProtectionDomain();
            queue = device.createCompletionQueue(4 * DEPTH);
            region = domain.register(Arena.ofAuto().allocate(1 << 16), Access.ALL);
        }

        private static Node metaRoce(int number, Profile profile, Mechanisms mechanisms) {
            Rng rng = new Rng(number);
            DeviceLimits limits =
                    DeviceLimits.defaults().toBuilder()
                            .profiles(profile.code())
                            .payloadMtu(1024)
                            .mechanisms(mechanisms)
                            .build();
            EndpointIdentity identity = new EndpointIdentity(number, number);
            Engine engine =
                    new Engine(limits, identity, rng, rng.fork("keys")::nextInt, EventSink.NONE);
            return new Node(engine, NetAddress.ofIpv4(0x0A00_0000 + number, 50_791));
        }

        private static Node roce(int number, @Nullable DcqcnSettings dcqcn) {
            NetAddress address = NetAddress.ofIpv4(0x0A00_0000 + number, RoceUdp.PORT);
            DeviceLimits limits = DeviceLimits.defaults().toBuilder().payloadMtu(1024).build();
            RoceSettings settings =
                    RoceSettings.at(address).toBuilder().ackTimeout(8).dcqcn(dcqcn).build();
            IntSupplier keys = new Rng(number)::nextInt;
            RoceProtocol protocol = new RoceProtocol(limits, settings, keys, EventSink.NONE);
            return new Node(new Engine(protocol, keys), address);
        }

        /** One turn; what it sends arrives at once, but for a packet now and then. */
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
                    if (++datagrams % DROP_EVERY != 0) {
                        Ecn ecn = datagrams % MARK_EVERY == 0 ? Ecn.CE : Ecn.UNKNOWN;
                        to.engine.onDatagram(nowNs, batch.memory(), at, bytes, address, ecn);
                    }
                    at += bytes;
                }
            }
        }
    }

    private final WorkCompletion completion = new WorkCompletion();
    private long nowNs = 1_000_000;
    private long posted;
    private long completed;

    @ParameterizedTest
    @CsvSource({
        "M, WRITE",
        "M, SEND",
        "S, WRITE",
        "S, SEND",
        "M, READ",
        "S, READ",
        "M, ADD",
        "S, ADD"
    })
    void aMillionPacketsAllocateNothing(Profile profile, Kind kind) {
        allocateNothing(profile, kind, Mechanisms.DEFAULT);
    }

    @ParameterizedTest
    @EnumSource(value = PathStrategy.class, mode = EnumSource.Mode.EXCLUDE, names = "WEIGHTED")
    void otherMechanismsAllocateNothing(PathStrategy paths) {
        Mechanisms others = Mechanisms.DEFAULT.with(CongestionAlgorithm.NSCC).with(paths);
        allocateNothing(Profile.M, Kind.WRITE, others);
    }

    private void allocateNothing(Profile profile, Kind kind, Mechanisms mechanisms) {
        Node client = Node.metaRoce(1, profile, mechanisms);
        Node server = Node.metaRoce(2, profile, mechanisms);
        QueuePair[] accepted = new QueuePair[1];
        server.device.listen(
                7,
                request -> {
                    accepted[0] = pair(request.connection(), server);
                    request.accept(request.privateData());
                });
        Connection connection = client.device.connect(server.address, 7, new byte[0]);
        QueuePair qp = pair(connection, client);
        for (int i = 0; i < 100_000 && connection.payloadMtu() == 0; i++) {
            exchange(client, server);
        }
        allocateNothing(client, server, qp, accepted[0], kind);
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void roceAllocatesNothing(Kind kind) {
        roceAllocatesNothing(kind, null);
    }

    @Test
    void roceWithCongestionControlAllocatesNothing() {
        roceAllocatesNothing(Kind.WRITE, DcqcnSettings.published());
    }

    private void roceAllocatesNothing(Kind kind, @Nullable DcqcnSettings dcqcn) {
        Node client = Node.roce(1, dcqcn);
        Node server = Node.roce(2, dcqcn);
        QueuePair ours = pair(client.device.connectByHand(), client);
        QueuePair theirs = pair(server.device.connectByHand(), server);
        ours.connect(theirs.localEnd());
        theirs.connect(ours.localEnd());
        allocateNothing(client, server, ours, theirs, kind);
        assertThat(client.engine.counters().get(CounterId.CNPS_RECEIVED) > 0)
                .isEqualTo(dcqcn != null);
    }

    private void allocateNothing(
            Node client, Node server, QueuePair qp, QueuePair target, Kind kind) {
        for (int i = 0; kind == Kind.SEND && i < DEPTH; i++) {
            target.postReceive(i, server.region, 0, 4096);
        }
        move(client, server, qp, target, kind, PACKETS / 5);

        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long before = threads.getCurrentThreadAllocatedBytes();
        move(client, server, qp, target, kind, PACKETS);
        long allocated = threads.getCurrentThreadAllocatedBytes() - before;

        // Not one object per packet, nor one per thousand: what is left is the JVM's own.
        assertThat(allocated).isLessThan(PACKETS / 100);
        assertThat(client.engine.counters().get(CounterId.DATA_RESENT)).isPositive();
    }

    private static QueuePair pair(Connection connection, Node node) {
        return connection.createQueuePair(node.domain, node.queue, node.queue, DEPTH, DEPTH);
    }

    private void exchange(Node client, Node server) {
        nowNs += 1_000;
        client.turn(nowNs, server);
        nowNs += 1_000;
        server.turn(nowNs, client);
    }

    /** Keeps the queue full until the server has accepted so many more packets. */
    private void move(
            Node client, Node server, QueuePair qp, QueuePair target, Kind kind, long packets) {
        long goal = server.engine.counters().get(CounterId.DATA_ACCEPTED) + packets;
        while (server.engine.counters().get(CounterId.DATA_ACCEPTED) < goal) {
            while (posted - completed < DEPTH && post(client, server, qp, kind)) {
                posted++;
            }
            exchange(client, server);
            while (client.queue.poll(completion)) {
                check();
                completed++;
            }
            while (server.queue.poll(completion)) {
                check();
                target.postReceive(completion.wrId(), server.region, 0, 4096);
            }
        }
    }

    private boolean post(Node client, Node server, QueuePair qp, Kind kind) {
        int bytes = (int) (posted % 4) * 1000 + 64;
        MemoryRegion local = client.region;
        long va = server.region.address();
        int key = server.region.rkey();
        PostResult result =
                switch (kind) {
                    case WRITE -> qp.postWrite(posted, local, 0, bytes, va, key);
                    case SEND -> qp.postSend(posted, local, 0, bytes);
                    case READ -> qp.postRead(posted, local, 0, bytes, va, key);
                    case ADD -> qp.postFetchAndAdd(posted, local, 0, va, key, 1);
                };
        return result == PostResult.OK;
    }

    private void check() {
        if (completion.status() != WcStatus.SUCCESS) {
            throw new AssertionError(completion.toString());
        }
    }
}
