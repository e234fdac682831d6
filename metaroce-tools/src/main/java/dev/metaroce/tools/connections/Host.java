package dev.metaroce.tools.connections;

import dev.metaroce.engine.Engine;
import dev.metaroce.event.EventSink;
import dev.metaroce.memory.Access;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.net.Transport;
import dev.metaroce.rocev2.RoceProtocol;
import dev.metaroce.rocev2.RoceSettings;
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
import dev.metaroce.wire.roce.RoceUdp;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * One device with memory, and a queue pair of depth 16 for each of its connections: MetaRoCE's
 * share what leases there are, RoCEv2's are of their own each.
 */
final class Host {
    /** Work requests of each queue. */
    static final int DEPTH = 16;

    private static final long SERVICE = 7;
    private static final int ADDRESSES = 0x0A00_0000;
    private static final int PORT = 50_791;
    private static final int QPS_MIN = 65_536;

    final Engine engine;
    final RdmaDevice device;
    final NetAddress address;
    final CompletionQueue queue;
    final MemoryRegion region;
    private final ProtectionDomain domain;

    Host(
            int number,
            Transport transport,
            int connections,
            int regionBytes,
            Arena arena,
            long seed) {
        Rng rng = new Rng(seed).fork("host " + number);
        DeviceLimits limits =
                DeviceLimits.defaults().toBuilder().maxConnections(connections).build();
        boolean rocev2 = transport == Transport.ROCE_V2;
        address = NetAddress.ofIpv4(ADDRESSES + number, rocev2 ? RoceUdp.PORT : PORT);
        engine = rocev2 ? roceV2(limits, rng) : metaRoce(limits, rng);
        device = new RdmaDevice(engine, new ManualDriver());
        domain = device.allocProtectionDomain();
        queue = device.createCompletionQueue(2 * DEPTH * connections);
        MemorySegment memory = arena.allocate(regionBytes, 8);
        region = domain.register(memory, Access.LOCAL_WRITE | Access.REMOTE_WRITE);
        device.listen(SERVICE, request -> pairOf(request.accept()));
        engine.drainPosted(0);
    }

    private static Engine metaRoce(DeviceLimits limits, Rng rng) {
        EndpointIdentity identity = new EndpointIdentity(rng.nextLong(), 1);
        return new Engine(limits, identity, rng, rng::nextInt, EventSink.NONE);
    }

    private Engine roceV2(DeviceLimits limits, Rng rng) {
        int qps = Math.max(QPS_MIN, limits.maxConnections());
        RoceSettings settings = RoceSettings.at(address).toBuilder().maxQps(qps).build();
        return new Engine(
                new RoceProtocol(limits, settings, rng::nextInt, EventSink.NONE), rng::nextInt);
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
