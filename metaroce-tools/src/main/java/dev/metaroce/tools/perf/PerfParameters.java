package dev.metaroce.tools.perf;

import org.jspecify.annotations.Nullable;

import java.nio.ByteBuffer;

/**
 * What the client tells the server in the private data of its connection; the server adopts it. 48
 * bytes, big endian, so that it fits the 64 bytes a REQUEST has for it.
 *
 * @param test which test
 * @param maxMessageBytes largest message of the run
 * @param qps data queue pairs of this connection, beside the one for messages
 * @param txDepth work requests the client keeps outstanding per queue pair
 * @param initiators connections that belong to this run
 * @param group random number that the connections of one run share
 * @param seed of the test pattern
 */
record PerfParameters(
        PerfTest test,
        long maxMessageBytes,
        int qps,
        int txDepth,
        int initiators,
        long group,
        long seed) {
    static final int MAGIC = 0x4D52_7066; // "MRpf"
    static final int VERSION = 1;
    static final int BYTES = 48;

    /** The service id of the perf server: "perf". */
    static final long SERVICE = 0x7065_7266L;

    byte[] encode() {
        return ByteBuffer.allocate(BYTES)
                .putInt(MAGIC)
                .put((byte) VERSION)
                .put((byte) test.code())
                .putShort((short) qps)
                .putLong(maxMessageBytes)
                .putInt(txDepth)
                .putInt(initiators)
                .putLong(group)
                .putLong(seed)
                .putLong(0)
                .array();
    }

    /** Reads what {@link #encode} wrote; null for anything else. */
    static @Nullable PerfParameters decode(byte[] bytes) {
        if (bytes.length < BYTES) {
            return null;
        }
        ByteBuffer in = ByteBuffer.wrap(bytes);
        if (in.getInt() != MAGIC || in.get() != VERSION) {
            return null;
        }
        PerfTest test = PerfTest.of(in.get());
        int qps = in.getShort() & 0xFFFF;
        long maxMessageBytes = in.getLong();
        int txDepth = in.getInt();
        int initiators = in.getInt();
        PerfParameters read =
                test == null
                        ? null
                        : new PerfParameters(
                                test,
                                maxMessageBytes,
                                qps,
                                txDepth,
                                initiators,
                                in.getLong(),
                                in.getLong());
        return read != null && read.isInRange() ? read : null;
    }

    private boolean isInRange() {
        return qps >= 1
                && qps <= PerfOptions.QPS_MAX
                && maxMessageBytes >= 1
                && maxMessageBytes <= PerfOptions.MESSAGE_BYTES_MAX
                && txDepth >= 1
                && txDepth <= PerfOptions.TX_DEPTH_MAX
                && initiators >= 1
                && initiators <= PerfOptions.INITIATORS_MAX;
    }

    /** Receives the server keeps posted per queue pair. */
    int receiveDepth() {
        return test.isSend() ? Math.clamp(2L * txDepth, 512, PerfOptions.TX_DEPTH_MAX) : 1;
    }

    /** Landing places in the server's memory: one per queue pair as long as memory allows. */
    int slots() {
        long affordable = Math.max(1, PerfOptions.LANDING_BYTES_MAX / maxMessageBytes);
        return (int) Math.min(qps, affordable);
    }
}
