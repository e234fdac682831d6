package dev.metaroce.tools.perf;

import dev.metaroce.net.DeviceOptions;
import dev.metaroce.net.DriveMode;
import dev.metaroce.net.FaultRelay;
import dev.metaroce.tools.MetaRoce;
import dev.metaroce.tools.cli.ChildJvm;
import dev.metaroce.tools.cli.ExitCode;
import dev.metaroce.tools.cli.Json;
import dev.metaroce.tools.cli.JsonReporter;
import dev.metaroce.tools.cli.Terminal;
import dev.metaroce.tools.cli.ToolException;
import dev.metaroce.tools.link.Endpoint;
import dev.metaroce.tools.link.EventTally;
import dev.metaroce.tools.link.LossyLink;
import dev.metaroce.tools.link.SocketOptions;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.wire.Profile;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

import tools.jackson.databind.node.ObjectNode;

import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.Callable;

/** One perf test as a command: server without a host, client with one, both with {@code --self}. */
abstract class PerfTestCommand implements Callable<Integer>, JsonReporter {
    private static final String LISTENING = "listening on UDP ";
    private static final long ROW_WARM_UP_NS = 200_000_000;
    private static final long WARM_UP_BYTES_MAX = 1 << 20;

    /** Many initiators share one machine's sockets, so that each gets by with one path. */
    private static final int FEW_INITIATORS = 16;

    private final PerfTest test;
    @Spec private CommandSpec spec;
    @Mixin private PerfOptions options;
    @Mixin private final SocketOptions sockets = new SocketOptions();

    private @Nullable PerfReport report;

    PerfTestCommand(PerfTest test) {
        this.test = test;
        options = new PerfOptions();
    }

    @Override
    public boolean json() {
        return options.json;
    }

    @Override
    public ObjectNode document() {
        if (report != null) {
            return report.document();
        }
        ObjectNode document = Json.object();
        document.put("command", spec.qualifiedName());
        document.put("test", test.command());
        document.put("role", options.isServer() ? "server" : "client");
        return document;
    }

    @Override
    public Integer call() {
        options.check(test);
        if (options.isServer()) {
            return serve();
        }
        if (!options.self) {
            Endpoint.Family family = family();
            return measure(Endpoint.resolve(options.host(), options.port, family));
        }
        try (SelfServer server = SelfServer.start(test, options, sockets)) {
            if (options.loss != null) {
                return measureThroughRelay(server, options.loss);
            }
            String loopback = options.ipv6 ? "::1" : "127.0.0.1";
            int code = measure(Endpoint.resolve(loopback, server.port(), Endpoint.Family.ANY));
            server.awaitExit();
            return code;
        }
    }

    private int measureThroughRelay(SelfServer server, double loss) {
        try (FaultRelay relay = LossyLink.open(server.port(), loss, options.seed)) {
            int code = measure(List.of(relay.localAddress()));
            server.awaitExit();
            return code;
        }
    }

    private Endpoint.Family family() {
        if (options.ipv4) {
            return Endpoint.Family.IPV4;
        }
        return options.ipv6 ? Endpoint.Family.IPV6 : Endpoint.Family.ANY;
    }

    private DeviceOptions.Builder device() {
        DeviceOptions.Builder builder =
                DeviceOptions.builder()
                        .driveMode(
                                options.drive == PerfOptions.Drive.INLINE
                                        ? DriveMode.INLINE
                                        : DriveMode.THREAD);
        sockets.apply(builder);
        if (options.bind != null) {
            builder.bind(options.bind);
        } else if (options.ipv4) {
            builder.bind("0.0.0.0");
        }
        if (options.mtu != null) {
            builder.payloadMtu(options.mtu);
        }
        if (options.profile != null) {
            builder.profiles(options.profile.code());
        }
        if (options.paths != null) {
            builder.paths(options.paths);
        }
        return builder;
    }

    // ---- server ----

    private int serve() {
        if (options.endWithParent) {
            ChildJvm.endWithParent();
        }
        EventTally events = new EventTally();
        ServerReporter output = new ServerReporter(test, options.json ? null : terminal());
        try (Endpoint endpoint =
                Endpoint.open(device().port(options.port).events(events).build())) {
            PerfServer server = new PerfServer(endpoint, events, output, options.keep);
            Terminal words =
                    options.json ? new Terminal(spec.commandLine().getErr(), false) : terminal();
            words.line(
                    "%s: %s%s, waiting for a client",
                    spec.qualifiedName(), LISTENING, Endpoint.text(endpoint.localAddress()));
            warn(endpoint);
            server.run();
        }
        if (options.json) {
            print(output.document());
        }
        return ExitCode.OK;
    }

    /** The port in the line that a server prints first. */
    static int portOf(String line) {
        int start = line.indexOf(LISTENING);
        int comma = line.indexOf(',', start + 1);
        int colon = comma < 0 ? -1 : line.lastIndexOf(':', comma);
        if (start < 0 || colon < start) {
            throw ToolException.failed("the server said something unexpected: " + line);
        }
        return Integer.parseInt(line.substring(colon + 1, comma));
    }

    // ---- client ----

    private int measure(List<InetSocketAddress> targets) {
        PerfReport results =
                new PerfReport(
                        test, options.all, options.reportGbits, options.json ? null : terminal());
        report = results;
        long timeoutNs = (long) (options.timeoutSeconds * 1e9);
        try (PerfClient client = new PerfClient(parameters(), targets, timeoutNs)) {
            DeviceOptions.Builder device = device().port(0);
            if (options.bind == null) {
                device.targetHint(targets.getFirst().getAddress().getHostAddress());
            }
            if (options.paths == null && options.initiators > FEW_INITIATORS) {
                device.paths(1);
            }
            client.open(device);
            warn(client.endpoint());
            results.configuration(configuration(client, false));
            client.connect();
            Configuration inForce = configuration(client, true);
            results.configuration(inForce);
            tellLimits(inForce);
            results.header(inForce);
            PerfClient.Measured last = options.all ? sweep(client) : single(client);
            client.goodbye();
            results.configuration(configuration(client, true));
            results.footer(last);
            checkResult(last);
        }
        if (options.json) {
            print(results.document());
        }
        return ExitCode.OK;
    }

    private PerfParameters parameters() {
        long group = 0;
        while (group == 0) {
            group = new java.security.SecureRandom().nextLong();
        }
        return new PerfParameters(
                test,
                options.maxMessageBytes(test),
                options.qps,
                options.txDepthOf(test),
                options.initiators,
                group,
                options.seed);
    }

    private PerfClient.Measured single(PerfClient client) {
        long bytes = options.messageBytes(test);
        long warmUpNs = (long) (options.warmUpSeconds * 1e9);
        return row(client, bytes, warmUpNs);
    }

    private PerfClient.Measured sweep(PerfClient client) {
        warmUp(client, test.defaultMessageBytes(), (long) (options.warmUpSeconds * 1e9));
        long rowWarmUpNs = options.warmUpSeconds == 0 ? 0 : ROW_WARM_UP_NS;
        PerfClient.Measured last = null;
        for (long bytes = 2; bytes <= PerfOptions.ALL_BYTES_MAX; bytes *= 2) {
            last = row(client, bytes, rowWarmUpNs);
        }
        return java.util.Objects.requireNonNull(last);
    }

    private PerfClient.Measured row(PerfClient client, long bytes, long warmUpNs) {
        warmUp(client, bytes, warmUpNs);
        double seconds = options.durationSeconds == null ? 0 : options.durationSeconds;
        PerfClient.Measured measured =
                client.measure(bytes, options.iterationsOf(test), (long) (seconds * 1e9), true);
        PerfReport results = java.util.Objects.requireNonNull(report);
        results.row(measured);
        if (Boolean.FALSE.equals(measured.server().dataIntact())) {
            throw ToolException.failed(
                    "the server's memory does not hold what was sent (%d B messages)"
                            .formatted(bytes));
        }
        checkFigures(measured);
        return measured;
    }

    private static void warmUp(PerfClient client, long bytes, long warmUpNs) {
        if (warmUpNs > 0) {
            client.measure(Math.min(bytes, WARM_UP_BYTES_MAX), 1, warmUpNs, false);
        }
    }

    private static void checkFigures(PerfClient.Measured measured) {
        BandwidthRow bandwidth = measured.bandwidth();
        LatencyRow latency = measured.latency();
        if ((bandwidth != null && !bandwidth.addsUp()) || (latency != null && !latency.addsUp())) {
            throw ToolException.failed(
                    "the figures contradict each other, which is a bug of this tool: "
                            + (bandwidth != null ? bandwidth : latency));
        }
    }

    private void checkResult(PerfClient.Measured last) {
        PerfReport results = java.util.Objects.requireNonNull(report);
        BandwidthRow bandwidth = last.bandwidth();
        if (options.minGbits != null && bandwidth != null) {
            boolean pass = bandwidth.bwAverageGbps() >= options.minGbits;
            finish(
                    results,
                    pass,
                    "average bandwidth %.3f Gb/s is %s threshold --min-bw %s"
                            .formatted(
                                    bandwidth.bwAverageGbps(),
                                    pass ? "not below" : "below",
                                    options.minGbits));
        }
        LatencyRow latency = last.latency();
        if (options.maxP99Us != null && latency != null) {
            boolean pass = latency.tP99Us() <= options.maxP99Us;
            finish(
                    results,
                    pass,
                    "99%% latency %.2f usec is %s threshold --max-p99 %s"
                            .formatted(
                                    latency.tP99Us(),
                                    pass ? "not above" : "above",
                                    options.maxP99Us));
        }
    }

    private static void finish(PerfReport results, boolean pass, String text) {
        results.verdict(pass, text);
        if (!pass) {
            throw ToolException.threshold(text);
        }
    }

    private Configuration configuration(PerfClient client, boolean connected) {
        DeviceLimits limits = client.endpoint().rdma().limits();
        InetSocketAddress local =
                connected
                        ? client.endpoint().localAddressTowards(client.serverAddress())
                        : client.endpoint().localAddress();
        return new Configuration(
                options.all ? null : options.messageBytes(test),
                options.durationSeconds == null ? options.iterationsOf(test) : null,
                options.durationSeconds,
                options.warmUpSeconds,
                options.qps,
                options.all
                        ? options.txDepthOf(test)
                        : BandwidthRun.effectiveDepth(
                                options.txDepthOf(test), options.messageBytes(test)),
                options.initiators,
                options.seed,
                profileName(connected ? client.peer().connection.profile() : null),
                connected ? client.peer().connection.paths() : null,
                connected ? client.peer().connection.payloadMtu() : null,
                limits.payloadMtu(),
                options.drive.label(),
                options.self,
                options.loss == null ? null : options.loss * 100,
                Endpoint.text(local),
                connected ? Endpoint.text(client.serverAddress()) : null,
                limits.contexts(),
                limits.giveUpNs() / 1_000_000,
                MetaRoce.version(),
                System.getProperty("java.version"),
                System.getProperty("java.vm.name"),
                System.getProperty("os.name") + " " + System.getProperty("os.arch"),
                Runtime.getRuntime().availableProcessors());
    }

    /** The profile in force, else the one asked for, else what a device prefers. */
    private String profileName(@Nullable Profile inForce) {
        Profile asked = options.profile == null ? Profile.M : options.profile;
        return (inForce == null ? asked : inForce).name();
    }

    private void tellLimits(Configuration inForce) {
        if (options.mtu != null
                && inForce.payloadMtu() != null
                && inForce.payloadMtu() < options.mtu) {
            note(
                    "payload MTU is %d, not %d: the link or the server allows no more (give --mtu"
                                    .formatted(inForce.payloadMtu(), options.mtu)
                            + " there too)");
        }
    }

    private void warn(Endpoint endpoint) {
        endpoint.warnings().forEach(this::note);
    }

    private void note(String text) {
        spec.commandLine().getErr().println(spec.qualifiedName() + ": note: " + text);
        spec.commandLine().getErr().flush();
    }

    private Terminal terminal() {
        return Terminal.of(spec.commandLine().getOut());
    }

    private void print(ObjectNode document) {
        spec.commandLine().getOut().println(Json.pretty(document));
        spec.commandLine().getOut().flush();
    }
}
