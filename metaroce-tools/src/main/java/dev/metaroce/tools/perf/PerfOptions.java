package dev.metaroce.tools.perf;

import dev.metaroce.tools.cli.Numbers;
import dev.metaroce.tools.cli.Numbers.Bytes;
import dev.metaroce.tools.cli.Numbers.Decimal;
import dev.metaroce.tools.cli.Numbers.Whole;
import dev.metaroce.tools.cli.ToolException;
import dev.metaroce.wire.Profile;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.TypeConversionException;

import java.util.Locale;

/** Options of the four perf tests, as picocli fills them in; names and defaults as perftest's. */
final class PerfOptions {
    static final long MESSAGE_BYTES_MAX = 1L << 31;
    static final int QPS_MAX = 128;
    static final int TX_DEPTH_MAX = 16_384;
    static final int INITIATORS_MAX = 1024;
    static final int DEFAULT_PORT = 18_515;

    /** Largest message of {@code -a}, which has 23 rows: 2 B, 4 B, ... 8 MiB. */
    static final long ALL_BYTES_MAX = 8L << 20;

    /** Most memory for the landing places of one connection before they are shared. */
    static final long LANDING_BYTES_MAX = 1L << 30;

    enum Drive {
        INLINE,
        THREAD;

        String label() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    @Parameters(
            arity = "0..1",
            paramLabel = "HOST[:PORT]",
            description =
                    "Server to connect to: a name, an IPv4 or an IPv6 address. Without it, "
                            + "be the server.")
    @Nullable String host;

    @Option(
            names = {"-s", "--size"},
            paramLabel = "BYTES",
            converter = MessageSize.class,
            description =
                    "Message size, 1..2G; k, M, G mean KiB, MiB, GiB (bandwidth 64k, latency 2).")
    @Nullable Long size;

    @Option(
            names = {"-n", "--iters"},
            paramLabel = "N",
            converter = Iterations.class,
            description = "Messages per queue pair (1000; write-bw 5000).")
    @Nullable Integer iterations;

    @Option(
            names = {"-D", "--duration"},
            paramLabel = "SECONDS",
            converter = Numbers.Seconds.class,
            description =
                    "Post for so long instead of a number of messages; the outstanding ones "
                            + "are then waited for and counted with their time.")
    @Nullable Double durationSeconds;

    @Option(
            names = {"-a", "--all"},
            description = "All sizes from 2 B to 8 MiB in powers of two, 23 rows.")
    boolean all;

    @Option(
            names = {"-q", "--qps"},
            paramLabel = "N",
            converter = Qps.class,
            defaultValue = "1",
            description = "Queue pairs, that is streams of the one connection (1).")
    int qps;

    @Option(
            names = {"-t", "--tx-depth"},
            paramLabel = "N",
            converter = TxDepth.class,
            description = "Messages outstanding per queue pair (bandwidth 128, latency 1).")
    @Nullable Integer txDepth;

    @Option(
            names = {"-p", "--port"},
            paramLabel = "PORT",
            converter = Numbers.Port.class,
            defaultValue = "" + DEFAULT_PORT,
            description = "UDP port of the server (18515); 0 lets the server choose a free one.")
    int port;

    @Option(names = "--bind", paramLabel = "ADDRESS", description = "Local address (any).")
    @Nullable String bind;

    @Option(names = "--json", description = "One JSON document on standard output, nothing else.")
    boolean json;

    @Option(
            names = "--self",
            description = "Start the server too, in a second Java process on this machine.")
    boolean self;

    @Option(
            names = "--loss",
            paramLabel = "PERCENT",
            converter = Numbers.Percent.class,
            description =
                    "With --self: a relay in between drops so many packets, in each direction,"
                            + " 0..100 (no relay).")
    @Nullable Double loss;

    @Option(names = "--keep", description = "Server: serve one client after the other.")
    boolean keep;

    @Option(
            names = "--mtu",
            paramLabel = "BYTES",
            converter = Mtu.class,
            description = "Largest payload per packet, a multiple of 64 in 256..65408 (8896).")
    @Nullable Integer mtu;

    @Option(
            names = "--profile",
            paramLabel = "S|M",
            converter = ProfileName.class,
            description =
                    "S: one path, Go-Back-N. M: many paths, selective acknowledgement (the "
                            + "best both ends offer).")
    @Nullable Profile profile;

    @Option(
            names = "--paths",
            paramLabel = "N",
            converter = Paths.class,
            description = "Most paths of a lease, 1..16 (8).")
    @Nullable Integer paths;

    @Option(
            names = "--initiators",
            paramLabel = "N",
            converter = Initiators.class,
            defaultValue = "1",
            description =
                    "Independent endpoints in the client process, 1..1024, all driven by "
                            + "one thread; each sends -n messages per queue pair (1).")
    int initiators;

    @Option(
            names = "--drive",
            paramLabel = "inline|thread",
            converter = DriveName.class,
            defaultValue = "inline",
            description =
                    "inline: the testing thread moves the packets. thread: a driver thread "
                            + "does (inline).")
    Drive drive;

    @Option(names = "-4", description = "Use IPv4 only.")
    boolean ipv4;

    @Option(
            names = {"-6", "--ipv6"},
            description = "Use IPv6 only.")
    boolean ipv6;

    @Option(names = "--report_gbits", description = "Table in Gb/sec (10^9 bit/s), not MiB/sec.")
    boolean reportGbits;

    @Option(
            names = "--warm-up",
            paramLabel = "SECONDS",
            converter = WarmUp.class,
            defaultValue = "1",
            description = "Unmeasured traffic of the same kind before the first row, 0..60 (1).")
    double warmUpSeconds;

    @Option(
            names = "--seed",
            paramLabel = "N",
            defaultValue = "1",
            description = "Seed of the test data (1).")
    long seed;

    @Option(
            names = "--timeout",
            paramLabel = "SECONDS",
            converter = Numbers.Seconds.class,
            defaultValue = "10",
            description = "How long a client waits for the server to appear (10).")
    double timeoutSeconds;

    @Option(
            names = "--min-bw",
            paramLabel = "GBITS",
            converter = Threshold.class,
            description = "Exit with 4 when the average bandwidth is below so many Gb/s.")
    @Nullable Double minGbits;

    @Option(
            names = "--max-p99",
            paramLabel = "USEC",
            converter = Threshold.class,
            description = "Exit with 4 when the 99%% latency is above so many microseconds.")
    @Nullable Double maxP99Us;

    @Option(names = "--end-with-parent", hidden = true)
    boolean endWithParent;

    boolean isServer() {
        return host == null && !self;
    }

    /** The server's name or address; only for a client. */
    String host() {
        return java.util.Objects.requireNonNull(host);
    }

    long messageBytes(PerfTest test) {
        return size == null ? test.defaultMessageBytes() : size;
    }

    long maxMessageBytes(PerfTest test) {
        return all ? ALL_BYTES_MAX : messageBytes(test);
    }

    int iterationsOf(PerfTest test) {
        return iterations == null ? test.defaultIterations() : iterations;
    }

    int txDepthOf(PerfTest test) {
        return txDepth == null ? test.defaultTxDepth() : txDepth;
    }

    /** Refuses combinations that make no sense, naming the options. */
    void check(PerfTest test) {
        refuse(all && size != null, "-a/--all and -s/--size exclude each other: give one");
        refuse(
                durationSeconds != null && iterations != null,
                "-D/--duration and -n/--iters exclude each other: give one");
        refuse(ipv4 && ipv6, "-4 and -6 exclude each other: give one");
        refuse(host != null && self, "--self starts its own server: give it or HOST, not both");
        refuse(loss != null && !self, "--loss needs a relay of its own: give --self too");
        refuse(loss != null && ipv6, "--loss relays IPv4: leave -6 out");
        refuse(host != null && keep, "--keep is for the server: leave it or HOST out");
        refuse(
                !isServer() && !self && port == 0,
                "-p/--port 0 is for the server: give the port it printed");
        if (test.isLatency()) {
            refuse(qps != 1, "-q/--qps " + qps + " is for bandwidth: a latency test uses 1");
            refuse(
                    txDepth != null && txDepth != 1,
                    "-t/--tx-depth " + txDepth + " is for bandwidth: a latency test uses 1");
            refuse(
                    initiators != 1,
                    "--initiators " + initiators + " is for bandwidth: a latency test uses 1");
            refuse(minGbits != null, "--min-bw is for bandwidth tests: use --max-p99");
        } else {
            refuse(maxP99Us != null, "--max-p99 is for latency tests: use --min-bw");
        }
    }

    private static void refuse(boolean wrong, String message) {
        if (wrong) {
            throw ToolException.usage(message);
        }
    }

    static final class MessageSize extends Bytes {
        MessageSize() {
            super(1, MESSAGE_BYTES_MAX);
        }
    }

    static final class Iterations extends Whole {
        Iterations() {
            super(1, 1_000_000_000);
        }
    }

    static final class Qps extends Whole {
        Qps() {
            super(1, QPS_MAX);
        }
    }

    static final class TxDepth extends Whole {
        TxDepth() {
            super(1, TX_DEPTH_MAX);
        }
    }

    static final class Paths extends Whole {
        Paths() {
            super(1, 16);
        }
    }

    static final class Initiators extends Whole {
        Initiators() {
            super(1, INITIATORS_MAX);
        }
    }

    static final class WarmUp extends Decimal {
        WarmUp() {
            super("seconds", "0", "60");
        }
    }

    static final class Threshold extends Decimal {
        Threshold() {
            super("the unit shown", "0", "1000000");
        }
    }

    static final class Mtu implements ITypeConverter<Integer> {
        @Override
        public Integer convert(String text) {
            int value = text.matches("[0-9]{1,9}") ? Integer.parseInt(text) : -1;
            if (value < 256 || value > 65_408 || value % 64 != 0) {
                throw new TypeConversionException(
                        "'" + text + "' is not a multiple of 64 in 256..65408");
            }
            return value;
        }
    }

    static final class ProfileName implements ITypeConverter<Profile> {
        @Override
        public Profile convert(String text) {
            return switch (text.toUpperCase(Locale.ROOT)) {
                case "S" -> Profile.S;
                case "M" -> Profile.M;
                default -> throw new TypeConversionException("'" + text + "' is not S or M");
            };
        }
    }

    static final class DriveName implements ITypeConverter<Drive> {
        @Override
        public Drive convert(String text) {
            return switch (text) {
                case "inline" -> Drive.INLINE;
                case "thread" -> Drive.THREAD;
                default ->
                        throw new TypeConversionException("'" + text + "' is not inline or thread");
            };
        }
    }
}
