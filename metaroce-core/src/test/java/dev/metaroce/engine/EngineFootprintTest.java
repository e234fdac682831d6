package dev.metaroce.engine;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;

import dev.metaroce.event.EventSink;
import dev.metaroce.memory.Access;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkCompletion;
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
import dev.metaroce.wire.PacketMemory;
import dev.metaroce.wire.TxBatch;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.lang.management.ManagementFactory;

/**
 * What an endpoint costs in a process that holds very many of them. Counted is everything that was
 * allocated, garbage included, so that the figures repeat and are never too small.
 */
class EngineFootprintTest {
    private static final int ENDPOINTS = 200;
    private static final int MESSAGE_BYTES = 64 << 10;
    private static final int IDLE_BYTES_MAX = 15 << 9;
    private static final long SERVICE = 7;

    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    // What all endpoints share
    private final PacketMemory inbox = new PacketMemory(1 << 16);
    private final TxBatch batch = new TxBatch(new PacketMemory(1 << 18), 64, 64, true);
    private final WorkCompletion completion = new WorkCompletion();
    private long nowNs = 1_000_000;

    /** One engine that listens and writes to the next one of the ring. */
    private final class Endpoint {
        private final Engine engine;
        private final RdmaDevice device;
        private final NetAddress address;
        private final MemoryRegion region;
        private final ProtectionDomain domain;
        private final CompletionQueue queue;
        private boolean isDone;

        private Endpoint(int number, DeviceLimits limits) {
            Rng rng = new Rng(number);
            EndpointIdentity identity = new EndpointIdentity(number, 1);
            engine = new Engine(limits, identity, rng, rng::nextInt, EventSink.NONE);
            device = new RdmaDevice(engine, new ManualDriver());
            address = NetAddress.ofIpv4(0x0A00_0000 + number, 50_791);
            queue = device.createCompletionQueue(4);
            domain = device.allocProtectionDomain();
            region = domain.registerVirtual(1 << 20, Access.LOCAL_WRITE | Access.REMOTE_WRITE);
            device.listen(
                    SERVICE,
                    request -> {
                        pairOf(request.connection());
                        request.accept(request.privateData());
                    });
            engine.drainPosted(nowNs);
        }

        private QueuePair pairOf(Connection connection) {
            return connection.createQueuePair(domain, queue, queue, 1, 1);
        }

        private void write(Endpoint to) {
            QueuePair pair = pairOf(device.connect(to.address, SERVICE, new byte[0]));
            long va = to.region.address();
            pair.postWrite(1, region, 0, MESSAGE_BYTES, va, to.region.rkey());
        }

        private void turn(Endpoint[] all) {
            engine.drainPosted(nowNs);
            if (engine.nextDeadlineNs() <= nowNs) {
                engine.onTimeout(nowNs);
            }
            batch.clear();
            engine.pollTransmit(nowNs, batch);
            for (int run = 0; run < batch.runs(); run++) {
                Engine to = all[(int) batch.destination(run).low() & 0xFFFF].engine;
                int at = batch.offset(run);
                int end = at + batch.bytes(run);
                for (int i = batch.firstPacket(run); at < end; i++) {
                    int bytes = Math.min(batch.segmentBytes(run), end - at);
                    deliver(to, at, bytes, batch.lentBytes(i), batch.lentAt(i));
                    at += bytes;
                }
            }
            while (queue.poll(completion)) {
                assertThat(completion.status()).isEqualTo(WcStatus.SUCCESS);
                isDone = true;
            }
        }

        private void deliver(Engine to, int at, int bytes, int elided, int headerBytes) {
            int head = elided > 0 ? headerBytes : bytes;
            inbox.bytes().put(0, batch.memory().bytes(), at, head);
            int rest = bytes - head - elided;
            inbox.bytes().put(head, batch.memory().bytes(), at + head + elided, rest);
            inbox.elide(elided);
            to.onDatagram(nowNs, inbox, 0, bytes, address, Ecn.UNKNOWN);
        }
    }

    private static DeviceLimits limits(int paths, long inboundRate) {
        return DeviceLimits.defaults().toBuilder()
                .maxPaths(paths)
                .routes(paths)
                .payloadMtu(4096)
                .inboundRateBitsPerSecond(inboundRate)
                .build();
    }

    private Endpoint[] endpoints(DeviceLimits limits) {
        Endpoint[] all = new Endpoint[ENDPOINTS];
        for (int i = 0; i < all.length; i++) {
            all[i] = new Endpoint(i, limits);
        }
        return all;
    }

    private void exchange(Endpoint[] all) {
        for (int i = 0; i < all.length; i++) {
            all[i].write(all[(i + 1) % all.length]);
        }
        for (int turns = 0; turns < 100; turns++) {
            nowNs += 2_000;
            for (Endpoint endpoint : all) {
                endpoint.turn(all);
            }
        }
        for (Endpoint endpoint : all) {
            assertThat(endpoint.isDone).isTrue();
        }
    }

    /** Bytes that this thread allocates by an action, per endpoint. */
    private static long bytesPerEndpoint(Runnable action) {
        long before = THREADS.getCurrentThreadAllocatedBytes();
        action.run();
        return (THREADS.getCurrentThreadAllocatedBytes() - before) / ENDPOINTS;
    }

    @Test
    void anIdleEndpointTakesAFewKibibytes() {
        DeviceLimits limits = limits(16, 100_000_000_000L);
        endpoints(limits);

        assertThat(bytesPerEndpoint(() -> endpoints(limits))).isLessThan(IDLE_BYTES_MAX);
    }

    @ParameterizedTest
    @CsvSource({"8, 0, 26", "16, 100000000000, 36"})
    void anEndpointThatSendsAndReceivesAMessageTakesTensOfKibibytes(
            int paths, long inboundRate, int maxKib) {
        DeviceLimits limits = limits(paths, inboundRate);
        exchange(endpoints(limits));

        long bytes = bytesPerEndpoint(() -> exchange(endpoints(limits)));

        assertThat(bytes).isLessThan(maxKib * 1024L);
    }
}
