package dev.metaroce.sim.fabric;

/**
 * How switches and wires behave. Queue lengths are given for a port of 100 Gb/s and grow with the
 * rate of the port.
 *
 * @param overheadBytes bytes of a packet on the wire beside its UDP payload: by default Ethernet
 *     with preamble and gap (38), IPv4 (20) and UDP (8)
 * @param bufferBytesPer100G buffer of a switch that its ports share, for each 100 Gb/s of a port
 * @param alpha a queue may hold this many times what is left of the shared buffer (dynamic
 *     threshold of Choudhury and Hahne)
 * @param markFromBytes queue from which packets are marked "congestion experienced"
 * @param markAllBytes queue from which all packets are marked; equal to the former: a step
 * @param markProbabilityMax probability of a mark just below {@code markAllBytes}
 * @param sameHashSeed true: all switches hash alike, which is a well-known mistake
 */
public record FabricConfig(
        int overheadBytes,
        int bufferBytesPer100G,
        double alpha,
        int markFromBytes,
        int markAllBytes,
        double markProbabilityMax,
        boolean sameHashSeed) {

    /** A lossy Ethernet with ECN, as in today's data centres. */
    public static FabricConfig defaults() {
        return new FabricConfig(66, 512 << 10, 1, 50_000, 50_000, 1, false);
    }
}
