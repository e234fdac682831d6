package dev.metaroce.bench;

import dev.metaroce.memory.Access;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.net.DeviceOptions;
import dev.metaroce.net.DriveMode;
import dev.metaroce.net.UdpDevice;
import dev.metaroce.ring.PostResult;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.transport.ConnectionState;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.verbs.CompletionQueue;
import dev.metaroce.verbs.Connection;
import dev.metaroce.verbs.ProtectionDomain;
import dev.metaroce.verbs.QueuePair;

import java.io.File;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.Locale;
import java.util.function.BooleanSupplier;

/**
 * What leases and connections cost over loopback: the latency of a WRITE of 64 B with a lease, with
 * a message inside the request for one, and without; and 3,000 connections one after the other.
 * Both ends are driven by one thread, in turns, so that no scheduler comes between them.
 */
final class LeaseCosts {
    private static final int WRITES = 5_000;
    private static final int ROUNDS = 3_000;
    private static final int COMPARED = 100;
    private static final long PATIENCE_NS = 10_000_000_000L;

    private LeaseCosts() {}

    /** Exit code 1 when the last rounds take more than 1.2 times the first, or anything grows. */
    public static void main(String[] args) {
        System.out.println("a WRITE of 64 B on an idle connection, over loopback, medians");
        double[] us = latencies();
        line("warm: a lease", us[0], 1);
        line("0-RTT: no lease, message in the request", us[1], us[1] / us[0]);
        line("cold: no lease", us[2], us[2] / us[0]);
        System.out.println();
        System.out.println(ROUNDS + " rounds of connect, WRITE of 4 KiB, close");
        System.exit(rounds() ? 0 : 1);
    }

    private static void line(String what, double us, double ratio) {
        System.out.printf(Locale.ROOT, "  %-42s %8.1f us  %5.2f%n", what, us, ratio);
    }

    /** Two devices of this process and a connection between them. */
    private static final class Ends implements AutoCloseable {
        final UdpDevice client;
        final UdpDevice server;
        private final ProtectionDomain domain;
        private final ProtectionDomain serverDomain;
        private final MemoryRegion source;
        private final MemoryRegion target;
        private final CompletionQueue unused;
        private final CompletionQueue done;
        private final WorkCompletion completion = new WorkCompletion();

        Ends(DeviceLimits limits) {
            client = open(limits);
            server = open(limits);
            domain = client.rdma().allocProtectionDomain();
            serverDomain = server.rdma().allocProtectionDomain();
            source = domain.allocate(4096, 0);
            target = serverDomain.allocate(4096, Access.REMOTE_WRITE);
            unused = server.rdma().createCompletionQueue(4);
            done = client.rdma().createCompletionQueue(4);
            server.rdma()
                    .listen(
                            1,
                            request -> {
                                request.connection()
                                        .createQueuePair(serverDomain, unused, unused, 1, 1);
                                request.accept();
                            });
        }

        private static UdpDevice open(DeviceLimits limits) {
            return UdpDevice.open(
                    DeviceOptions.builder()
                            .bind("127.0.0.1")
                            .port(0)
                            .limits(limits)
                            .driveMode(DriveMode.INLINE)
                            .build());
        }

        void until(String what, BooleanSupplier condition) {
            long startNs = System.nanoTime();
            while (!condition.getAsBoolean()) {
                client.rdma().progress();
                server.rdma().progress();
                if (System.nanoTime() - startNs > PATIENCE_NS) {
                    throw new IllegalStateException("not within 10 s: " + what);
                }
            }
        }

        Connection connect() {
            return client.rdma().connect(server.address(), 1, new byte[0]);
        }

        QueuePair pairOf(Connection connection) {
            return connection.createQueuePair(domain, done, done, 1, 1);
        }

        void write(QueuePair pair, int bytes) {
            PostResult posted =
                    pair.postWrite(1, source, 0, bytes, target.address(), target.rkey());
            if (posted != PostResult.OK) {
                throw new IllegalStateException("post answered " + posted);
            }
            until("a WRITE", () -> done.poll(completion));
            if (completion.status() != WcStatus.SUCCESS) {
                throw new IllegalStateException(completion.toString());
            }
        }

        @Override
        public void close() {
            client.close();
            server.close();
        }
    }

    /** Medians in us of warm, 0-RTT and cold WRITEs, which take turns. */
    private static double[] latencies() {
        DeviceLimits.Builder limits = DeviceLimits.defaults().toBuilder();
        try (Ends warm = new Ends(limits.lingerNs(PATIENCE_NS).build());
                Ends early = new Ends(limits.lingerNs(0).build());
                Ends cold = new Ends(limits.lingerNs(0).earlyData(false).build())) {
            Ends[] ends = {warm, early, cold};
            QueuePair[] pairs = new QueuePair[ends.length];
            for (int i = 0; i < ends.length; i++) {
                Connection connection = ends[i].connect();
                pairs[i] = ends[i].pairOf(connection);
                ends[i].until("open", () -> connection.state() == ConnectionState.OPEN);
            }
            long[][] ns = new long[ends.length][WRITES];
            for (int w = -WRITES; w < WRITES; w++) {
                for (int i = 0; i < ends.length; i++) {
                    Connection connection = pairs[i].connection();
                    if (i > 0) {
                        ends[i].until("no lease", () -> connection.cid() < 0);
                    }
                    long startNs = System.nanoTime();
                    ends[i].write(pairs[i], 64);
                    ns[i][Math.max(0, w)] = System.nanoTime() - startNs;
                }
            }
            return Arrays.stream(ns).mapToDouble(all -> median(all, 0, WRITES) / 1e3).toArray();
        }
    }

    private static double median(long[] ns, int from, int to) {
        long[] sorted = Arrays.copyOfRange(ns, from, to);
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }

    /** What a process holds that a leak would show in. */
    private record Held(int threads, int descriptors, long offHeapBytes) {
        static Held now() {
            String[] open = new File("/proc/self/fd").list();
            long direct = 0;
            for (BufferPoolMXBean pool :
                    ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class)) {
                direct += pool.getMemoryUsed();
            }
            int threads = ManagementFactory.getThreadMXBean().getThreadCount();
            return new Held(threads, open == null ? 0 : open.length, direct);
        }

        boolean isNoMoreThan(Held other) {
            return threads <= other.threads
                    && descriptors <= other.descriptors
                    && offHeapBytes <= other.offHeapBytes;
        }
    }

    private static boolean rounds() {
        try (Ends ends = new Ends(DeviceLimits.defaults())) {
            long[] ns = new long[ROUNDS];
            // The compiler needs some rounds, too, and is not what is measured.
            for (int i = 0; i < ROUNDS / 3; i++) {
                round(ends);
            }
            Held before = Held.now();
            for (int i = 0; i < ROUNDS; i++) {
                ns[i] = round(ends);
            }
            Held after = Held.now();
            ends.until("no contexts", () -> ends.server.rdma().contextsInUse() == 0);
            double first = median(ns, 0, COMPARED) / 1e3;
            double last = median(ns, ROUNDS - COMPARED, ROUNDS) / 1e3;
            line("first " + COMPARED + ", median", first, 1);
            line("last " + COMPARED + ", median", last, last / first);
            System.out.println("  before " + before);
            System.out.println("  after  " + after + ", contexts 0");
            return last <= 1.2 * first && after.isNoMoreThan(before);
        }
    }

    private static long round(Ends ends) {
        long startNs = System.nanoTime();
        Connection connection = ends.connect();
        QueuePair pair = ends.pairOf(connection);
        ends.write(pair, 4096);
        connection.close();
        ends.until("closed", () -> connection.state() == ConnectionState.CLOSED);
        return System.nanoTime() - startNs;
    }
}
