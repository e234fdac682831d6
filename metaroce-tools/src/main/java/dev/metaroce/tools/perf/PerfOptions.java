package dev.metaroce.tools.perf;

import dev.metaroce.net.Transport;
import dev.metaroce.tools.cli.Choice;
import dev.metaroce.tools.cli.Numbers;
import dev.metaroce.tools.cli.Numbers.Bytes;
import dev.metaroce.tools.cli.Numbers.Decimal;
import dev.metaroce.tools.cli.Numbers.Whole;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

import java.nio.file.Path;
import java.util.List;

/** Options of the four perf tests, as picocli fills them in; names and defaults as perftest's. */
final class PerfOptions extends EndpointOptions {
    static final long MESSAGE_BYTES_MAX = 1L << 31;
    static final int QPS_MAX = 128;
    static final int TX_DEPTH_MAX = 16_384;
    static final int INITIATORS_MAX = 1024;

    /** Largest message of {@code -a}, which has 23 rows: 2 B, 4 B, ... 8 MiB. */
    static final long ALL_BYTES_MAX = 8L << 20;

    /** Most memory for the landing places of one connection before they are shared. */
    static final long LANDING_BYTES_MAX = 1L << 30;

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
            names = {"-b", "--bidirectional"},
            description =
                    "Bandwidth tests: the server sends too, at the same time, over the one "
                            + "connection; the table shows the total.")
    boolean bidirectional;

    @Option(
            names = "--use-srq",
            description =
                    "SEND bandwidth: all queue pairs of the receiver take from one shared receive"
                            + " queue.")
    boolean useSrq;

    @Option(
            names = {"-l", "--post-list"},
            paramLabel = "N",
            converter = TxDepth.class,
            defaultValue = "1",
            description = "Bandwidth tests: post so many messages together, 1..tx-depth (1).")
    int postList;

    @Option(
            names = {"-Q", "--cq-mod"},
            paramLabel = "N",
            converter = TxDepth.class,
            defaultValue = "1",
            description = "Bandwidth tests: one completion for so many messages, 1..tx-depth (1).")
    int cqMod;

    @Option(
            names = "--interval",
            paramLabel = "SECONDS",
            converter = Numbers.Seconds.class,
            description = "Bandwidth tests: a line each so many seconds while the test runs.")
    @Nullable Double intervalSeconds;

    @Option(
            names = "--percentiles",
            paramLabel = "P",
            split = ",",
            converter = Percentile.Converter.class,
            description = "Latency tests: which percentiles to show, as in 50,90,99 (99,99.9).")
    @Nullable List<Percentile> percentiles;

    @Option(
            names = "--histogram",
            paramLabel = "FILE",
            description = "Latency tests: write the distribution of all times as CSV.")
    @Nullable Path histogram;

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

    @Option(
            names = "--exchange",
            paramLabel = "native|perftest",
            converter = ExchangeName.class,
            defaultValue = "native",
            description =
                    "How both ends meet. perftest: over TCP as ib_write_bw, ib_read_bw and"
                            + " ib_send_bw do, so that one of these can be the other end; with"
                            + " --transport rocev2 (native).")
    Exchange exchange = Exchange.NATIVE;

    @Option(names = "--keep", description = "Server: serve one client after the other.")
    boolean keep;

    @Option(
            names = "--initiators",
            paramLabel = "N",
            converter = Initiators.class,
            defaultValue = "1",
            description =
                    "Independent endpoints in the client process, 1..1024, all driven by "
                            + "one thread; each sends -n messages per queue pair (1).")
    int initiators;

    @Option(names = "--report_gbits", description = "Table in Gb/sec (10^9 bit/s), not MiB/sec.")
    boolean reportGbits;

    @Option(
            names = "--warm-up",
            paramLabel = "SECONDS",
            converter = WarmUpSeconds.class,
            defaultValue = "1",
            description =
                    "Unmeasured traffic of the same kind before the first row, at least so long"
                            + " and until the rate is steady, 0..60 (1).")
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
            description =
                    "Exit with 4 when the average bandwidth is below so many Gb/s: of both "
                            + "directions with -b, of any row with -a.")
    @Nullable Double minGbits;

    @Option(
            names = "--max-p99",
            paramLabel = "USEC",
            converter = Threshold.class,
            description =
                    "Exit with 4 when the 99%% latency is above so many microseconds, of any row "
                            + "with -a.")
    @Nullable Double maxP99Us;

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

    Posting posting(PerfTest test) {
        int depth = txDepth == null ? test.defaultTxDepth() : txDepth;
        return new Posting(depth, postList, cqMod);
    }

    long durationNs() {
        return durationSeconds == null ? 0 : (long) (durationSeconds * 1e9);
    }

    /** Refuses combinations that make no sense, naming the options. */
    void check(PerfTest test) {
        checkEndpoint(isServer());
        if (exchange == Exchange.NATIVE) {
            checkRocePort();
        }
        checkExchange(test);
        refuse(all && size != null, "-a/--all and -s/--size exclude each other: give one");
        refuse(
                durationSeconds != null && iterations != null,
                "-D/--duration and -n/--iters exclude each other: give one");
        refuse(host != null && self, "--self starts its own server: give it or HOST, not both");
        refuse(loss != null && !self, "--loss needs a relay of its own: give --self too");
        refuse(loss != null && ipv6, "--loss relays IPv4: leave -6 out");
        refuse(host != null && keep, "--keep is for the server: leave it or HOST out");
        refuse(
                !isServer() && !self && port() == 0,
                "-p/--port 0 is for the server: give the port it printed");
        if (test.isAtomic()) {
            checkAtomic();
        }
        refuse(
                useSrq && (test.isLatency() || !test.isSend()),
                "--use-srq is for send-bw: no other test has receives to share");
        if (test.isLatency()) {
            checkLatency();
        } else {
            checkBandwidth(test);
        }
    }

    private void checkAtomic() {
        refuse(all, "-a/--all is for messages: an atomic has 8 bytes, leave it out");
        refuse(
                size != null && size != Long.BYTES,
                "-s/--size " + size + ": an atomic has 8 bytes, leave it out");
        refuse(bidirectional, "-b/--bidirectional is not for atomics: leave it out");
    }

    private void checkExchange(PerfTest test) {
        refuse(
                self && ipv6 && transport == Transport.ROCE_V2,
                "--self takes two addresses with --transport rocev2, and IPv6 has one: leave -6"
                        + " out");
        refuse(
                loss != null && transport == Transport.ROCE_V2,
                "--loss relays MetaRoCE: leave it or --transport rocev2 out");
        if (exchange == Exchange.NATIVE) {
            return;
        }
        String not = " is not for --exchange perftest: leave it out";
        refuse(
                transport != Transport.ROCE_V2,
                "--exchange perftest needs --transport rocev2: perftest speaks nothing else");
        refuse(test.isLatency(), test.command() + not);
        refuse(all, "-a/--all" + not);
        refuse(bidirectional, "-b/--bidirectional" + not);
        refuse(initiators != 1, "--initiators" + not);
        refuse(self, "--self" + not);
        refuse(intervalSeconds != null, "--interval" + not);
        refuse(
                test.isSend() && durationSeconds != null,
                "-D/--duration: perftest's server takes a number of SENDs, give -n there and here");
        refuse(useSrq, "--use-srq" + not);
        refuse(port() == 0, "-p/--port 0" + not);
    }

    /** perftest counts what arrives: no warm-up may come before. */
    double warmUpSecondsInForce() {
        return exchange == Exchange.PERFTEST ? 0 : warmUpSeconds;
    }

    private void checkLatency() {
        String uses = " is for bandwidth: a latency test uses 1";
        refuse(qps != 1, "-q/--qps " + qps + uses);
        refuse(txDepth != null && txDepth != 1, "-t/--tx-depth " + txDepth + uses);
        refuse(postList != 1, "-l/--post-list " + postList + uses);
        refuse(cqMod != 1, "-Q/--cq-mod " + cqMod + uses);
        refuse(initiators != 1, "--initiators " + initiators + uses);
        refuse(
                bidirectional,
                "-b/--bidirectional is for bandwidth: a latency test goes both ways anyhow");
        refuse(intervalSeconds != null, "--interval is for bandwidth tests: leave it out");
        refuse(minGbits != null, "--min-bw is for bandwidth tests: use --max-p99");
    }

    private void checkBandwidth(PerfTest test) {
        refuse(maxP99Us != null, "--max-p99 is for latency tests: use --min-bw");
        refuse(percentiles != null, "--percentiles is for latency tests: leave it out");
        refuse(histogram != null, "--histogram is for latency tests: leave it out");
        refuse(
                bidirectional && initiators > 1,
                "-b/--bidirectional is for one endpoint at each end: leave it or --initiators "
                        + initiators
                        + " out");
        int depth = posting(test).depth();
        String most = " is more than -t/--tx-depth " + depth + ": lower it or raise the depth";
        refuse(postList > depth, "-l/--post-list " + postList + most);
        refuse(cqMod > depth, "-Q/--cq-mod " + cqMod + most);
    }

    /** How two ends come to know each other. */
    enum Exchange {
        /** By messages of the protocol itself, and a connection for what is to be said. */
        NATIVE,
        /** As perftest does. */
        PERFTEST
    }

    static final class ExchangeName extends Choice<Exchange> {
        ExchangeName() {
            super(Exchange.class);
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

    static final class Initiators extends Whole {
        Initiators() {
            super(1, INITIATORS_MAX);
        }
    }

    static final class WarmUpSeconds extends Decimal {
        WarmUpSeconds() {
            super("seconds", "0", "60");
        }
    }

    static final class Threshold extends Decimal {
        Threshold() {
            super("the unit shown", "0", "1000000");
        }
    }
}
