package dev.metaroce.sim.fabric;

/** A switch: what its ports share. */
final class Switch {
    final int node;
    final int plane;

    /** Makes this switch choose otherwise than others among equal ways. */
    final long hashSeed;

    long bufferBytes;
    long usedBytes;
    long usedBytesMax;

    Switch(int node, int plane, long hashSeed) {
        this.node = node;
        this.plane = plane;
        this.hashSeed = hashSeed;
    }

    /** True when a queue that holds {@code queueBytes} may take a packet. */
    boolean admits(long queueBytes, int bytes, double alpha) {
        long left = bufferBytes - usedBytes;
        return bytes <= left && queueBytes + bytes <= alpha * left;
    }

    void take(long bytes) {
        usedBytes += bytes;
        usedBytesMax = Math.max(usedBytesMax, usedBytes);
    }

    /** One of {@code n} equal ways for a flow. */
    int choose(int flowHash, int n) {
        long z = (flowHash * 0x9E37_79B9_7F4A_7C15L) ^ hashSeed;
        z = (z ^ (z >>> 30)) * 0xBF58_476D_1CE4_E5B9L;
        z = (z ^ (z >>> 27)) * 0x94D0_49BB_1331_11EBL;
        return (int) (((z >>> 32) * n) >>> 32);
    }
}
