package dev.metaroce.engine;

import dev.metaroce.event.Counters;
import dev.metaroce.event.EventSink;
import dev.metaroce.memory.RegionTable;
import dev.metaroce.ring.DoorbellList;
import dev.metaroce.transport.Acceptor;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.transport.EndpointIdentity;
import dev.metaroce.transport.TransportConnection;
import dev.metaroce.util.Rng;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.PacketMemory;
import java.util.function.IntSupplier;

/**
 * One device's protocol engine (skeleton). Driver loop, one thread:
 * 1. drainPosted(now)  2. onDatagram(now, ...) for each received datagram (bounded batch)
 * 3. onTimeout(now) when now - nextDeadlineNs() >= 0  4. pollTransmit(now, batch) and send the batch, until it returns 0.
 */
public final class Engine {
    public Engine(DeviceLimits limits, EndpointIdentity identity, Rng rng, IntSupplier keySource, EventSink events) {}

    public int drainPosted(long nowNs) { return 0; }

    /** @param ce the datagram carried the ECN mark "congestion experienced" */
    public void onDatagram(long nowNs, PacketMemory memory, int offset, int bytes, NetAddress source, boolean ce) {}

    public void onTimeout(long nowNs) {}

    /** Appends packets to the batch (not cleared by the engine); returns the number appended; 0 = nothing to send now. */
    public int pollTransmit(long nowNs, TxBatch batch) { return 0; }

    /** Long.MAX_VALUE when nothing is armed; compare wrap-safe: deadline - now <= 0. */
    public long nextDeadlineNs() { return Long.MAX_VALUE; }

    /** True when posted work or commands wait: the driver must not sleep. Any thread. */
    public boolean hasPosted() { return false; }

    public DoorbellList doorbells() { throw new IllegalStateException(); }
    public RegionTable regions() { throw new IllegalStateException(); }
    public Counters counters() { throw new IllegalStateException(); }
    public DeviceLimits limits() { throw new IllegalStateException(); }
    public int contextsInUse() { return 0; }
    public long contextTableBytes() { return 0; }
    public TransportConnection dial(NetAddress target, long serviceId, byte[] privateData) { throw new IllegalStateException(); }
    public void listen(long serviceId, Acceptor acceptor) {}
    public void submit(Runnable command) {}
    public void close(TransportConnection connection) {}
}
