package dev.metaroce.tools.perf;

import dev.metaroce.event.CounterId;
import dev.metaroce.tools.cli.ExitCode;
import dev.metaroce.tools.cli.ToolException;
import dev.metaroce.tools.link.CounterSnapshot;
import dev.metaroce.tools.link.Endpoint;
import dev.metaroce.tools.link.EventTally;
import dev.metaroce.tools.link.Idle;
import dev.metaroce.tools.perftest.Exchange;
import dev.metaroce.tools.perftest.Figures;
import dev.metaroce.tools.perftest.TcpTalk;

import org.jspecify.annotations.Nullable;

import tools.jackson.databind.node.ObjectNode;

import java.net.InetSocketAddress;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * A bandwidth test over RoCEv2 with {@code --exchange perftest}: the other end is one of perftest's
 * programs, or this with the same option. perftest has no known data in its memory: nothing is
 * compared.
 */
final class PerftestRun {
    private static final long CONNECT_NS = TimeUnit.SECONDS.toNanos(10);
    private static final long FAREWELL_NS = TimeUnit.SECONDS.toNanos(1);

    private final PerfTest test;
    private final PerfOptions options;
    private final Printer printer;
    private final ServerReporter reporter;
    private final PerfReport report;
    private final Verdict verdict;

    PerftestRun(PerfTest test, PerfOptions options, Printer printer) {
        this.test = test;
        this.options = options;
        this.printer = printer;
        reporter =
                new ServerReporter(
                        printer.command(),
                        test,
                        options.json ? null : printer.out(),
                        this::onDocument);
        report =
                new PerfReport(
                        test,
                        false,
                        options.reportGbits,
                        List.of(),
                        options.json ? null : printer.out());
        verdict = new Verdict(options.minGbits, null);
    }

    private void onDocument(ObjectNode document) {
        if (options.json && options.keep) {
            printer.documentLine(document);
        } else if (options.json) {
            printer.document(document);
        }
    }

    /** What is known so far. */
    ObjectNode document() {
        return options.isServer() ? reporter.document() : report.document();
    }

    /** Messages of perftest are at least so far apart in memory. */
    private PerfParameters parameters() {
        long stretch = Math.max(PerftestEnd.STRETCH_BYTES_MIN, options.messageBytes(test));
        return new PerfParameters(
                test,
                false,
                false,
                stretch,
                options.qps,
                options.posting(test),
                1,
                1,
                options.seed);
    }

    /** Moves packets, and rests when there are none. */
    private static Runnable turn(Endpoint endpoint) {
        Idle idle = endpoint.newIdle();
        return () -> {
            if (endpoint.rdma().progress() > 0) {
                idle.reset();
            } else {
                idle.pause(false);
            }
        };
    }

    private static CounterSnapshot counters(Endpoint endpoint) {
        return CounterSnapshot.of(List.of(endpoint.rdma().counters()));
    }

    // Client

    int measure(List<InetSocketAddress> targets) {
        InetSocketAddress target = targets.getFirst();
        EventTally events = new EventTally();
        try (Endpoint endpoint = Endpoint.open(options.device(0, target).events(events).build())) {
            endpoint.warnings().forEach(printer::note);
            Runnable turn = turn(endpoint);
            long timeoutNs = (long) (options.timeoutSeconds * 1e9);
            try (TcpTalk talk = TcpTalk.connect(target, timeoutNs, turn);
                    PerftestEnd end = new PerftestEnd(endpoint.rdma(), parameters())) {
                end.fillSource();
                end.allocateLanding();
                Exchange exchange = new Exchange(talk, end.keys());
                end.connect(exchange.open(end.mtu()));
                awaitOpen(end, turn);
                exchange.begin(test.isSend());
                run(endpoint, end, events, target, exchange);
                hangUp(end, turn);
            }
        }
        verdict.tell(report);
        if (options.json) {
            printer.document(report.document());
        }
        return ExitCode.OK;
    }

    private void run(
            Endpoint endpoint,
            PerftestEnd end,
            EventTally events,
            InetSocketAddress target,
            Exchange exchange) {
        Configuration inForce = Configuration.of(options, test, endpoint, end.connection, target);
        report.configuration(inForce);
        report.header(inForce);
        CounterSnapshot before = counters(endpoint);
        PerfMessage.Row row =
                new PerfMessage.Row(
                        options.messageBytes(test),
                        end.connection.payloadMtu(),
                        options.iterationsOf(test),
                        options.durationNs(),
                        0);
        Idle idle = endpoint.newIdle();
        Sent sent = Sent.of(new BandwidthRun(List.of(end), row, null, null, idle).run());
        CounterSnapshot counted = counters(endpoint).since(before);
        double seconds = sent.elapsedNs() / 1e9;
        exchange.finish(test.isSend(), Figures.of(row.messageBytes(), sent.messages(), seconds));
        report(events, row, sent, counted);
    }

    private void report(
            EventTally events, PerfMessage.Row row, Sent sent, CounterSnapshot counted) {
        Traffic traffic = Traffic.of(counted.nonZero(), null);
        BandwidthResult result =
                BandwidthResult.of(row.messageBytes(), sent, traffic, null, traffic);
        PerfMessage.ServerReport unknown =
                new PerfMessage.ServerReport(null, 0, 0, 0, Map.of(), Map.of(), null);
        PerfClient.Measured measured =
                new PerfClient.Measured(
                        row,
                        sent,
                        null,
                        sent.elapsedNs() / 1e9,
                        counted.nonZero(),
                        events.nonZero(),
                        null,
                        List.of(),
                        unknown);
        report.row(measured, result);
        report.footer(measured, null);
        verdict.add(result.total().figures());
    }

    private static void awaitOpen(PerftestEnd end, Runnable turn) {
        long startNs = System.nanoTime();
        while (!end.isOpen()) {
            if (end.hasEnded() || System.nanoTime() - startNs > CONNECT_NS) {
                throw ToolException.failed(
                        "cannot connect with the queue pairs that perftest told: "
                                + end.connection.failure());
            }
            turn.run();
        }
    }

    private static void hangUp(PerftestEnd end, Runnable turn) {
        end.connection.close();
        long startNs = System.nanoTime();
        while (!end.hasEnded() && System.nanoTime() - startNs < FAREWELL_NS) {
            turn.run();
        }
    }

    // Server

    int serve() {
        InetSocketAddress at = options.exchangeAddress();
        EventTally events = new EventTally();
        try (Endpoint endpoint = Endpoint.open(options.device(0, null).events(events).build())) {
            (options.json ? printer.err() : printer.out())
                    .line(
                            "%s: listening on TCP %s, waiting for a client of perftest",
                            printer.command(), Endpoint.text(at));
            endpoint.warnings().forEach(printer::note);
            do {
                serveOne(endpoint, at);
            } while (options.keep);
        }
        return ExitCode.OK;
    }

    private void serveOne(Endpoint endpoint, InetSocketAddress at) {
        Server server = new Server(endpoint);
        try (TcpTalk talk = TcpTalk.accept(at, server, () -> false)) {
            server.serve(talk);
        } catch (ToolException e) {
            if (!options.keep) {
                throw e;
            }
            reporter.onFailure(String.valueOf(e.getMessage()));
        }
        reporter.onRunEnd();
    }

    /** What goes on while the client is not spoken with. */
    private final class Server implements Runnable {
        private final Endpoint endpoint;
        private final Runnable turn;
        private @Nullable Landing landing;

        Server(Endpoint endpoint) {
            this.endpoint = endpoint;
            turn = turn(endpoint);
        }

        @Override
        public void run() {
            turn.run();
            if (landing != null) {
                landing.repost();
            }
        }

        void serve(TcpTalk talk) {
            try (PerftestEnd end = new PerftestEnd(endpoint.rdma(), parameters())) {
                landing = new Landing(end);
                try {
                    talk(talk, end);
                } finally {
                    landing = null;
                    hangUp(end, this);
                }
            }
        }

        private void talk(TcpTalk talk, PerftestEnd end) {
            Exchange exchange = new Exchange(talk, end.keys());
            end.connect(exchange.answerOpen(end.mtu()));
            awaitOpen(end, this);
            CounterSnapshot before = counters(endpoint);
            reporter.onClient(talk.peer(), end.parameters);
            Figures figures = exchange.answerRest();
            CounterSnapshot counted = counters(endpoint).since(before);
            long bytes =
                    figures.messageBytes() > 0
                            ? figures.messageBytes()
                            : options.messageBytes(test);
            reporter.onRow(
                    bytes,
                    counted.get(CounterId.DATA_ACCEPTED),
                    null,
                    endpoint.rdma().contextsInUse());
        }
    }
}
