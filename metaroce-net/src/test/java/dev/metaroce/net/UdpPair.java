package dev.metaroce.net;

import static org.assertj.core.api.Assertions.assertThat;

import dev.metaroce.event.CounterId;
import dev.metaroce.memory.Access;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.ring.PostResult;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.transport.ConnectionState;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.util.Rng;
import dev.metaroce.verbs.CompletionQueue;
import dev.metaroce.verbs.Connection;
import dev.metaroce.verbs.ProtectionDomain;
import dev.metaroce.verbs.QueuePair;

import org.jspecify.annotations.Nullable;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;

/**
 * A client and a server on real sockets of loopback, optionally with a relay between them,
 * connected by one queue pair. In inline mode the test's thread drives both.
 */
final class UdpPair implements AutoCloseable {
    static final long SERVICE = 7;
    private static final int DEPTH = 256;
    private static final long PATIENCE_NS = 60_000_000_000L;

    final DriveMode mode;
    final UdpDevice client;
    final UdpDevice server;
    final @Nullable FaultRelay relay;
    final End clientEnd;
    final End serverEnd;

    /** One side of the connection. */
    static final class End {
        final UdpDevice device;
        final ProtectionDomain domain;
        final CompletionQueue sendQueue;
        final CompletionQueue receiveQueue;
        final MemoryRegion region;
        final List<WorkCompletion> sends = new ArrayList<>();
        final List<WorkCompletion> receives = new ArrayList<>();
        volatile @Nullable Connection connection;
        volatile @Nullable QueuePair pair;

        End(UdpDevice device, long regionBytes) {
            this.device = device;
            domain = device.rdma().allocProtectionDomain();
            sendQueue = device.rdma().createCompletionQueue(DEPTH);
            receiveQueue = device.rdma().createCompletionQueue(DEPTH);
            MemorySegment memory = Arena.ofAuto().allocate(regionBytes, 64);
            region = domain.register(memory, Access.ALL);
        }

        void connect(Connection to) {
            pair = to.createQueuePair(domain, sendQueue, receiveQueue, DEPTH, DEPTH);
            connection = to;
        }

        MemorySegment memory() {
            return region.segment();
        }

        void fill(long seed) {
            Rng rng = new Rng(seed);
            MemorySegment memory = memory();
            for (long i = 0; i + 8 <= memory.byteSize(); i += 8) {
                memory.set(ValueLayout.JAVA_LONG_UNALIGNED, i, rng.nextLong());
            }
        }

        void poll() {
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

        long count(CounterId id) {
            return device.rdma().counters().get(id);
        }
    }

    /** Connected directly. */
    static UdpPair direct(DriveMode mode, DeviceLimits limits, long regionBytes) {
        return new UdpPair(mode, limits, regionBytes, null);
    }

    /** Connected through a relay with the same faults both ways. */
    static UdpPair through(
            Faults faults, long seed, DriveMode mode, DeviceLimits limits, long regionBytes) {
        return new UdpPair(
                mode,
                limits,
                regionBytes,
                target ->
                        FaultRelay.start(
                                RelayOptions.between(new InetSocketAddress("127.0.0.1", 0), target)
                                        .withFaults(seed, faults, faults)));
    }

    /** Makes the relay when the server's address is known. */
    interface RelayMaker {
        FaultRelay before(InetSocketAddress target);
    }

    UdpPair(
            DriveMode mode,
            DeviceLimits limits,
            long regionBytes,
            @Nullable RelayMaker relayMaker) {
        this(mode, limits, SocketKind.AUTO, regionBytes, relayMaker);
    }

    /** Connected directly, driven inline, by sockets of a kind. */
    static UdpPair over(SocketKind sockets, DeviceLimits limits, long regionBytes) {
        return new UdpPair(DriveMode.INLINE, limits, sockets, regionBytes, null);
    }

    private UdpPair(
            DriveMode mode,
            DeviceLimits limits,
            SocketKind sockets,
            long regionBytes,
            @Nullable RelayMaker relayMaker) {
        this.mode = mode;
        server = UdpDevice.open(options(mode, limits, sockets, 1));
        client = UdpDevice.open(options(mode, limits, sockets, 2));
        relay = relayMaker == null ? null : relayMaker.before(server.localAddress());
        serverEnd = new End(server, regionBytes);
        clientEnd = new End(client, regionBytes);
        clientEnd.fill(0xC0FFEE);
        server.rdma()
                .listen(
                        SERVICE,
                        request -> {
                            serverEnd.connect(request.connection());
                            request.accept();
                        });
        InetSocketAddress dialled = relay == null ? server.localAddress() : relay.localAddress();
        clientEnd.connect(
                client.rdma().connect(Addresses.toNetAddress(dialled), SERVICE, new byte[0]));
        await("connected", () -> clientEnd.connection.state() == ConnectionState.OPEN);
    }

    private static DeviceOptions options(
            DriveMode mode, DeviceLimits limits, SocketKind sockets, long seed) {
        return DeviceOptions.builder()
                .bind("127.0.0.1")
                .port(0)
                .limits(limits)
                .sockets(sockets)
                .driveMode(mode)
                .seed(seed)
                .build();
    }

    /**
     * Drives what has to be driven until the condition holds; fails with the state of both ends.
     */
    void await(String what, BooleanSupplier condition) {
        assertThat(holds(condition)).as(() -> what + " did not happen: " + describe()).isTrue();
    }

    private boolean holds(BooleanSupplier condition) {
        BooleanSupplier over = () -> condition.getAsBoolean() || isFailed();
        boolean inTime =
                switch (mode) {
                    case THREAD -> Until.holds(over, PATIENCE_NS);
                    case INLINE -> drive(over);
                };
        return inTime && condition.getAsBoolean();
    }

    /** Nothing good can come any more. */
    private boolean isFailed() {
        Connection connection = clientEnd.connection;
        return connection != null && connection.state() == ConnectionState.FAILED;
    }

    private boolean drive(BooleanSupplier condition) {
        long startNs = System.nanoTime();
        while (!condition.getAsBoolean()) {
            if (client.rdma().progress() + server.rdma().progress() == 0) {
                Thread.yield();
            }
            if (System.nanoTime() - startNs > PATIENCE_NS) {
                return false;
            }
        }
        return true;
    }

    /** Posts a WRITE from the client's region to the same place of the server's. */
    void write(long wrId, long offset, long length) {
        PostResult result =
                clientEnd.pair.postWrite(
                        wrId,
                        clientEnd.region,
                        offset,
                        length,
                        serverEnd.region.address() + offset,
                        serverEnd.region.rkey());
        assertThat(result).isEqualTo(PostResult.OK);
    }

    /** A WRITE of eight bytes, again and again, by a queue pair of its own that reports there. */
    Runnable writerOn(CompletionQueue queue) {
        QueuePair made = clientEnd.connection.createQueuePair(clientEnd.domain, queue, queue, 4, 4);
        CompletionQueue other = server.rdma().createCompletionQueue(8);
        serverEnd.connection.createQueuePair(serverEnd.domain, other, other, 4, 4);
        MemoryRegion from = clientEnd.region;
        MemoryRegion to = serverEnd.region;
        return () ->
                assertThat(made.postWrite(1, from, 0, 8, to.address(), to.rkey()))
                        .isEqualTo(PostResult.OK);
    }

    /** Waits for {@code count} send completions of the client in all, every one good. */
    void expectSends(int count) {
        await(
                count + " sends completed",
                () -> {
                    clientEnd.poll();
                    return clientEnd.sends.size() >= count;
                });
        assertThat(clientEnd.sends)
                .as(this::describe)
                .allMatch(wc -> wc.status() == WcStatus.SUCCESS);
    }

    /** Waits for {@code count} receive completions of the server in all, every one good. */
    void expectReceives(int count) {
        await(
                count + " receives completed",
                () -> {
                    serverEnd.poll();
                    return serverEnd.receives.size() >= count;
                });
        assertThat(serverEnd.receives)
                .as(this::describe)
                .allMatch(wc -> wc.status() == WcStatus.SUCCESS);
    }

    /** Both ends for a failure message. */
    String describe() {
        StringBuilder text = new StringBuilder();
        for (End end : List.of(clientEnd, serverEnd)) {
            Connection connection = end.connection;
            text.append(end == clientEnd ? "\nclient " : "\nserver ");
            if (connection != null) {
                text.append(connection.state()).append(' ').append(connection.failure());
            }
            text.append(" sends ").append(end.sends).append(" receives ").append(end.receives);
            text.append("\n  ").append(end.device.stats());
            for (CounterId id : CounterId.values()) {
                if (end.count(id) != 0) {
                    text.append("\n  ").append(id).append(' ').append(end.count(id));
                }
            }
        }
        if (relay != null) {
            text.append('\n').append(relay.stats());
        }
        return text.toString();
    }

    @Override
    public void close() {
        client.close();
        server.close();
        if (relay != null) {
            relay.close();
        }
    }
}
