package dev.metaroce.tools.connections;

import dev.metaroce.engine.Engine;
import dev.metaroce.event.EventSink;
import dev.metaroce.memory.Access;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.transport.EndpointIdentity;
import dev.metaroce.util.Rng;
import dev.metaroce.verbs.CompletionQueue;
import dev.metaroce.verbs.Connection;
import dev.metaroce.verbs.ManualDriver;
import dev.metaroce.verbs.ProtectionDomain;
import dev.metaroce.verbs.QueuePair;
import dev.metaroce.verbs.RdmaDevice;
import dev.metaroce.wire.NetAddress;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** One device with memory, and a queue pair of depth 16 for each of its connections. */
final class Host {
    /** Work requests of each queue. */
    static final int DEPTH = 16;

    private static final long SERVICE = 7;
    private static final int ADDRESSES = 0x0A00_0000;
    private static final int PORT = 50_791;

    final Engine engine;
    final RdmaDevice device;
    final NetAddress address;
    final CompletionQueue queue;
    final MemoryRegion region;
    private final ProtectionDomain domain;

    Host(int number, int connections, int regionBytes, Arena arena, long seed) {
        Rng rng = new Rng(seed).fork("host " + number);
        DeviceLimits limits =
                DeviceLimits.defaults().toBuilder().maxConnections(connections).build();
        engine =
                new Engine(
                        limits,
                        new EndpointIdentity(rng.nextLong(), 1),
                        rng,
                        rng::nextInt,
                        EventSink.NONE);
        device = new RdmaDevice(engine, new ManualDriver());
        address = NetAddress.ofIpv4(ADDRESSES + number, PORT);
        domain = device.allocProtectionDomain();
        queue = device.createCompletionQueue(2 * DEPTH * connections);
        MemorySegment memory = arena.allocate(regionBytes, 8);
        region = domain.register(memory, Access.LOCAL_WRITE | Access.REMOTE_WRITE);
        device.listen(SERVICE, request -> pairOf(request.accept()));
    }

    QueuePair connect(Host target) {
        return pairOf(device.connect(target.address, SERVICE, new byte[0]));
    }

    private QueuePair pairOf(Connection connection) {
        return connection.createQueuePair(domain, queue, queue, DEPTH, DEPTH);
    }

    /** The number in an address of a host. */
    static int number(NetAddress address) {
        return (int) address.low() & 0xFF_FFFF;
    }
}
