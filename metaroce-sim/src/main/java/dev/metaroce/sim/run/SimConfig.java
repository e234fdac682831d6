package dev.metaroce.sim.run;

import dev.metaroce.sim.fabric.FabricConfig;
import dev.metaroce.transport.DeviceLimits;

/**
 * How a simulation is set up, beside its topology and workload.
 *
 * @param seed of everything random
 * @param limits of every engine
 * @param nic of every host
 */
public record SimConfig(
        long seed,
        DeviceLimits limits,
        FabricConfig fabric,
        NicModel nic,
        Connections connections) {
    private static final long US = 1_000;

    /** With NICs that take no time, and connections made by their first flow. */
    public SimConfig(long seed, DeviceLimits limits, FabricConfig fabric) {
        this(seed, limits, fabric, NicModel.NONE);
    }

    /** With connections made by their first flow. */
    public SimConfig(long seed, DeviceLimits limits, FabricConfig fabric, NicModel nic) {
        this(seed, limits, fabric, nic, Connections.COLD);
    }

    /** Limits of an endpoint in a data centre, as fast as hardware. */
    public static DeviceLimits limits(long inboundRateBitsPerSecond) {
        return DeviceLimits.defaults().toBuilder()
                .payloadMtu(4096)
                .maxPaths(64)
                .routes(256)
                .maxConnections(65_535)
                .inboundRateBitsPerSecond(inboundRateBitsPerSecond)
                .packetLifetimeNs(10_000 * US)
                .rtoFloorNs(100 * US)
                .ackDelayNs(5 * US)
                .ackBytes(16 << 10)
                .build();
    }
}
