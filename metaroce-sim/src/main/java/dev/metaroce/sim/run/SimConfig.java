package dev.metaroce.sim.run;

import dev.metaroce.sim.fabric.FabricConfig;
import dev.metaroce.transport.DeviceLimits;

/**
 * How a simulation is set up, beside its topology and workload.
 *
 * @param seed of everything random
 * @param limits of every engine
 * @param nic of every host
 * @param realPayload packets carry the bytes of registered memory; else only their number, from
 *     virtual regions
 */
public record SimConfig(
        long seed,
        DeviceLimits limits,
        FabricConfig fabric,
        NicModel nic,
        Connections connections,
        boolean realPayload) {
    private static final long US = 1_000;

    /** With NICs that take no time, connections made by their first flow, and virtual payload. */
    public SimConfig(long seed, DeviceLimits limits, FabricConfig fabric) {
        this(seed, limits, fabric, NicModel.NONE);
    }

    /** With connections made by their first flow, and virtual payload. */
    public SimConfig(long seed, DeviceLimits limits, FabricConfig fabric, NicModel nic) {
        this(seed, limits, fabric, nic, Connections.COLD);
    }

    /** With virtual payload. */
    public SimConfig(
            long seed,
            DeviceLimits limits,
            FabricConfig fabric,
            NicModel nic,
            Connections connections) {
        this(seed, limits, fabric, nic, connections, false);
    }

    /** Limits of an endpoint in a data centre, as fast as hardware. */
    public static DeviceLimits limits(long inboundRateBitsPerSecond) {
        return DeviceLimits.defaults().toBuilder()
                .payloadMtu(4096)
                .routes(256)
                .inboundRateBitsPerSecond(inboundRateBitsPerSecond)
                .hintPeriodNs(10 * US)
                .packetLifetimeNs(10_000 * US)
                .rtoFloorNs(100 * US)
                .ackDelayNs(5 * US)
                .ackBytes(16 << 10)
                .build();
    }
}
