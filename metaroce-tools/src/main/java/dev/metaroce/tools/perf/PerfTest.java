package dev.metaroce.tools.perf;

import org.jspecify.annotations.Nullable;

/** The tests, and ping. The code is what the client tells the server. */
enum PerfTest {
    WRITE_BW(1, "write-bw", "RDMA WRITE bandwidth test", 65_536, 5000, 128),
    WRITE_LAT(2, "write-lat", "RDMA WRITE latency test", 2, 1000, 1),
    SEND_BW(3, "send-bw", "SEND bandwidth test", 65_536, 1000, 128),
    SEND_LAT(4, "send-lat", "SEND latency test", 2, 1000, 1),
    READ_BW(6, "read-bw", "RDMA READ bandwidth test", 65_536, 1000, 128),
    READ_LAT(7, "read-lat", "RDMA READ latency test", 2, 1000, 1),
    ATOMIC_BW(8, "atomic-bw", "fetch and add rate test", Long.BYTES, 1000, 128),
    ATOMIC_LAT(9, "atomic-lat", "fetch and add latency test", Long.BYTES, 1000, 1),
    PING(5, "ping", "ping", 64, 1, 1);

    private final int code;
    private final String command;
    private final String title;
    private final long messageBytes;
    private final int iterations;
    private final int txDepth;

    PerfTest(
            int code,
            String command,
            String title,
            long messageBytes,
            int iterations,
            int txDepth) {
        this.code = code;
        this.command = command;
        this.title = title;
        this.messageBytes = messageBytes;
        this.iterations = iterations;
        this.txDepth = txDepth;
    }

    static @Nullable PerfTest of(int code) {
        for (PerfTest test : values()) {
            if (test.code == code) {
                return test;
            }
        }
        return null;
    }

    int code() {
        return code;
    }

    /** The subcommand. */
    String command() {
        return command;
    }

    String title() {
        return title;
    }

    /** One message at a time. */
    boolean isLatency() {
        return isPingPong() || this == READ_LAT || this == ATOMIC_LAT;
    }

    /** One message out, one back: both ends send. */
    boolean isPingPong() {
        return this == WRITE_LAT || this == SEND_LAT || this == PING;
    }

    boolean isSend() {
        return this == SEND_BW || this == SEND_LAT || this == PING;
    }

    /** The client takes data from the server's memory. */
    boolean isRead() {
        return this == READ_BW || this == READ_LAT;
    }

    /** The client adds 1 to words in the server's memory, and gets what was there before. */
    boolean isAtomic() {
        return this == ATOMIC_BW || this == ATOMIC_LAT;
    }

    /** What has to be right afterwards is at the client. */
    boolean isPull() {
        return isRead() || isAtomic();
    }

    /** Defaults as perftest has them. */
    long defaultMessageBytes() {
        return messageBytes;
    }

    int defaultIterations() {
        return iterations;
    }

    int defaultTxDepth() {
        return txDepth;
    }
}
