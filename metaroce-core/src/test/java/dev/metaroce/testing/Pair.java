package dev.metaroce.testing;

import dev.metaroce.memory.Access;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.ring.PostResult;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.rocev2.RoceSettings;
import dev.metaroce.transport.ConnectionState;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.util.Rng;
import dev.metaroce.verbs.CompletionQueue;
import dev.metaroce.verbs.Connection;
import dev.metaroce.verbs.ProtectionDomain;
import dev.metaroce.verbs.QueuePair;
import dev.metaroce.verbs.QueuePairOptions;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;

/**
 * The usual test: a client and a server in a {@link Lab}, connected, with one or more queue pairs
 * and a registered region each.
 */
public final class Pair {
    public static final long SERVICE = 7;
    private static final int DEPTH = 512;
    private static final int DIALS = 4;

    public final Lab lab;
    public final Lab.Node client;
    public final Lab.Node server;
    public final End clientEnd;
    public final End serverEnd;

    /** One side of the connection. */
    public static final class End {
        public final ProtectionDomain domain;
        public final CompletionQueue sendQueue;
        public final CompletionQueue receiveQueue;
        public final MemoryRegion region;
        public final List<QueuePair> pairs = new ArrayList<>();
        public Connection connection;
        public final List<WorkCompletion> sends = new ArrayList<>();
        public final List<WorkCompletion> receives = new ArrayList<>();

        private End(Lab.Node node, int streams, long regionBytes, boolean virtual) {
            domain = node.device.allocProtectionDomain();
            sendQueue = node.device.createCompletionQueue(DIALS * Math.max(1, streams) * DEPTH);
            receiveQueue = node.device.createCompletionQueue(DIALS * Math.max(1, streams) * DEPTH);
            int access = Access.ALL;
            region =
                    virtual
                            ? domain.registerVirtual(regionBytes, access)
                            : domain.register(memory(regionBytes), access);
        }

        private static MemorySegment memory(long bytes) {
            return Arena.ofAuto().allocate(Math.max(1, bytes), 64);
        }

        private void addPairs(Connection to, int streams) {
            connection = to;
            for (int i = 0; i < streams; i++) {
                pairs.add(to.createQueuePair(domain, sendQueue, receiveQueue, DEPTH, DEPTH));
            }
        }

        public QueuePair qp() {
            return pairs.get(0);
        }

        /** Moves what completed into the lists. */
        public void poll() {
            drain(sendQueue, sends);
            drain(receiveQueue, receives);
        }

        private static void drain(CompletionQueue queue, List<WorkCompletion> into) {
            WorkCompletion wc = new WorkCompletion();
            while (queue.poll(wc)) {
                into.add(wc);
                wc = new WorkCompletion();
            }
        }

        public void fill(Rng rng) {
            MemorySegment memory = region.segment();
            for (long i = 0; i + 8 <= memory.byteSize(); i += 8) {
                memory.set(ValueLayout.JAVA_LONG_UNALIGNED, i, rng.nextLong());
            }
        }
    }

    public Pair(long seed, DeviceLimits limits, int streams, long regionBytes) {
        this(seed, limits, limits, streams, regionBytes);
    }

    public Pair(
            long seed,
            DeviceLimits clientLimits,
            DeviceLimits serverLimits,
            int streams,
            long regionBytes) {
        this(seed, clientLimits, serverLimits, streams, regionBytes, false, false, 1, 1);
    }

    /** A client that sends from a virtual region, to a virtual region or to bytes. */
    public static Pair ofVirtual(
            long seed, DeviceLimits limits, int streams, long regionBytes, boolean virtualTarget) {
        return new Pair(seed, limits, limits, streams, regionBytes, true, virtualTarget, 1, 1);
    }

    /** A client and a server with so many addresses, and one stream. */
    public static Pair overPlanes(
            long seed, DeviceLimits limits, int clients, int servers, long regionBytes) {
        return new Pair(seed, limits, limits, 1, regionBytes, false, false, clients, servers);
    }

    /** A client and a server that speak RoCEv2, with queue pairs that are connected by hand. */
    public static Pair ofRoce(
            long seed,
            DeviceLimits limits,
            UnaryOperator<RoceSettings> changes,
            int streams,
            long regionBytes) {
        return new Pair(seed, limits, changes, streams, regionBytes, false);
    }

    /** {@link #ofRoce} with virtual regions. */
    public static Pair ofVirtualRoce(
            long seed,
            DeviceLimits limits,
            UnaryOperator<RoceSettings> changes,
            int streams,
            long regionBytes) {
        return new Pair(seed, limits, changes, streams, regionBytes, true);
    }

    private Pair(
            long seed,
            DeviceLimits limits,
            UnaryOperator<RoceSettings> changes,
            int streams,
            long regionBytes,
            boolean virtual) {
        lab = new Lab(seed);
        if (virtual) {
            lab.gather();
        }
        client = lab.addRoce(limits, changes);
        server = lab.addRoce(limits, changes);
        clientEnd = new End(client, streams, regionBytes, virtual);
        serverEnd = new End(server, streams, regionBytes, virtual);
        clientEnd.addPairs(client.device.connectByHand(), streams);
        serverEnd.addPairs(server.device.connectByHand(), streams);
        for (int i = 0; i < streams; i++) {
            connectByHand(clientEnd.pairs.get(i), serverEnd.pairs.get(i));
        }
    }

    private static void connectByHand(QueuePair ours, QueuePair theirs) {
        ours.connect(theirs.localEnd());
        theirs.connect(ours.localEnd());
    }

    /** Of {@link #ofRoce}: one more queue pair at each end; returns its number. */
    public int addStream() {
        return addStream(
                QueuePairOptions.of(clientEnd.sendQueue, clientEnd.receiveQueue).build(),
                QueuePairOptions.of(serverEnd.sendQueue, serverEnd.receiveQueue).build());
    }

    /** As {@link #addStream()}, with these options. */
    public int addStream(QueuePairOptions atClient, QueuePairOptions atServer) {
        QueuePair ours = clientEnd.connection.createQueuePair(clientEnd.domain, atClient);
        QueuePair theirs = serverEnd.connection.createQueuePair(serverEnd.domain, atServer);
        clientEnd.pairs.add(ours);
        serverEnd.pairs.add(theirs);
        connectByHand(ours, theirs);
        return ours.streamId();
    }

    private Pair(
            long seed,
            DeviceLimits clientLimits,
            DeviceLimits serverLimits,
            int streams,
            long regionBytes,
            boolean virtualSource,
            boolean virtualTarget,
            int clientPlanes,
            int serverPlanes) {
        lab = new Lab(seed);
        if (virtualSource) {
            lab.gather();
        }
        lab.planes(clientPlanes);
        client = lab.add(clientLimits);
        lab.planes(serverPlanes);
        server = lab.add(serverLimits);
        clientEnd = new End(client, streams, regionBytes, virtualSource);
        serverEnd = new End(server, streams, regionBytes, virtualTarget);
        server.device.listen(
                SERVICE,
                request -> {
                    serverEnd.addPairs(request.connection(), streams);
                    request.accept();
                });
        clientEnd.addPairs(client.device.connect(server.address, SERVICE, new byte[0]), streams);
    }

    public Pair connect() {
        lab.expect(
                "connected",
                () -> clientEnd.connection.state() == ConnectionState.OPEN,
                10_000_000_000L);
        return this;
    }

    /**
     * Connects once more, with regions and queues of its own at the client; the server's end gets
     * the new queue pairs behind those of the first connection.
     */
    public End dialAgain() {
        int streams = clientEnd.pairs.size();
        End again =
                new End(client, streams, clientEnd.region.length(), clientEnd.region.isVirtual());
        again.addPairs(client.device.connect(server.address, SERVICE, new byte[0]), streams);
        return again;
    }

    /** Posts a WRITE from the client's region to the same place of the server's. */
    public void write(int stream, long wrId, long offset, long length) {
        must(
                wrId,
                clientEnd
                        .pairs
                        .get(stream)
                        .postWrite(
                                wrId,
                                clientEnd.region,
                                offset,
                                length,
                                serverEnd.region.address() + offset,
                                serverEnd.region.rkey()));
    }

    /** Posts a SEND from the client's region. */
    public void send(int stream, long wrId, long offset, long length) {
        must(wrId, clientEnd.pairs.get(stream).postSend(wrId, clientEnd.region, offset, length));
    }

    /** Posts a receive into the server's region. */
    public void receive(int stream, long wrId, long offset, long length) {
        must(wrId, serverEnd.pairs.get(stream).postReceive(wrId, serverEnd.region, offset, length));
    }

    /** A post that has to be taken. */
    public static void must(long wrId, PostResult result) {
        if (result != PostResult.OK) {
            throw new AssertionError("post " + wrId + " answered " + result);
        }
    }

    /** Runs until the server has taken back every context. */
    public void expectNoContexts(long maxNs) {
        lab.expect("contexts given back", () -> server.device.contextsInUse() == 0, maxNs);
    }

    /** Runs until the client has {@code count} send completions, all of them good. */
    public void expectSends(int count, long maxNs) {
        lab.expect(
                count + " send completions",
                () -> {
                    clientEnd.poll();
                    return clientEnd.sends.size() >= count;
                },
                maxNs);
        for (WorkCompletion wc : clientEnd.sends) {
            if (wc.status() != WcStatus.SUCCESS) {
                throw new AssertionError(wc + " " + clientEnd.connection.failure() + lab.dump());
            }
        }
    }

    public void expectReceives(int count, long maxNs) {
        lab.expect(
                count + " receive completions",
                () -> {
                    serverEnd.poll();
                    return serverEnd.receives.size() >= count;
                },
                maxNs);
    }

    /** First offset where the two regions differ, or -1. */
    public long mismatch() {
        return clientEnd.region.segment().mismatch(serverEnd.region.segment());
    }
}
