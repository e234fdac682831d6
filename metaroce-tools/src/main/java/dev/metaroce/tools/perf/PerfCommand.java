package dev.metaroce.tools.perf;

import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code metaroce perf}: only a roof over the tests, their server, and ping. */
@Command(
        name = "perf",
        description = "Measures bandwidth and latency between two ends, as perftest does.",
        mixinStandardHelpOptions = true,
        subcommands = {
            PerfCommand.WriteBandwidth.class,
            PerfCommand.WriteLatency.class,
            PerfCommand.ReadBandwidth.class,
            PerfCommand.ReadLatency.class,
            PerfCommand.SendBandwidth.class,
            PerfCommand.SendLatency.class,
            PerfCommand.AtomicRate.class,
            PerfCommand.AtomicLatency.class,
            PingCommand.class,
            ServerCommand.class
        })
public final class PerfCommand implements Runnable {
    @Spec private CommandSpec spec;

    @Override
    public void run() {
        throw new CommandLine.ParameterException(
                spec.commandLine(),
                "name a test: write-bw, write-lat, read-bw, read-lat, send-bw, send-lat,"
                        + " atomic-bw, atomic-lat or ping; or server");
    }

    /** RDMA WRITE bandwidth. */
    @Command(
            name = "write-bw",
            description = "RDMA WRITE bandwidth.",
            mixinStandardHelpOptions = true)
    static final class WriteBandwidth extends PerfTestCommand {
        WriteBandwidth() {
            super(PerfTest.WRITE_BW);
        }
    }

    /** RDMA WRITE latency. */
    @Command(
            name = "write-lat",
            description = "RDMA WRITE latency, half of a ping-pong.",
            mixinStandardHelpOptions = true)
    static final class WriteLatency extends PerfTestCommand {
        WriteLatency() {
            super(PerfTest.WRITE_LAT);
        }
    }

    /** RDMA READ bandwidth. */
    @Command(
            name = "read-bw",
            description = "RDMA READ bandwidth.",
            mixinStandardHelpOptions = true)
    static final class ReadBandwidth extends PerfTestCommand {
        ReadBandwidth() {
            super(PerfTest.READ_BW);
        }
    }

    /** RDMA READ latency. */
    @Command(
            name = "read-lat",
            description = "RDMA READ latency, from post to completion.",
            mixinStandardHelpOptions = true)
    static final class ReadLatency extends PerfTestCommand {
        ReadLatency() {
            super(PerfTest.READ_LAT);
        }
    }

    /** Rate of atomics. */
    @Command(
            name = "atomic-bw",
            description = "Rate of 8-byte fetch and add.",
            mixinStandardHelpOptions = true)
    static final class AtomicRate extends PerfTestCommand {
        AtomicRate() {
            super(PerfTest.ATOMIC_BW);
        }
    }

    /** Latency of atomics. */
    @Command(
            name = "atomic-lat",
            description = "Latency of 8-byte fetch and add, from post to completion.",
            mixinStandardHelpOptions = true)
    static final class AtomicLatency extends PerfTestCommand {
        AtomicLatency() {
            super(PerfTest.ATOMIC_LAT);
        }
    }

    /** SEND bandwidth. */
    @Command(name = "send-bw", description = "SEND bandwidth.", mixinStandardHelpOptions = true)
    static final class SendBandwidth extends PerfTestCommand {
        SendBandwidth() {
            super(PerfTest.SEND_BW);
        }
    }

    /** SEND latency. */
    @Command(
            name = "send-lat",
            description = "SEND latency, half of a ping-pong.",
            mixinStandardHelpOptions = true)
    static final class SendLatency extends PerfTestCommand {
        SendLatency() {
            super(PerfTest.SEND_LAT);
        }
    }
}
