package dev.metaroce.tools.perf;

import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code metaroce perf}: only a roof over the four tests, their server, and ping. */
@Command(
        name = "perf",
        description = "Measures bandwidth and latency between two ends, as perftest does.",
        mixinStandardHelpOptions = true,
        subcommands = {
            PerfCommand.WriteBandwidth.class,
            PerfCommand.WriteLatency.class,
            PerfCommand.ReadBandwidth.class,
            PerfCommand.SendBandwidth.class,
            PerfCommand.SendLatency.class,
            PingCommand.class,
            ServerCommand.class
        })
public final class PerfCommand implements Runnable {
    @Spec private CommandSpec spec;

    @Override
    public void run() {
        throw new CommandLine.ParameterException(
                spec.commandLine(),
                "name a test: write-bw, write-lat, read-bw, send-bw, send-lat or ping; or server");
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
