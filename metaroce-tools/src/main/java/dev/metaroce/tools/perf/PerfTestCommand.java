package dev.metaroce.tools.perf;

import dev.metaroce.net.FaultRelay;
import dev.metaroce.net.IdleStrategy;
import dev.metaroce.tools.cli.Json;
import dev.metaroce.tools.cli.JsonReporter;
import dev.metaroce.tools.link.Endpoint;
import dev.metaroce.tools.link.LossyLink;

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
    private final PerfTest test;
    @Spec private CommandSpec spec;
    @Mixin private PerfOptions options;

    private @Nullable ClientRun client;
    private @Nullable ServerRun server;
    private @Nullable PerftestRun perftest;

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
        if (client != null) {
            return client.document();
        }
        if (server != null) {
            return server.document();
        }
        if (perftest != null) {
            return perftest.document();
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
        // A sleep takes longer than the round trip that is to be measured.
        options.sockets.defaultIdle(test.isLatency() ? IdleStrategy.YIELD : IdleStrategy.PARK);
        if (options.exchange == PerfOptions.Exchange.PERFTEST) {
            perftest = new PerftestRun(test, options, new Printer(spec));
            return options.isServer() ? perftest.serve() : perftest.measure(tcpTargets());
        }
        if (options.isServer()) {
            server = new ServerRun(options, test, options.keep, new Printer(spec));
            return server.serve();
        }
        if (!options.self) {
            return measure(options.devices(options.host()));
        }
        try (SelfServer second = SelfServer.start(test, options, options.sockets)) {
            if (options.loss != null) {
                return measureThroughRelay(second, options.loss);
            }
            String loopback = SelfServer.address(options);
            int code = measure(Endpoint.resolve(loopback, second.port(), Endpoint.Family.ANY));
            second.awaitExit();
            return code;
        }
    }

    private List<InetSocketAddress> tcpTargets() {
        return Endpoint.resolve(options.host(), options.port(), options.family());
    }

    private int measureThroughRelay(SelfServer second, double loss) {
        try (FaultRelay relay = LossyLink.open(second.port(), loss, options.seed)) {
            int code = measure(List.of(relay.localAddress()));
            second.awaitExit();
            return code;
        }
    }

    private int measure(List<InetSocketAddress> targets) {
        ClientRun run = new ClientRun(test, options, new Printer(spec));
        client = run;
        return run.measure(targets);
    }
}
