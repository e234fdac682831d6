package dev.metaroce.tools.perf;

import dev.metaroce.net.DeviceOptions;
import dev.metaroce.tools.cli.ExitCode;
import dev.metaroce.tools.cli.ToolException;

import org.jspecify.annotations.Nullable;

import tools.jackson.databind.node.ObjectNode;

import java.net.InetSocketAddress;
import java.security.SecureRandom;
import java.util.List;

/** The client of a test as a command: connects, measures its rows, reports, judges. */
final class ClientRun {
    private static final long ROW_WARM_UP_NS = 200_000_000;

    /** Many initiators share one machine's sockets, so that each gets by with one path. */
    private static final int FEW_INITIATORS = 16;

    private final PerfTest test;
    private final PerfOptions options;
    private final Printer printer;
    private final List<Percentile> percentiles;
    private final PerfReport report;
    private final Verdict verdict;
    private @Nullable Boolean intact;

    ClientRun(PerfTest test, PerfOptions options, Printer printer) {
        this.test = test;
        this.options = options;
        this.printer = printer;
        percentiles = options.percentiles == null ? Percentile.DEFAULT : options.percentiles;
        report =
                new PerfReport(
                        test,
                        options.all,
                        options.reportGbits,
                        percentiles,
                        options.json ? null : printer.out());
        verdict = new Verdict(options.minGbits, options.maxP99Us);
    }

    /** What is known so far. */
    ObjectNode document() {
        return report.document();
    }

    /**
     * @param targets addresses of the server, tried in turn
     * @return the exit code
     */
    int measure(List<InetSocketAddress> targets) {
        long timeoutNs = (long) (options.timeoutSeconds * 1e9);
        try (HistogramFile histogram =
                        options.histogram == null ? null : HistogramFile.open(options.histogram);
                PerfClient client = new PerfClient(parameters(), targets, timeoutNs)) {
            client.open(device(targets));
            client.endpoint().warnings().forEach(printer::note);
            report.configuration(configuration(client, false));
            client.connect();
            Configuration inForce = configuration(client, true);
            report.configuration(inForce);
            tellLimits(inForce);
            report.header(inForce);
            PerfClient.Measured last =
                    options.all ? sweep(client, histogram) : single(client, histogram);
            client.goodbye();
            report.configuration(configuration(client, true));
            report.footer(last, intact);
            verdict.tell(report);
        }
        if (options.json) {
            printer.document(report.document());
        }
        return ExitCode.OK;
    }

    private PerfParameters parameters() {
        long group = 0;
        while (group == 0) {
            group = new SecureRandom().nextLong();
        }
        return new PerfParameters(
                test,
                options.bidirectional,
                options.useSrq,
                options.maxMessageBytes(test),
                options.qps,
                options.posting(test),
                options.initiators,
                group,
                options.seed);
    }

    private DeviceOptions.Builder device(List<InetSocketAddress> targets) {
        DeviceOptions.Builder device = options.device(0, targets.getFirst());
        if (options.bind == null) {
            device.targetHint(targets.getFirst().getAddress().getHostAddress());
        }
        if (options.paths == null && options.initiators > FEW_INITIATORS) {
            device.paths(1);
        }
        return device;
    }

    private PerfClient.Measured single(PerfClient client, @Nullable HistogramFile histogram) {
        long bytes = options.messageBytes(test);
        return row(client, bytes, (long) (options.warmUpSeconds * 1e9), histogram);
    }

    private PerfClient.Measured sweep(PerfClient client, @Nullable HistogramFile histogram) {
        new WarmUp(client).run(test.defaultMessageBytes(), (long) (options.warmUpSeconds * 1e9));
        long rowWarmUpNs = options.warmUpSeconds == 0 ? 0 : ROW_WARM_UP_NS;
        PerfClient.Measured last = null;
        for (long bytes = 2; bytes <= PerfOptions.ALL_BYTES_MAX; bytes *= 2) {
            last = row(client, bytes, rowWarmUpNs, histogram);
        }
        return java.util.Objects.requireNonNull(last);
    }

    private PerfClient.Measured row(
            PerfClient client, long bytes, long warmUpNs, @Nullable HistogramFile histogram) {
        new WarmUp(client).run(bytes, warmUpNs);
        double seconds = options.intervalSeconds == null ? 0 : options.intervalSeconds;
        PerfClient.Measured measured =
                client.measure(
                        client.row(bytes, options.iterationsOf(test), options.durationNs(), 0),
                        true,
                        (long) (seconds * 1e9),
                        report::interval);
        LatencyMeter latency = measured.latency();
        if (latency == null) {
            onBandwidth(measured, java.util.Objects.requireNonNull(measured.sent()));
        } else {
            onLatency(measured, latency.row(bytes, measured.elapsedS(), percentiles));
            if (histogram != null) {
                histogram.add(bytes, latency);
            }
        }
        return measured;
    }

    private void onBandwidth(PerfClient.Measured measured, Sent sent) {
        PerfMessage.ServerReport server = measured.server();
        long bytes = measured.row().messageBytes();
        BandwidthResult result =
                BandwidthResult.of(
                        bytes,
                        sent,
                        Traffic.of(
                                measured.counters(),
                                test.isPull() ? measured.dataIntact() : server.dataIntact()),
                        server.sent(),
                        Traffic.of(server.counters(), measured.dataIntact()));
        report.row(measured, result);
        intact = result.total().traffic().dataIntact();
        refuseWrongData(server.dataIntact(), "the server", bytes);
        refuseWrongData(measured.dataIntact(), "this client", bytes);
        refuseWrongFigures(result.total().figures().addsUp(), result);
        verdict.add(result.total().figures());
    }

    private void onLatency(PerfClient.Measured measured, LatencyRow row) {
        report.row(measured, row);
        intact = measured.dataIntact();
        refuseWrongData(measured.dataIntact(), "this client", measured.row().messageBytes());
        refuseWrongFigures(row.addsUp(), row);
        verdict.add(row);
    }

    private static void refuseWrongData(@Nullable Boolean right, String whose, long bytes) {
        if (Boolean.FALSE.equals(right)) {
            throw ToolException.failed(
                    "the memory of %s does not hold what was sent (%d B messages)"
                            .formatted(whose, bytes));
        }
    }

    private static void refuseWrongFigures(boolean right, Object figures) {
        if (!right) {
            throw ToolException.failed(
                    "the figures contradict each other, which is a bug of this tool: " + figures);
        }
    }

    private Configuration configuration(PerfClient client, boolean connected) {
        return connected
                ? Configuration.of(
                        options,
                        test,
                        client.endpoint(),
                        client.peer().connection,
                        client.serverAddress())
                : Configuration.of(options, test, client.endpoint(), null, null);
    }

    private void tellLimits(Configuration inForce) {
        if (options.mtu != null
                && inForce.payloadMtu() != null
                && inForce.payloadMtu() < options.mtu) {
            printer.note(
                    "payload MTU is %d, not %d: the link or the server allows no more (give --mtu"
                                    .formatted(inForce.payloadMtu(), options.mtu)
                            + " there too)");
        }
    }
}
