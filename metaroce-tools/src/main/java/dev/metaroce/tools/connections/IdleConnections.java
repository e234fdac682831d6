package dev.metaroce.tools.connections;

import dev.metaroce.net.Transport;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.transport.ConnectionState;
import dev.metaroce.util.Rng;
import dev.metaroce.verbs.QueuePair;
import dev.metaroce.wire.Ecn;
import dev.metaroce.wire.PacketMemory;
import dev.metaroce.wire.TxBatch;

import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryMXBean;
import java.util.Arrays;
import java.util.function.BooleanSupplier;

/**
 * Very many connections from one device to a few others in this process, in virtual time: what they
 * take when all are idle, and whether each still works. The heap is measured with a tenth of them
 * and with all, so that what devices take themselves cancels.
 */
final class IdleConnections implements AutoCloseable {
    private static final int WAVE = 1024;
    private static final int RUNS = 256;
    private static final int BATCH_BYTES = 1 << 20;
    private static final long STEP_NS = 1_000;
    private static final long MOST_NS = 60_000_000_000L;
    private static final int LOOKS_AT_HEAP = 4;

    /**
     * @param transport what devices speak
     * @param connections how many in all
     * @param targets devices they lead to
     * @param writes idle connections that are used at the end, drawn at random
     */
    record Setup(Transport transport, int connections, int targets, int writes, long seed) {}

    /**
     * @param bytesPerConnection growth of the heap per connection: both ends, their queue pairs,
     *     tables and timers, and what the application needs to name them
     * @param contextsAtMost receive contexts in use at once, over all targets; queue pairs of
     *     RoCEv2
     * @param contextsIdle the same when all connections are idle
     * @param sourceContextsIdle source contexts in use then; 0 for RoCEv2, which has none
     * @param setUpUs until a connection can be used, of this machine's time
     * @param firstUseUs median of a WRITE of 8 bytes over an idle connection, the same
     * @param works connections that were used and did what they should
     */
    record Outcome(
            long bytesPerConnection,
            int contextsAtMost,
            int contextsIdle,
            int sourceContextsIdle,
            double setUpUs,
            double firstUseUs,
            int works) {}

    private final Setup setup;
    private final BooleanSupplier mayGoOn;
    private final Arena arena = Arena.ofConfined();
    private final Host[] hosts;
    private final Host origin;
    private final QueuePair[] pairs;
    private final TxBatch batch = new TxBatch(new PacketMemory(BATCH_BYTES), RUNS, RUNS, false);
    private final WorkCompletion completion = new WorkCompletion();
    private final Rng rng;
    private long nowNs = 1;
    private int contextsAtMost;
    private int opened;

    IdleConnections(Setup setup, BooleanSupplier mayGoOn) {
        this.setup = setup;
        this.mayGoOn = mayGoOn;
        rng = new Rng(setup.seed).fork("choice");
        hosts = new Host[1 + setup.targets];
        for (int i = 0; i < hosts.length; i++) {
            int bytes = Long.BYTES * setup.writes;
            hosts[i] = new Host(i, setup.transport, setup.connections, bytes, arena, setup.seed);
        }
        origin = hosts[0];
        pairs = new QueuePair[setup.connections];
    }

    /**
     * @throws IllegalStateException when connections do not open or work as they should, one line
     */
    Outcome run() {
        open(setup.connections / 10);
        long before = usedHeap();
        int first = opened;
        long startNs = System.nanoTime();
        open(setup.connections);
        double setUpUs = (System.nanoTime() - startNs) / 1e3 / (opened - first);
        long bytes = (usedHeap() - before) / (opened - first);
        int contextsIdle = contextsInUse();
        int sourcesIdle = sourceContexts();
        double[] firstUseUs = new double[setup.writes];
        for (int i = 0; i < setup.writes; i++) {
            firstUseUs[i] = write(i, rng.nextInt(opened));
        }
        int works = countWritten();
        Arrays.sort(firstUseUs);
        return new Outcome(
                bytes,
                contextsAtMost,
                contextsIdle,
                sourcesIdle,
                setUpUs,
                firstUseUs[setup.writes / 2],
                works);
    }

    /** Opens connections until there are so many, and waits until they are idle. */
    private void open(int total) {
        while (opened < total) {
            int from = opened;
            opened = Math.min(total, opened + WAVE);
            for (int i = from; i < opened; i++) {
                pairs[i] = origin.connect(hosts[1 + i % setup.targets]);
            }
            advanceUntil(() -> isIdle(from), "connections that open and give their leases back");
        }
    }

    private boolean isIdle(int from) {
        if (sourceContexts() > 0) {
            return false;
        }
        for (int i = from; i < opened; i++) {
            if (pairs[i].connection().state() != ConnectionState.OPEN) {
                return false;
            }
        }
        return isRoce() || contextsInUse() == 0;
    }

    private boolean isRoce() {
        return setup.transport == Transport.ROCE_V2;
    }

    private int sourceContexts() {
        return isRoce() ? 0 : origin.engine.metaRoce().sourceContextsInUse();
    }

    /** Uses one connection; its memory at the target shows number and connection. */
    private double write(int number, int connection) {
        long at = (long) number * Long.BYTES;
        Host target = hosts[1 + connection % setup.targets];
        origin.region.segment().set(ValueLayout.JAVA_LONG, at, stamp(number));
        long startNs = System.nanoTime();
        pairs[connection].postWrite(
                number,
                origin.region,
                at,
                Long.BYTES,
                target.region.address() + at,
                target.region.rkey());
        advanceUntil(() -> origin.queue.poll(completion), "a WRITE over an idle connection");
        double us = (System.nanoTime() - startNs) / 1e3;
        if (completion.status() != WcStatus.SUCCESS) {
            throw new IllegalStateException(
                    "a WRITE over an idle connection failed: " + completion.status());
        }
        return us;
    }

    private static long stamp(int number) {
        return 0x4D52_0000_0000_0000L + number;
    }

    /** Every write has its own place; it must have arrived at one target. */
    private int countWritten() {
        int found = 0;
        for (int i = 0; i < setup.writes; i++) {
            for (int target = 1; target < hosts.length; target++) {
                long there =
                        hosts[target]
                                .region
                                .segment()
                                .get(ValueLayout.JAVA_LONG, (long) i * Long.BYTES);
                found += there == stamp(i) ? 1 : 0;
            }
        }
        return found;
    }

    private int contextsInUse() {
        int sum = 0;
        for (int i = 1; i < hosts.length; i++) {
            sum += hosts[i].engine.contextsInUse();
        }
        return sum;
    }

    // Virtual time: a datagram arrives in the same step, and when nothing moves the clock does

    private void advanceUntil(BooleanSupplier done, String what) {
        long endNs = nowNs + MOST_NS;
        while (!done.getAsBoolean()) {
            if (!mayGoOn.getAsBoolean()) {
                throw new IllegalStateException("interrupted");
            }
            if (nowNs - endNs > 0) {
                throw new IllegalStateException("no end within 60 s of: " + what);
            }
            boolean moved = false;
            long nextNs = Long.MAX_VALUE;
            for (Host host : hosts) {
                moved |= turn(host);
                nextNs = Math.min(nextNs, host.engine.nextDeadlineNs());
            }
            contextsAtMost = Math.max(contextsAtMost, contextsInUse());
            nowNs = moved ? nowNs + STEP_NS : Math.max(nowNs + STEP_NS, Math.min(nextNs, endNs));
        }
    }

    /** True when the host did anything. */
    private boolean turn(Host host) {
        boolean moved = host.engine.drainPosted(nowNs) > 0;
        if (host.engine.nextDeadlineNs() <= nowNs) {
            host.engine.onTimeout(nowNs);
        }
        batch.clear();
        while (host.engine.pollTransmit(nowNs, batch) > 0) {
            moved = true;
            deliver(host);
            batch.clear();
        }
        return moved;
    }

    private void deliver(Host from) {
        for (int run = 0; run < batch.runs(); run++) {
            Host to = hosts[Host.number(batch.destination(run))];
            int end = batch.offset(run) + batch.bytes(run);
            for (int at = batch.offset(run); at < end; at += batch.segmentBytes(run)) {
                int bytes = Math.min(batch.segmentBytes(run), end - at);
                to.engine.onDatagram(nowNs, batch.memory(), at, bytes, from.address, Ecn.UNKNOWN);
            }
        }
    }

    /** Bytes that are reachable: the least of some looks, each after a collection. */
    private static long usedHeap() {
        MemoryMXBean memory = ManagementFactory.getMemoryMXBean();
        long least = Long.MAX_VALUE;
        for (int i = 0; i < LOOKS_AT_HEAP; i++) {
            memory.gc();
            least = Math.min(least, memory.getHeapMemoryUsage().getUsed());
        }
        return least;
    }

    @Override
    public void close() {
        for (Host host : hosts) {
            host.region.close();
        }
        arena.close();
    }
}
