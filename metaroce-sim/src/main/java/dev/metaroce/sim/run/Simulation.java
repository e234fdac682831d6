package dev.metaroce.sim.run;

import dev.metaroce.engine.Engine;
import dev.metaroce.sim.ConfigException;
import dev.metaroce.sim.event.EventQueue;
import dev.metaroce.sim.event.Events;
import dev.metaroce.sim.fabric.EcmpCensus;
import dev.metaroce.sim.fabric.Fabric;
import dev.metaroce.sim.fabric.LinkChange;
import dev.metaroce.sim.topology.Routes;
import dev.metaroce.sim.topology.Topology;
import dev.metaroce.sim.workload.FlowSink;
import dev.metaroce.sim.workload.Workload;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.transport.SendingState;
import dev.metaroce.util.Rng;
import dev.metaroce.verbs.QueuePair;
import dev.metaroce.verbs.RdmaDevice;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.PacketMemory;
import dev.metaroce.wire.TxBatch;

import org.jspecify.annotations.Nullable;

import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;

/**
 * Real engines on a simulated network, in one thread. The same configuration and seed give the same
 * run, event for event.
 */
public final class Simulation implements Fabric.Hosts {
    private static final int PS_PER_NS = 1_000;

    /** 100 days; the clock of a simulation ends after 106. */
    private static final long START_MAX_PS = 100L * 24 * 3600 * 1_000_000_000_000L;

    /** Packets an engine makes at a time: few, so that what it sends next is chosen late. */
    private static final int BATCH_PACKETS = 4;

    private static final int LARGEST_ANSWER_BYTES = 1024;

    /** Room for all that a DATA packet has beside its payload. */
    private static final int HEADERS = 128;

    private static final long HASH_PRIME = 0x9E37_79B9_7F4A_7C15L;

    /** Why {@link #advance} came back. */
    public enum Stop {
        ALL_ENDED,
        PAUSED,
        EVENTS_DONE,
        NO_EVENTS
    }

    private final EventQueue events = new EventQueue();
    private final SimConfig config;
    private final Topology topology;
    private final Routes routes;
    private final Application application;
    private final boolean flowsOnly;
    private final Rng processes;
    private final Fabric fabric;
    private final HostProtocol protocol;
    private final int controlClass;
    private final int cnpClass;

    /** By host: the traffic class of its data. */
    private final int[] dataClasses;

    private final Flows flows = new Flows();
    private final Host[] hosts;
    private final int[][] hostPorts;

    /** Null when NICs take no time. */
    private final @Nullable Nics nics;

    private final TxBatch batch;
    private final Consumer<TxBatch> toNic = this::toNic;
    private final FlowSink adding = this::addFlow;
    private @Nullable Workload workload;
    private Host sending;
    private long nowPs;

    /** What others see as time 0: connections may have been opened before. */
    private long originPs;

    private int opening;
    private boolean readsNothing = true;
    private long eventCount;
    private long traceHash;

    public Simulation(SimConfig config, Topology topology) {
        this(config, topology, Application.NONE);
    }

    public Simulation(SimConfig config, Topology topology, Application application) {
        this.config = config;
        this.topology = topology;
        this.application = application;
        flowsOnly = application.equals(Application.NONE);
        Rng rng = new Rng(config.seed());
        processes = rng.fork("processes");
        protocol = HostProtocol.of(config);
        controlClass = config.fabric().controlClass();
        cnpClass = config.fabric().cnpClass();
        routes = Routes.of(topology);
        int mtu = config.limits().payloadMtu();
        boolean virtual = !config.realPayload();
        fabric =
                new Fabric(
                        events,
                        topology,
                        routes,
                        config.fabric().toBuilder()
                                .mtuBytesAtLeast(config.fabric().overheadBytes() + mtu + HEADERS)
                                .build(),
                        virtual ? LARGEST_ANSWER_BYTES : mtu + LARGEST_ANSWER_BYTES,
                        rng.fork("fabric"),
                        this);
        int batchBytes = BATCH_PACKETS * (mtu + HEADERS) + LARGEST_ANSWER_BYTES;
        batch = new TxBatch(new PacketMemory(batchBytes), BATCH_PACKETS, 1, virtual);
        hosts = new Host[topology.hosts()];
        hostPorts = new int[hosts.length][];
        dataClasses = new int[hosts.length];
        Rng own = rng.fork("hosts");
        for (int i = 0; i < hosts.length; i++) {
            hosts[i] =
                    new Host(
                            i,
                            config,
                            protocol,
                            application.limits(i, config.limits()),
                            own,
                            1,
                            application.events(i));
            hostPorts[i] = routes.ports(i);
            dataClasses[i] = application.dataClass(i, config.fabric().dataClass());
        }
        sending = hosts[0];
        boolean quick = config.nic().equals(NicModel.NONE);
        nics = quick ? null : new Nics(config.nic(), protocol, events, fabric, hostPorts);
    }

    Host host(int number) {
        return hosts[number];
    }

    public SimConfig config() {
        return config;
    }

    HostProtocol protocol() {
        return protocol;
    }

    public Topology topology() {
        return topology;
    }

    public Routes routes() {
        return routes;
    }

    public Flows flows() {
        return flows;
    }

    public Fabric fabric() {
        return fabric;
    }

    public Engine engine(int host) {
        return hosts[host].engine;
    }

    public RdmaDevice device(int host) {
        return hosts[host].device;
    }

    public NetAddress address(int host) {
        return hosts[host].address;
    }

    /** The most receive contexts of a host that were ever in use at once. */
    public int contextsPeak(int host) {
        return hosts[host].contextsPeak();
    }

    /**
     * Bytes of a flow that its sender does not know to have arrived; all of them when it failed.
     */
    public long missingBytes(int flow) {
        if (!flows.isOpen(flow)) {
            return flows.failure(flow).isEmpty() ? 0 : flows.bytes(flow);
        }
        return hosts[flows.source(flow)].missingBytes(flows, flow);
    }

    /** One line on what an open flow is doing. */
    public String state(int flow) {
        return hosts[flows.source(flow)].state(flows, flow, nowNs());
    }

    /** How the connection of a flow sends; null when it has no lease. */
    public @Nullable SendingState sending(int flow) {
        return hosts[flows.source(flow)].sending(flows.destination(flow));
    }

    /** How the flows added so far spread over equal ways when each uses so many routes. */
    public EcmpCensus census(int routesPerFlow) {
        EcmpCensus census = fabric.census();
        for (int flow = 0; flow < flows.count(); flow++) {
            int source = flows.source(flow);
            int destination = flows.destination(flow);
            for (int route = 0; route < routesPerFlow; route++) {
                int hash = flowHash(source, destination, hosts[source].firstPort + route);
                census.add(portFor(source, route), destination, hash);
            }
        }
        return census;
    }

    /** How often a NIC had the receive context that it needed. */
    public long contextHits(int host) {
        return nics == null ? 0 : nics.hits(host);
    }

    /** How often a NIC had to fetch a receive context. */
    public long contextMisses(int host) {
        return nics == null ? 0 : nics.misses(host);
    }

    public long nowPs() {
        return nowPs - originPs;
    }

    /** When the next event happens; Long.MAX_VALUE when there is none. */
    public long nextEventPs() {
        long next = events.nextTimePs();
        return next == Long.MAX_VALUE ? next : next - originPs;
    }

    public long eventCount() {
        return eventCount;
    }

    /** Of all events so far, times and order included. */
    public long traceHash() {
        return traceHash;
    }

    /**
     * Adds a flow that starts at {@code atPs}; returns its number.
     *
     * @throws ConfigException when that is past, or so late that times could wrap, or more bytes
     *     than a message can have
     */
    public int addFlow(int source, int destination, long bytes, long atPs) {
        return addFlow(flows.count(), source, destination, atPs, bytes);
    }

    /**
     * Adds a flow whose bytes {@code reader} fetches from {@code target} by READ, in the same way.
     *
     * @throws ConfigException as {@link #addFlow} does
     */
    public int addRead(int reader, int target, long bytes, long atPs) {
        int flow = addFlow(reader, target, bytes, atPs);
        flows.reads(flow);
        readsNothing = false;
        return flow;
    }

    private int addFlow(int number, int source, int destination, long atPs, long bytes) {
        if (atPs < nowPs() || atPs > START_MAX_PS) {
            throw new ConfigException(
                    "a flow that starts at %d ps: it is %d ps, and %d ps (100 days) is the end"
                            .formatted(atPs, nowPs(), START_MAX_PS));
        }
        if (bytes > QueuePair.MAX_MESSAGE_BYTES) {
            throw new ConfigException(
                    "a flow of %d bytes: a message has at most %d"
                            .formatted(bytes, QueuePair.MAX_MESSAGE_BYTES));
        }
        int flow = flows.add(source, destination, bytes, atPs, number);
        events.add(originPs + atPs, Events.of(Events.FLOW_START, flow, 0));
        return flow;
    }

    /**
     * Adds the flows of a workload, those that wait for others too; at most one workload, and
     * before anything else. Time 0 is when warm connections are open.
     */
    public void add(Workload flowsToCome) {
        if (config.connections() == Connections.WARM && !protocol.connectsByHand()) {
            openFor(flowsToCome);
        }
        workload = flowsToCome;
        flows.expect(flowsToCome.flows());
        flowsToCome.start(adding);
    }

    private void openFor(Workload flowsToCome) {
        Map<Integer, Set<Integer>> sources = new LinkedHashMap<>();
        flowsToCome.start(
                (flow, source, destination, startPs, bytes) -> {
                    if (startPs == 0) {
                        sources.computeIfAbsent(destination, d -> new LinkedHashSet<>())
                                .add(source);
                    }
                });
        sources.forEach(
                (destination, those) -> {
                    if (those.size() <= config.limits().contexts()) {
                        those.forEach(source -> open(hosts[source], hosts[destination]));
                    }
                });
        while (opening > 0 && events.next()) {
            step();
        }
        originPs = nowPs;
    }

    private void open(Host source, Host destination) {
        opening++;
        source.open(nowNs(), destination);
        afterTurn(source);
    }

    /** A connection is open, or will never be. */
    void opened() {
        opening--;
    }

    /** Takes links down and up at times to come. */
    public void plan(List<LinkChange> changes) {
        fabric.plan(
                changes.stream()
                        .map(c -> new LinkChange(originPs + c.atPs(), c.link(), c.down()))
                        .toList());
    }

    /** What the workload is called; empty when flows were added one by one. */
    public String workloadKind() {
        return workload == null ? "" : workload.kind();
    }

    /** What the workload calls a flow. */
    public long flowId(int flow) {
        return workload == null ? flow : workload.id(flows.number(flow));
    }

    // For applications

    /** Calls {@link Application#onEvent} at {@code atPs} with a number of the application's own. */
    public void schedule(long atPs, int number) {
        events.add(originPs + atPs, Events.of(Events.APPLICATION, number, 0));
    }

    /** The application did something at a host outside of {@link Application#onTurn}. */
    public void turn(int host) {
        poll(hosts[host]);
        afterTurn(hosts[host]);
    }

    /** Hands a packet that {@link Application#onArrival} kept to its host, at {@code atPs}. */
    public void arrive(long atPs, int host, int packet) {
        events.add(originPs + atPs, Events.of(Events.RECEIVED, host, packet));
    }

    /** The process at a host dies: it neither receives nor sends from now on. */
    public void kill(int host) {
        hosts[host].dead = true;
    }

    /** A new process takes the address of a host; the one before dies. */
    public void restart(int host, DeviceLimits limits) {
        Host old = hosts[host];
        old.dead = true;
        Rng own = processes.fork("process " + old.incarnation);
        int next = old.incarnation + 1;
        hosts[host] = new Host(host, config, protocol, limits, own, next, application.events(host));
    }

    /** Runs at most so many events; false when none is left. */
    public boolean run(long maxEvents) {
        for (long i = 0; i < maxEvents; i++) {
            if (!events.next()) {
                return false;
            }
            step();
        }
        return true;
    }

    /**
     * Runs until the last flow to come has ended, a pause is due, or so many events are done,
     * whichever is first. Where it stops on the way changes nothing of what is simulated.
     */
    public Stop advance(long maxEvents) {
        for (long i = 0; i < maxEvents; i++) {
            if (flows.ended() == flows.expected()) {
                return Stop.ALL_ENDED;
            }
            if (!events.next()) {
                return Stop.NO_EVENTS;
            }
            if (Events.kind(events.event()) == Events.PAUSE) {
                if (events.size() == 0) {
                    return Stop.NO_EVENTS;
                }
                nowPs = events.timePs();
                return Stop.PAUSED;
            }
            step();
        }
        return Stop.EVENTS_DONE;
    }

    /** Makes {@link #advance} stop at a time, which is not in the past. */
    public void pauseAt(long atPs) {
        events.add(originPs + atPs, Events.of(Events.PAUSE, 0, 0));
    }

    private void step() {
        nowPs = events.timePs();
        long event = events.event();
        long mixed = nowPs ^ (event * HASH_PRIME);
        traceHash = (Long.rotateLeft(traceHash, 23) ^ mixed) * HASH_PRIME;
        eventCount++;
        handle(event);
    }

    private void handle(long event) {
        int a = Events.a(event);
        switch (Events.kind(event)) {
            case Events.ARRIVE -> fabric.onArrive(nowPs, a, Events.b(event));
            case Events.PORT_FREE -> fabric.onPortFree(nowPs, a);
            case Events.HOST_WAKE -> wake(hosts[a]);
            case Events.RECEIVED -> receive(hosts[a], Events.b(event));
            case Events.APPLICATION -> application.onEvent(a);
            case Events.FLOW_START -> {
                Host source = hosts[flows.source(a)];
                source.start(nowNs(), flows, a, hosts[flows.destination(a)]);
                afterTurn(source);
            }
            case Events.NIC_SEND -> fabric.enqueue(nowPs, a, Events.b(event));
            case Events.NIC_FREE -> {
                if (nics != null) {
                    nics.onFree(a);
                }
                afterTurn(hosts[a]);
            }
            default -> fabric.onEvent(nowPs, event);
        }
    }

    private long nowNs() {
        return nowPs / PS_PER_NS;
    }

    private void wake(Host host) {
        long nowNs = nowNs();
        if (host.wakeAtNs != nowNs || host.dead) {
            return;
        }
        host.wakeAtNs = Long.MAX_VALUE;
        if (host.engine.nextDeadlineNs() <= nowNs) {
            host.engine.onTimeout(nowNs);
        }
        poll(host);
        afterTurn(host);
    }

    @Override
    public void onArrival(int host, int port, int packet) {
        if (!application.onArrival(host, packet)) {
            return;
        }
        if (nics == null) {
            receive(hosts[host], packet);
        } else {
            nics.receive(nowPs, host, packet);
        }
    }

    /** What an engine took in may have finished work. */
    private void poll(Host host) {
        if (!host.dead) {
            host.poll(flows, this);
            application.onTurn(host.number);
        }
    }

    private void receive(Host to, int packet) {
        // Data completes nothing that a WRITE of this host waits for; only answers do.
        boolean news = !flowsOnly || !readsNothing || kind(packet) != HostProtocol.Kind.DATA;
        deliver(to.number, packet);
        if (news) {
            poll(to);
        }
        afterTurn(to);
    }

    /**
     * Hands a packet that {@link Application#onArrival} kept to its host now, as one of several:
     * the host acts upon them at the next {@link #turn}.
     */
    public void deliver(int host, int packet) {
        Host to = hosts[host];
        if (!to.dead) {
            PacketMemory memory = fabric.memory(packet);
            memory.elide(fabric.elidedBytes(packet));
            to.engine.onDatagram(
                    nowNs(),
                    memory,
                    fabric.offset(packet),
                    fabric.datagramBytes(packet),
                    hosts[fabric.source(packet)].source(fabric.sourcePort(packet)),
                    fabric.ecn(packet));
        }
        fabric.give(packet);
    }

    @Override
    public void onPortFree(int host, int port) {
        afterTurn(hosts[host]);
    }

    /** What may follow from anything an engine did. */
    private void afterTurn(Host host) {
        if (host.dead) {
            return;
        }
        if (host.engine.hasPosted()) {
            host.engine.drainPosted(nowNs());
        }
        pull(host);
        if (host.unheardFailure) {
            host.poll(flows, this);
        }
        long deadlineNs = host.engine.nextDeadlineNs();
        if (deadlineNs < host.wakeAtNs) {
            host.wakeAtNs = Math.max(deadlineNs, nowNs());
            long atPs = Math.max(host.wakeAtNs * PS_PER_NS, nowPs);
            events.add(atPs, Events.of(Events.HOST_WAKE, host.number, 0));
        }
    }

    /**
     * The NIC takes packets from the engine while it has a port with nothing to send, and
     * congestion notices always: they have a queue of their own there, which goes on where data
     * were stopped.
     */
    private void pull(Host host) {
        sending = host;
        while (host.engine.transmitNotices(nowNs(), batch, toNic) > 0) {
            // There may be more than a batch holds.
        }
        while (nics == null ? hasIdlePort(host.number) : nics.mayTake(nowPs, host.number)) {
            if (host.engine.transmit(nowNs(), batch, toNic) == 0) {
                return;
            }
        }
        if (nics != null) {
            nics.wakeWhenFree(nowPs, host.number);
        }
    }

    private boolean hasIdlePort(int host) {
        for (int port : hostPorts[host]) {
            if (fabric.isIdle(port, nowPs) && !fabric.isDown(port)) {
                return true;
            }
        }
        return false;
    }

    private void toNic(TxBatch from) {
        for (int run = 0; run < from.runs(); run++) {
            int destination = Host.numberOf(from.destination(run));
            int route = from.route(run);
            int sourcePort = sending.firstPort + route;
            int flowHash = flowHash(sending.number, destination, sourcePort);
            int elided = from.lends(run) ? from.lentBytes(run) : 0;
            int stored = from.bytes(run) - elided;
            int packet =
                    fabric.packet(
                            sending.number,
                            destination,
                            flowHash,
                            from.bytes(run),
                            stored,
                            from.ect(run));
            fabric.sourcePort(packet, sourcePort);
            copy(from, run, elided, fabric.memory(packet), fabric.offset(packet));
            fabric.classify(packet, trafficClass(packet));
            int port = portFor(sending.number, route);
            if (nics == null) {
                fabric.enqueue(nowPs, port, packet);
            } else {
                nics.send(nowPs, sending.number, port, packet);
            }
        }
    }

    private HostProtocol.Kind kind(int packet) {
        return protocol.kind(fabric.memory(packet), fabric.offset(packet), fabric.isEct(packet));
    }

    private int trafficClass(int packet) {
        return switch (kind(packet)) {
            case DATA, ACK -> dataClasses[sending.number];
            case ANSWER -> controlClass;
            case CNP -> cnpClass;
        };
    }

    private static void copy(TxBatch from, int run, int elided, PacketMemory to, int at) {
        int offset = from.offset(run);
        int bytes = from.bytes(run);
        if (elided == 0) {
            to.bytes().put(at, from.memory().bytes(), offset, bytes);
            return;
        }
        int header = from.lentAt(run);
        int rest = offset + header + elided;
        to.bytes().put(at, from.memory().bytes(), offset, header);
        to.bytes().put(at + header, from.memory().bytes(), rest, bytes - header - elided);
    }

    private static int flowHash(int source, int destination, int sourcePort) {
        int z = (source * 0x9E37_79B1) ^ Integer.rotateLeft(destination * 0x85EB_CA77, 13);
        z ^= sourcePort * 0xC2B2_AE3D;
        z = (z ^ (z >>> 15)) * 0x2C1B_3C6D;
        return z ^ (z >>> 12);
    }

    private int portFor(int host, int route) {
        int[] ports = hostPorts[host];
        if (ports.length == 1) {
            return ports[0];
        }
        int choice = route % ports.length;
        for (int i = 0; i < ports.length; i++) {
            int port = ports[(choice + i) % ports.length];
            if (!fabric.isDown(port)) {
                return port;
            }
        }
        return ports[choice];
    }

    void ended(int flow, String failure) {
        flows.end(flow, nowPs(), failure);
        if (workload != null && failure.isEmpty()) {
            workload.onFlowDone(flows.number(flow), nowPs(), adding);
        }
    }
}
