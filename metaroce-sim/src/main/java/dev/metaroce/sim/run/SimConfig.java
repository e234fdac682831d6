package dev.metaroce.sim.run;

import dev.metaroce.rocev2.RoceSettings;
import dev.metaroce.sim.fabric.FabricConfig;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.wire.NetAddress;

import org.jspecify.annotations.Nullable;

/**
 * How a simulation is set up, beside its topology and workload.
 *
 * @param seed of everything random
 * @param limits of every engine
 * @param nic of every host
 * @param realPayload packets carry the bytes of registered memory; else only their number, from
 *     virtual regions
 * @param roce of every host, which adds its address and source ports; null: hosts speak MetaRoCE
 */
public record SimConfig(
        long seed,
        DeviceLimits limits,
        FabricConfig fabric,
        NicModel nic,
        Connections connections,
        boolean realPayload,
        @Nullable RoceSettings roce) {
    private static final long US = 1_000;
    private static final int ROCE_WINDOW_PACKETS = 1 << 16;

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
        this(seed, limits, fabric, nic, connections, false, null);
    }

    /** The same with hosts that speak RoCEv2. */
    public SimConfig with(RoceSettings settings) {
        return new SimConfig(seed, limits, fabric, nic, connections, realPayload, settings);
    }

    /**
     * RoCEv2 without a limit of what is on the way, as NICs have it, and without congestion
     * control.
     *
     * @param lineBitsPerSecond of a host
     */
    public static RoceSettings roce(long lineBitsPerSecond) {
        return RoceSettings.at(NetAddress.ofIpv4(0, 0)).toBuilder()
                .windowPackets(ROCE_WINDOW_PACKETS)
                .lineBitsPerSecond(lineBitsPerSecond)
                .build();
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
