package dev.metaroce.net;

import dev.metaroce.memory.Access;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.ring.PostResult;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.transport.ConnectionState;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.verbs.CompletionQueue;
import dev.metaroce.verbs.Connection;
import dev.metaroce.verbs.ProtectionDomain;
import dev.metaroce.verbs.QueuePair;
import dev.metaroce.wire.roce.AckTimeout;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.zip.CRC32C;

/**
 * An endpoint on loopback that serves and dials, with one region: it writes from the first half,
 * and whoever dials it learns to write to the second. Used by tests and by the processes they
 * start.
 */
final class Station implements AutoCloseable {
    static final long SERVICE = 21;
    private static final int DEPTH = 16;

    final UdpDevice device;
    final MemoryRegion region;

    /** The connections that others dialled, in their order. */
    final List<Connection> accepted = new CopyOnWriteArrayList<>();

    final ProtectionDomain domain;

    /** A connection to another station, for writes to the half of its region that is for them. */
    static final class Call {
        final Connection connection;
        private final Station from;
        private final CompletionQueue done;
        private final QueuePair pair;
        private final WorkCompletion wc = new WorkCompletion();
        int posted;
        int completed;
        int failed;

        private Call(Station from, InetSocketAddress to) {
            this.from = from;
            connection =
                    from.device.rdma().connect(Addresses.toNetAddress(to), SERVICE, new byte[0]);
            done = from.device.rdma().createCompletionQueue(2 * DEPTH);
            pair = connection.createQueuePair(from.domain, done, done, DEPTH, DEPTH);
        }

        boolean isOpen() {
            return connection.state() == ConnectionState.OPEN;
        }

        /** False while the connection is not open, and when the queue is full. */
        boolean write(long bytes) {
            if (!isOpen()) {
                return false;
            }
            ByteBuffer place = ByteBuffer.wrap(connection.peerPrivateData());
            boolean taken =
                    pair.postWrite(posted, from.region, 0, bytes, place.getLong(), place.getInt())
                            == PostResult.OK;
            posted += taken ? 1 : 0;
            return taken;
        }

        /** Takes completions; posts so that a few writes are always on the way. */
        void keepBusy(long bytes) {
            poll();
            while (posted - completed < DEPTH / 2 && write(bytes)) {
                // Each is one more on the way.
            }
        }

        void poll() {
            while (done.poll(wc)) {
                completed++;
                failed += wc.status() == WcStatus.SUCCESS ? 0 : 1;
            }
        }

        /** True when all that was posted has completed, without an error. */
        boolean isDone() {
            poll();
            return completed == posted && failed == 0;
        }
    }

    /** A station of MetaRoCE on any free port. */
    Station(DriveMode mode, DeviceLimits limits, int bytes) {
        this(Transport.METAROCE, OwnLoopback.free(Transport.METAROCE, 0), mode, limits, bytes);
    }

    /**
     * @param limits whose give-up time RoCEv2 keeps within a fifth
     * @param bytes of each half of the region
     */
    Station(
            Transport transport,
            InetSocketAddress at,
            DriveMode mode,
            DeviceLimits limits,
            int bytes) {
        device =
                UdpDevice.open(
                        DeviceOptions.builder()
                                .transport(transport)
                                .bind(at.getHostString())
                                .port(at.getPort())
                                .limits(limits)
                                .roce(plain -> plain.ackTimeout(ackTimeout(limits)))
                                .driveMode(mode)
                                .build());
        domain = device.rdma().allocProtectionDomain();
        region = domain.register(Arena.ofAuto().allocate(2L * bytes, 64), Access.ALL);
        device.rdma()
                .listen(
                        SERVICE,
                        request -> {
                            CompletionQueue none = device.rdma().createCompletionQueue(2);
                            request.connection().createQueuePair(domain, none, none, 1, 1);
                            accepted.add(request.connection());
                            request.accept(
                                    ByteBuffer.allocate(12)
                                            .putLong(region.address() + bytes)
                                            .putInt(region.rkey())
                                            .array());
                        });
    }

    /** The timer of RoCEv2 whose eight tries take about the give-up time. */
    private static int ackTimeout(DeviceLimits limits) {
        return AckTimeout.code(limits.giveUpNs() * 6 / 5 / 8 + 1) - 1;
    }

    InetSocketAddress address() {
        return device.localAddress();
    }

    Call call(InetSocketAddress to) {
        return new Call(this, to);
    }

    /** What it writes to others. */
    MemorySegment outgoing() {
        return region.segment().asSlice(0, region.length() / 2);
    }

    /** What others wrote. */
    MemorySegment incoming() {
        return region.segment().asSlice(region.length() / 2);
    }

    static long checksum(MemorySegment memory) {
        CRC32C sum = new CRC32C();
        sum.update(memory.asByteBuffer());
        return sum.getValue();
    }

    @Override
    public void close() {
        device.close();
    }
}
