package dev.metaroce.sim.run;

import dev.metaroce.sim.event.EventQueue;
import dev.metaroce.sim.event.Events;
import dev.metaroce.sim.fabric.Fabric;

/** The NICs of all hosts, where they take time; see {@link NicModel}. */
final class Nics {
    /** What may wait at a port before its NIC makes no more packets. */
    private static final long QUEUE_BYTES_MAX = 32 << 10;

    private static final double BIT_PS_PER_SECOND = 8e12;

    private final NicModel model;
    private final HostProtocol protocol;
    private final EventQueue events;
    private final Fabric fabric;
    private final int[][] hostPorts;

    // By host
    private final long[] rxFreeAtPs;
    private final long[] txFreeAtPs;
    private final boolean[] armed;
    private final double[] psPerByte;
    private final ContextCache[] caches;
    private final long[] hits;
    private final long[] misses;

    Nics(
            NicModel model,
            HostProtocol protocol,
            EventQueue events,
            Fabric fabric,
            int[][] hostPorts) {
        this.model = model;
        this.protocol = protocol;
        this.events = events;
        this.fabric = fabric;
        this.hostPorts = hostPorts;
        int hosts = hostPorts.length;
        rxFreeAtPs = new long[hosts];
        txFreeAtPs = new long[hosts];
        armed = new boolean[hosts];
        psPerByte = new double[hosts];
        hits = new long[hosts];
        misses = new long[hosts];
        caches = new ContextCache[model.contexts() == 0 ? 0 : hosts];
        for (int host = 0; host < hosts; host++) {
            double rate = 0;
            for (int port : hostPorts[host]) {
                rate += fabric.port(port).rateBitsPerSecond();
            }
            psPerByte[host] = BIT_PS_PER_SECOND / rate;
            if (caches.length > 0) {
                caches[host] = new ContextCache(model.contexts());
            }
        }
    }

    /** Receives a packet that came; {@link Events#RECEIVED} follows when it is in memory. */
    void receive(long nowPs, int host, int packet) {
        long freeAtPs = Math.max(nowPs, rxFreeAtPs[host]) + model.rxPacketPs();
        if (caches.length > 0) {
            int key = protocol.context(fabric.memory(packet), fabric.offset(packet));
            if (key != HostProtocol.NO_CONTEXT && caches[host].use(key)) {
                hits[host]++;
            } else if (key != HostProtocol.NO_CONTEXT) {
                misses[host]++;
                freeAtPs += model.missPs();
            }
        }
        rxFreeAtPs[host] = freeAtPs;
        events.add(freeAtPs + model.busPs(), Events.of(Events.RECEIVED, host, packet));
    }

    /** True when the NIC of a host would make a packet at once. */
    boolean mayTake(long nowPs, int host) {
        if (txFreeAtPs[host] > nowPs) {
            return false;
        }
        for (int port : hostPorts[host]) {
            if (!fabric.isDown(port) && fabric.port(port).queueBytes() < QUEUE_BYTES_MAX) {
                return true;
            }
        }
        return false;
    }

    /** Makes a packet; {@link Events#NIC_SEND} follows when it is at its port. */
    void send(long nowPs, int host, int port, int packet) {
        long startPs = Math.max(nowPs, txFreeAtPs[host]);
        long wirePs = (long) (fabric.wireBytes(packet) * psPerByte[host]);
        txFreeAtPs[host] = startPs + Math.max(model.txPacketPs(), wirePs);
        long atPortPs = startPs + model.txPacketPs() + model.busPs();
        events.add(atPortPs, Events.of(Events.NIC_SEND, port, packet));
    }

    /** Has {@link Events#NIC_FREE} follow when the NIC, now busy, may take more. */
    void wakeWhenFree(long nowPs, int host) {
        if (!armed[host] && txFreeAtPs[host] > nowPs) {
            armed[host] = true;
            events.add(txFreeAtPs[host], Events.of(Events.NIC_FREE, host, 0));
        }
    }

    void onFree(int host) {
        armed[host] = false;
    }

    long hits(int host) {
        return hits[host];
    }

    long misses(int host) {
        return misses[host];
    }
}
