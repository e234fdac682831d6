package dev.metaroce.tools.perf;

import org.jspecify.annotations.Nullable;

import java.nio.ByteBuffer;

/**
 * What the client tells the server in the private data of its connection; the server adopts it. 48
 * bytes, big endian, so that it fits the 64 bytes a REQUEST has for it.
 *
 * @param test which test
 * @param bidirectional the server sends too, at the same time
 * @param sharedReceives an end to which messages are sent has one shared receive queue
 * @param maxMessageBytes largest message of the run
 * @param qps data queue pairs of this connection, beside the one for messages
 * @param posting how work requests are posted per queue pair
 * @param initiators connections that belong to this run
 * @param group random number that the connections of one run share
 * @param seed of the test pattern
 */
record PerfParameters(
        PerfTest test,
        boolean bidirectional,
        boolean sharedReceives,
        long maxMessageBytes,
        int qps,
        Posting posting,
        int initiators,
        long group,
        long seed) {
    static final int MAGIC = 0x4D52_7066; // "MRpf"
    static final int VERSION = 3;
    static final int BYTES = 48;
    private static final int BIDIRECTIONAL = 1;
    private static final int SHARED = 2;

    /** The service id of the perf server: "perf". */
    static final long SERVICE = 0x7065_7266L;

    byte[] encode() {
        return ByteBuffer.allocate(BYTES)
                .putInt(MAGIC)
                .put((byte) VERSION)
                .put((byte) test.code())
                .putShort((short) qps)
                .putLong(maxMessageBytes)
                .putInt(posting.depth())
                .putInt(initiators)
                .putLong(group)
                .putLong(seed)
                .putShort((short) posting.list())
                .putShort((short) posting.signalEvery())
                .putInt((bidirectional ? BIDIRECTIONAL : 0) | (sharedReceives ? SHARED : 0))
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
        int qps = in.getShort();
        long maxMessageBytes = in.getLong();
        int depth = in.getInt();
        int initiators = in.getInt();
        long group = in.getLong();
        long seed = in.getLong();
        Posting posting = new Posting(depth, in.getShort(), in.getShort());
        int flags = in.getInt();
        if (test == null) {
            return null;
        }
        PerfParameters read =
                new PerfParameters(
                        test,
                        (flags & BIDIRECTIONAL) != 0,
                        (flags & SHARED) != 0,
                        maxMessageBytes,
                        qps,
                        posting,
                        initiators,
                        group,
                        seed);
        return read.isInRange() ? read : null;
    }

    private boolean isInRange() {
        return qps >= 1
                && qps <= PerfOptions.QPS_MAX
                && maxMessageBytes >= 1
                && maxMessageBytes <= PerfOptions.MESSAGE_BYTES_MAX
                && posting.isInRange()
                && initiators >= 1
                && initiators <= PerfOptions.INITIATORS_MAX
                && (!sharedReceives || (test.isSend() && !test.isLatency()))
                && (!bidirectional || (initiators == 1 && !test.isLatency()));
    }

    /** True when this end sends messages of its own accord, not only in answer. */
    boolean sends(boolean client) {
        return !test.isLatency() && (client || bidirectional);
    }

    /** Receives that an end to which messages are sent keeps posted per queue pair. */
    int receiveDepth() {
        return test.isSend() ? Math.clamp(2L * posting.depth(), 512, PerfOptions.TX_DEPTH_MAX) : 1;
    }

    /** Receives of the one shared queue, as many as it can have of those of all queue pairs. */
    int sharedDepth() {
        return (int) Math.min((long) qps * receiveDepth(), PerfOptions.TX_DEPTH_MAX);
    }

    /**
     * Landing places in the receiver's memory: one per queue pair as long as memory allows, and one
     * when any queue pair may take any receive.
     */
    int slots() {
        if (sharedReceives) {
            return 1;
        }
        long affordable = Math.max(1, PerfOptions.LANDING_BYTES_MAX / maxMessageBytes);
        return (int) Math.min(qps, affordable);
    }
}
