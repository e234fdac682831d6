package dev.metaroce.testing;

import dev.metaroce.engine.Engine;
import dev.metaroce.event.CounterId;
import dev.metaroce.event.EventSink;
import dev.metaroce.memory.Access;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.ring.PostResult;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.transport.EndpointIdentity;
import dev.metaroce.util.Rng;
import dev.metaroce.verbs.CompletionQueue;
import dev.metaroce.verbs.Connection;
import dev.metaroce.verbs.Driver;
import dev.metaroce.verbs.ProtectionDomain;
import dev.metaroce.verbs.QueuePair;
import dev.metaroce.verbs.RdmaDevice;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.TxBatch;

import java.lang.foreign.Arena;
import java.util.function.BooleanSupplier;

/**
 * Two engines joined by a loop that allocates nothing: what one puts into its batch is handed to
 * the other at once. For measuring the engine and nothing else.
 */
public final class DirectPair {
    private static final int DEPTH = 64;
    private static final long TURN_NS = 1_000;

    private final End client;
    private final End server;
    private final WorkCompletion wc = new WorkCompletion();
    private final boolean sends;
    private final int messageBytes;
    private final int dropEvery;
    private long nowNs = 1;
    private long packets;
    private long posted;
    private long completed;
    private QueuePair from;
    private QueuePair to;
    private int receives;

    /** One device. */
    private final class End implements Driver {
        final Engine engine;
        final RdmaDevice device;
        final NetAddress address;
        final TxBatch batch = new TxBatch(1 << 20, 256, 64);
        final ProtectionDomain domain;
        final CompletionQueue sendQueue;
        final CompletionQueue receiveQueue;
        final MemoryRegion region;

        End(int number, DeviceLimits limits) {
            Rng rng = new Rng(number);
            Rng keys = rng.fork("keys");
            address = NetAddress.ofIpv4(number, 50_791);
            engine =
                    new Engine(
                            limits,
                            new EndpointIdentity(number, 1),
                            rng,
                            keys::nextInt,
                            EventSink.NONE);
            device = new RdmaDevice(engine, this);
            domain = device.allocProtectionDomain();
            sendQueue = device.createCompletionQueue(DEPTH);
            receiveQueue = device.createCompletionQueue(DEPTH);
            region =
                    domain.register(
                            Arena.ofAuto().allocate(messageBytes, 64),
                            Access.LOCAL_WRITE | Access.REMOTE_WRITE);
        }

        QueuePair pair(Connection connection) {
            return connection.createQueuePair(domain, sendQueue, receiveQueue, DEPTH, DEPTH);
        }

        /** One turn; hands everything to the other side. */
        void turn(End other) {
            engine.drainPosted(nowNs);
            if (engine.nextDeadlineNs() - nowNs <= 0) {
                engine.onTimeout(nowNs);
            }
            batch.clear();
            while (engine.pollTransmit(nowNs, batch) > 0) {
                for (int run = 0; run < batch.runs(); run++) {
                    int end = batch.offset(run) + batch.bytes(run);
                    int at = batch.offset(run);
                    while (at < end) {
                        int bytes = Math.min(batch.segmentBytes(run), end - at);
                        packets++;
                        if (dropEvery == 0 || packets % dropEvery != 0) {
                            other.engine.onDatagram(
                                    nowNs, batch.memory(), at, bytes, address, false);
                        }
                        at += bytes;
                    }
                }
                batch.clear();
            }
        }

        @Override
        public int progress() {
            return 0;
        }

        @Override
        public void wake() {}

        @Override
        public boolean await(BooleanSupplier condition, long timeoutNs) {
            return condition.getAsBoolean();
        }

        @Override
        public void handlerFailed(RuntimeException cause) {
            throw cause;
        }

        @Override
        public void close() {}
    }

    /**
     * @param sends true for SEND, false for WRITE
     * @param dropEvery every so many packets one is lost; 0 for none
     */
    public DirectPair(DeviceLimits limits, boolean sends, int messageBytes, int dropEvery) {
        this.sends = sends;
        this.messageBytes = messageBytes;
        this.dropEvery = dropEvery;
        client = new End(1, limits);
        server = new End(2, limits);
        server.device.listen(
                1,
                (connection, data) -> {
                    to = server.pair(connection);
                    return new byte[0];
                });
        from = client.pair(client.device.connect(server.address, 1, new byte[0]));
    }

    /** Keeps the queues full until so many packets went by in all, both ways. */
    public void runUntil(long packetsInAll) {
        while (packets < packetsInAll) {
            work();
            client.turn(server);
            server.turn(client);
            nowNs += TURN_NS;
        }
    }

    private void work() {
        while (client.sendQueue.poll(wc)) {
            if (wc.status() != WcStatus.SUCCESS) {
                throw new AssertionError(wc.toString());
            }
            completed++;
        }
        while (server.receiveQueue.poll(wc)) {
            receives--;
        }
        while (sends && to != null && receives < DEPTH) {
            receives++;
            must(to.postReceive(1, server.region, 0, messageBytes));
        }
        while (posted - completed < DEPTH / 2) {
            posted++;
            must(
                    sends
                            ? from.postSend(1, client.region, 0, messageBytes)
                            : from.postWrite(
                                    1,
                                    client.region,
                                    0,
                                    messageBytes,
                                    server.region.address(),
                                    server.region.rkey()));
        }
    }

    private static void must(PostResult result) {
        if (result != PostResult.OK) {
            throw new AssertionError(result.toString());
        }
    }

    public long packets() {
        return packets;
    }

    public long completed() {
        return completed;
    }

    public long count(CounterId id) {
        return client.engine.counters().get(id);
    }
}
