package dev.metaroce.tools.perf;

import dev.metaroce.event.CounterId;
import dev.metaroce.event.Counters;
import dev.metaroce.event.EventId;
import dev.metaroce.memory.RegionDescriptor;
import dev.metaroce.net.Addresses;
import dev.metaroce.net.DeviceOptions;
import dev.metaroce.net.Reachability;
import dev.metaroce.net.Transport;
import dev.metaroce.tools.cli.ToolException;
import dev.metaroce.tools.link.CounterSnapshot;
import dev.metaroce.tools.link.Endpoint;
import dev.metaroce.tools.link.EventTally;
import dev.metaroce.tools.link.Idle;
import dev.metaroce.tools.link.LinkFailure;
import dev.metaroce.transport.ConnectionState;

import org.jspecify.annotations.Nullable;

import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/**
 * The asking side of all perf tests: connects its initiators, agrees with the server on each row,
 * runs it, and fetches what the server saw. One thread.
 */
final class PerfClient implements AutoCloseable {
    /** A name with several addresses gets this long per address before the next is tried. */
    private static final long TRY_NS = TimeUnit.SECONDS.toNanos(1);

    /** Answers of the server in between rows: it may have gigabytes to clear or to compare. */
    private static final long ANSWER_NS = TimeUnit.SECONDS.toNanos(60);

    private static final long GOODBYE_NS = TimeUnit.SECONDS.toNanos(5);

    /**
     * One row as measured here.
     *
     * @param sent what a bandwidth test sent, else null
     * @param latency round trips of a latency test, else null
     * @param elapsedS of those round trips
     * @param counters of this end in the row, those that are not zero
     * @param events of this end since its start, those that are not zero
     * @param dataIntact whether this end holds what the server sent, null when it sends nothing or
     *     nobody looked
     * @param intervals in order; empty when none were asked for
     */
    record Measured(
            PerfMessage.Row row,
            @Nullable Sent sent,
            @Nullable LatencyMeter latency,
            double elapsedS,
            Map<String, Long> counters,
            Map<String, Long> events,
            @Nullable Boolean dataIntact,
            List<Interval> intervals,
            PerfMessage.ServerReport server) {}

    /** Whoever says nothing for so long is asked for the reason. */
    private static final long ASK_NS = 100_000_000;

    private static final CompletableFuture<String> NOT_ASKED = new CompletableFuture<>();

    private final PerfParameters parameters;
    private final List<InetSocketAddress> targets;
    private final Map<InetSocketAddress, CompletableFuture<String>> asked = new HashMap<>();
    private final long timeoutNs;
    private final List<Endpoint> endpoints = new ArrayList<>();
    private final List<EventTally> tallies = new ArrayList<>();
    private final List<Peer> peers = new ArrayList<>();
    private Transport transport = Transport.METAROCE;
    private Idle idle = new Idle();
    private @Nullable Landing landing;
    private @Nullable InetSocketAddress connectedTo;

    PerfClient(PerfParameters parameters, List<InetSocketAddress> targets, long timeoutNs) {
        this.parameters = parameters;
        this.targets = targets;
        this.timeoutNs = timeoutNs;
    }

    /** Opens one endpoint per initiator. */
    void open(DeviceOptions.Builder options) {
        transport = options.build().transport();
        for (int i = 0; i < parameters.initiators(); i++) {
            EventTally tally = new EventTally();
            tallies.add(tally);
            endpoints.add(Endpoint.open(options.events(tally).build()));
        }
        idle = endpoints.size() == 1 ? endpoint().newIdle() : new Idle();
    }

    /** Connects all initiators; goes on trying until the server appears or the time is over. */
    void connect() {
        long startNs = System.nanoTime();
        String reason = "";
        for (int attempt = 0; connectedTo == null; attempt++) {
            InetSocketAddress target = targets.get(attempt % targets.size());
            long leftNs = timeoutNs - (System.nanoTime() - startNs);
            if (leftNs <= 0) {
                throw noAnswer(reason);
            }
            reason = tryOnce(target, targets.size() > 1 ? Math.min(TRY_NS, leftNs) : leftNs);
        }
        allocate();
    }

    /** Empty when it worked, or why not. */
    private String tryOnce(InetSocketAddress target, long budgetNs) {
        for (Endpoint endpoint : endpoints) {
            peers.add(Peer.dial(endpoint, Addresses.toNetAddress(target), parameters));
        }
        boolean settled = drive(this::isSettled, Math.min(budgetNs, ASK_NS));
        if (!settled) {
            asked.computeIfAbsent(target, Reachability::ask);
            settled = drive(this::isSettled, budgetNs - ASK_NS);
        }
        String reason = reasonNotOpen();
        if (settled && reason.isEmpty()) {
            connectedTo = target;
            return "";
        }
        for (Peer peer : peers) {
            if (!peer.hasEnded()) {
                peer.connection.close();
            }
            peer.close();
        }
        peers.clear();
        if (settled) {
            // Refused: ask again, but not at once.
            drive(() -> false, Math.min(budgetNs, TRY_NS / 4));
        }
        return reason;
    }

    private boolean isSettled() {
        boolean all = true;
        for (Peer peer : peers) {
            if (peer.hasEnded()) {
                return true;
            }
            all &= peer.isOpen();
        }
        return all;
    }

    private String reasonNotOpen() {
        for (Peer peer : peers) {
            if (!peer.isOpen()) {
                return peer.connection.failure();
            }
            Welcome welcome = Welcome.decode(peer.connection.peerPrivateData());
            if (welcome == null) {
                return "what listens there is no perf server";
            }
            if (welcome != Welcome.OK) {
                return welcome.reason();
            }
        }
        return "";
    }

    private ToolException noAnswer(String reason) {
        StringBuilder tried = new StringBuilder();
        for (InetSocketAddress target : targets) {
            tried.append(tried.isEmpty() ? "" : " or ").append(Endpoint.text(target));
        }
        double seconds = timeoutNs / 1e9;
        if (reason.isEmpty() || reason.contains("no answer")) {
            return ToolException.failed(
                    "no answer from %s within %.1f s: %s; start 'metaroce perf server' there%s"
                            .formatted(
                                    tried,
                                    seconds,
                                    whySilent(),
                                    transport == Transport.METAROCE
                                            ? ", or give its port with -p"
                                            : ""));
        }
        return ToolException.failed(
                "%s did not accept the test within %.1f s: %s".formatted(tried, seconds, reason));
    }

    private String whySilent() {
        return targets.stream()
                .map(to -> asked.getOrDefault(to, NOT_ASKED).getNow(Reachability.nothing(to)))
                .distinct()
                .collect(Collectors.joining(", or "));
    }

    private void allocate() {
        if (parameters.test().isPingPong()) {
            return; // it brings its own memory
        }
        Peer first = peers.getFirst();
        first.fillSource();
        for (Peer other : peers.subList(1, peers.size())) {
            if (parameters.test().isAtomic()) {
                other.fillSource();
            } else {
                other.source(first.source().segment());
            }
        }
        landing = parameters.bidirectional() ? new Landing(first) : null;
    }

    /**
     * Agrees with the server on a row; afterwards messages may flow.
     *
     * @return the game of a latency test, else null
     */
    @Nullable Rounds begin(PerfMessage.Row row) {
        Peer first = peers.getFirst();
        Rounds game = null;
        if (parameters.test().isPingPong()) {
            game = new PingPong(first, row.messageBytes(), row.pieceBytes());
        } else if (parameters.test().isLatency()) {
            game = new Pulls(first, row.messageBytes());
        }
        if (landing != null) {
            landing.prepare(row.messageBytes());
        }
        RegionDescriptor target = first.hasLanding() ? first.landing().descriptor() : null;
        for (Peer peer : peers) {
            peer.forgetPulled();
            peer.channel.send(PerfMessage.row(row, target));
        }
        for (PerfMessage ready : answers(PerfMessage.Kind.READY)) {
            if (ready.region() == null) {
                throw ToolException.failed("the server sent no address to write to");
            }
        }
        return game;
    }

    /** A row of messages of a size, for {@link #begin} and {@link #measure}. */
    PerfMessage.Row row(long messageBytes, long iterations, long durationNs, long quietNs) {
        int pieceBytes = peer().connection.payloadMtu();
        return new PerfMessage.Row(messageBytes, pieceBytes, iterations, durationNs, quietNs);
    }

    /**
     * Measures one row.
     *
     * @param verify compare memory with the test data, here and there
     * @param intervalNs length of the intervals that {@code onInterval} hears of, 0 for none
     */
    Measured measure(
            PerfMessage.Row row, boolean verify, long intervalNs, Consumer<Interval> onInterval) {
        Rounds game = begin(row);
        List<Interval> intervals = new ArrayList<>();
        CounterSnapshot before = counters();
        Sent sent = null;
        LatencyMeter latency = null;
        double elapsedS;
        if (game == null) {
            IntervalMeter cuts = null;
            if (intervalNs > 0) {
                cuts =
                        new IntervalMeter(
                                intervalNs,
                                row.messageBytes(),
                                () -> counters().get(CounterId.DATA_RESENT),
                                onInterval.andThen(intervals::add));
            }
            sent = Sent.of(new BandwidthRun(peers, row, landing, cuts, idle).run());
            elapsedS = sent.elapsedNs() / 1e9;
        } else {
            LatencyRun run = new LatencyRun(peer(), game, row, idle);
            latency = run.run();
            elapsedS = run.elapsedNs() / 1e9;
        }
        CounterSnapshot counted = counters().since(before);
        PerfMessage.ServerReport report = end(verify);
        Boolean intact = null;
        if (verify && landing != null) {
            intact = landing.isIntact(row.messageBytes());
        } else if (verify && parameters.test().isRead()) {
            intact = peers.stream().allMatch(peer -> peer.hasRead(row.messageBytes()));
        } else if (verify && parameters.test().isAtomic()) {
            long done = latency == null ? Objects.requireNonNull(sent).messages() : latency.count();
            intact = peers.stream().mapToLong(Peer::fetched).sum() == done;
        }
        return new Measured(
                row,
                sent,
                latency,
                elapsedS,
                counted.nonZero(),
                events(),
                intact,
                intervals,
                report);
    }

    private PerfMessage.ServerReport end(boolean verify) {
        for (Peer peer : peers) {
            peer.channel.send(PerfMessage.rowEnd(verify));
        }
        return sum(answers(PerfMessage.Kind.REPORT));
    }

    /** The first server report stands for all, since they are of one device; data is per peer. */
    private static PerfMessage.ServerReport sum(List<PerfMessage> answers) {
        PerfMessage.ServerReport first = answers.getFirst().report();
        Boolean intact = first == null ? null : first.dataIntact();
        int peak = 0;
        for (PerfMessage answer : answers) {
            PerfMessage.ServerReport report = answer.report();
            if (report == null) {
                throw ToolException.failed("the server sent no report");
            }
            peak = Math.max(peak, report.contextsPeak());
            if (Boolean.FALSE.equals(report.dataIntact())) {
                intact = false;
            }
        }
        if (first == null) {
            throw ToolException.failed("the server sent no report");
        }
        return new PerfMessage.ServerReport(
                intact,
                first.contexts(),
                peak,
                first.contextTableBytes(),
                first.counters(),
                first.events(),
                first.sent());
    }

    /** Waits for one message of the kind from every peer and notes the memory it tells. */
    private List<PerfMessage> answers(PerfMessage.Kind kind) {
        List<PerfMessage> got = new ArrayList<>();
        List<Peer> owing = new ArrayList<>(peers);
        boolean all =
                drive(
                        () -> {
                            if (landing != null) {
                                landing.repost();
                            }
                            owing.removeIf(peer -> collect(peer, kind, got));
                            return owing.isEmpty();
                        },
                        ANSWER_NS);
        if (!all) {
            throw ToolException.failed(
                    "the server did not say %s within %d s"
                            .formatted(kind, TimeUnit.NANOSECONDS.toSeconds(ANSWER_NS)));
        }
        return got;
    }

    private static boolean collect(Peer peer, PerfMessage.Kind kind, List<PerfMessage> into) {
        PerfMessage message = pollOf(peer, kind);
        return message != null && into.add(message);
    }

    private static @Nullable PerfMessage pollOf(Peer peer, PerfMessage.Kind kind) {
        PerfMessage message = peer.channel.poll(PerfMessage.class);
        if (message == null) {
            if (peer.hasEnded()) {
                String why = LinkFailure.reasonOf(peer.connection);
                throw ToolException.failed(
                        "the server %s ended the connection%s"
                                .formatted(
                                        peer.connection.peer(), why.isEmpty() ? "" : ": " + why));
            }
            return null;
        }
        if (message.kind() == PerfMessage.Kind.REFUSAL) {
            throw ToolException.failed("the server ended the run: " + message.reason());
        }
        if (message.kind() != kind) {
            throw ToolException.failed(
                    "the server said %s where %s was due".formatted(message.kind(), kind));
        }
        if (message.region() != null) {
            peer.remote = message.region();
        }
        return message;
    }

    /** Tells the server that the run is over, and ends the connections. */
    void goodbye() {
        for (Peer peer : peers) {
            peer.channel.send(PerfMessage.bye());
        }
        drive(
                () -> peers.stream().allMatch(p -> p.hasEnded() || p.channel.isFlushed()),
                GOODBYE_NS);
        hangUp();
    }

    /** Whoever waits less long for a server does not wait longer for its farewell either. */
    private void hangUp() {
        for (Peer peer : peers) {
            peer.connection.close();
        }
        long budgetNs = Math.min(GOODBYE_NS, timeoutNs);
        drive(() -> peers.stream().allMatch(Peer::hasEnded), budgetNs);
    }

    /** Moves packets until the condition holds; false when the time is over before. */
    boolean drive(BooleanSupplier condition, long timeoutNs) {
        long startNs = System.nanoTime();
        idle.reset();
        while (!condition.getAsBoolean()) {
            int moved = 0;
            for (Endpoint endpoint : endpoints) {
                moved += endpoint.rdma().progress();
            }
            if (System.nanoTime() - startNs > timeoutNs) {
                return condition.getAsBoolean();
            }
            if (moved > 0) {
                idle.reset();
            } else {
                idle.pause(false);
            }
        }
        return true;
    }

    private CounterSnapshot counters() {
        List<Counters> all = new ArrayList<>();
        for (Endpoint endpoint : endpoints) {
            all.add(endpoint.rdma().counters());
        }
        return CounterSnapshot.of(all);
    }

    private Map<String, Long> events() {
        Map<String, Long> sum = new TreeMap<>();
        for (EventTally tally : tallies) {
            tally.nonZero().forEach((name, count) -> sum.merge(name, count, Long::sum));
        }
        return sum;
    }

    Endpoint endpoint() {
        return endpoints.getFirst();
    }

    Peer peer() {
        return peers.getFirst();
    }

    /** Where the server was found. */
    InetSocketAddress serverAddress() {
        if (connectedTo == null) {
            throw new IllegalStateException("serverAddress() before connect()");
        }
        return connectedTo;
    }

    long count(EventId id) {
        return tallies.stream().mapToLong(tally -> tally.count(id)).sum();
    }

    /** After a failure the server should not wait for us either. */
    @Override
    public void close() {
        boolean someoneListens =
                peers.stream().anyMatch(p -> p.connection.state() == ConnectionState.OPEN);
        if (someoneListens) {
            hangUp();
        }
        endpoints.forEach(Endpoint::close);
    }
}
