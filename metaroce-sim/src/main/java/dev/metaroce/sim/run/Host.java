package dev.metaroce.sim.run;

import dev.metaroce.engine.Engine;
import dev.metaroce.event.EventId;
import dev.metaroce.event.EventSink;
import dev.metaroce.memory.Access;
import dev.metaroce.memory.MemoryRegion;
import dev.metaroce.ring.PostResult;
import dev.metaroce.ring.WcStatus;
import dev.metaroce.ring.WorkCompletion;
import dev.metaroce.transport.DeviceLimits;
import dev.metaroce.transport.SendingState;
import dev.metaroce.util.Rng;
import dev.metaroce.verbs.CompletionQueue;
import dev.metaroce.verbs.Connection;
import dev.metaroce.verbs.ConnectionRequest;
import dev.metaroce.verbs.ManualDriver;
import dev.metaroce.verbs.ProtectionDomain;
import dev.metaroce.verbs.QueuePair;
import dev.metaroce.verbs.RdmaDevice;
import dev.metaroce.wire.NetAddress;

import org.jspecify.annotations.Nullable;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** An endpoint: an engine with its memory, and the connections its flows use. */
final class Host implements EventSink {
    static final long SERVICE = 1;

    private static final int FIRST_ADDRESS = 0x0A00_0000;

    /** Less the destination: what a WRITE that opens a lease is called, below all flows. */
    private static final long OPENING = -1;

    /** Flows of one connection that are posted at once; more wait. */
    private static final int DEPTH = 8;

    /** A connection that flows to one destination use. */
    private static final class Channel {
        final Connection connection;
        final QueuePair pair;
        final ArrayDeque<Integer> waiting = new ArrayDeque<>(1);
        int posted;

        Channel(Connection connection, QueuePair pair) {
            this.connection = connection;
            this.pair = pair;
        }
    }

    final int number;
    final Engine engine;
    final NetAddress address;
    final MemoryRegion region;
    final RdmaDevice device;
    private final ProtectionDomain domain;
    private final Map<Integer, Channel> channels = new LinkedHashMap<>(1);

    /** Each twice as large as the one before, as connections come. */
    private final List<CompletionQueue> completions = new ArrayList<>(1);

    private int completionsFree;
    private final WorkCompletion completion = new WorkCompletion();

    /** What ECMP sees as the port of route 0. */
    final int firstPort;

    private final NetAddress[] sources;

    /** The time an event of the queue will look at this host; Long.MAX_VALUE for none. */
    long wakeAtNs = Long.MAX_VALUE;

    private final boolean closes;
    private final boolean connectsByHand;
    private int contextsPeak;

    /** A connection failed since flows were looked at last; it may have done so while sending. */
    boolean unheardFailure;

    /** Counts the processes that had this address. */
    final int incarnation;

    boolean dead;
    private final EventSink events;

    /** A process with limits of its own. */
    Host(
            int number,
            SimConfig config,
            HostProtocol protocol,
            DeviceLimits limits,
            Rng rng,
            int incarnation,
            EventSink events) {
        this.number = number;
        this.incarnation = incarnation;
        this.events = events;
        closes = config.connections() == Connections.CLOSE;
        connectsByHand = protocol.connectsByHand();
        address = NetAddress.ofIpv4(FIRST_ADDRESS + number, protocol.port());
        Rng own = rng.fork("host " + number);
        firstPort = protocol.firstSourcePort(own);
        sources = protocol.sources(address, firstPort);
        engine = protocol.engine(address, firstPort, limits, incarnation, own, this);
        device = new RdmaDevice(engine, new ManualDriver());
        domain = device.allocProtectionDomain();
        region = domain.registerVirtual(1L << 40, Access.ALL);
        device.listen(SERVICE, this::accept);
        engine.drainPosted(0);
    }

    /** Whom the receiver of a packet sees as its sender. */
    NetAddress source(int sourcePort) {
        return sources.length == 1 ? sources[0] : sources[sourcePort - firstPort];
    }

    static int numberOf(NetAddress address) {
        return (int) address.low() - FIRST_ADDRESS;
    }

    private void accept(ConnectionRequest request) {
        target(request.connection());
        request.accept();
    }

    /** Posts a flow to the connection to its destination, which is made when there is none. */
    void start(long nowNs, Flows flows, int flow, Host destination) {
        Channel channel = channelTo(nowNs, destination);
        if (channel.posted == DEPTH) {
            channel.waiting.add(flow);
        } else {
            post(channel, flows, flow, destination);
        }
    }

    private Channel channelTo(long nowNs, Host destination) {
        Channel channel = channels.get(destination.number);
        if (channel == null) {
            channel = connect(nowNs, destination);
            channels.put(destination.number, channel);
        }
        return channel;
    }

    /** Connects, and has a lease once an empty WRITE is done. */
    void open(long nowNs, Host destination) {
        Channel channel = channelTo(nowNs, destination);
        long id = OPENING - destination.number;
        long to = destination.region.address();
        posted(channel, channel.pair.postWrite(id, region, 0, 0, to, destination.region.rkey()));
    }

    private Channel connect(long nowNs, Host destination) {
        Connection connection =
                connectsByHand
                        ? device.connectByHand()
                        : device.connect(destination.address, SERVICE, new byte[0]);
        CompletionQueue unused = device.createCompletionQueue(1);
        QueuePair pair = connection.createQueuePair(domain, completionQueue(), unused, DEPTH, 1);
        if (connectsByHand) {
            QueuePair other = destination.target(destination.device.connectByHand());
            pair.connect(other.localEnd());
            other.connect(pair.localEnd());
            destination.engine.drainPosted(nowNs);
        }
        return new Channel(connection, pair);
    }

    /** A queue pair that posts nothing. */
    private QueuePair target(Connection connection) {
        CompletionQueue unused = device.createCompletionQueue(1);
        return connection.createQueuePair(domain, unused, device.createCompletionQueue(1), 1, 1);
    }

    /** A completion queue with room for one connection more. */
    private CompletionQueue completionQueue() {
        if (completionsFree < DEPTH) {
            completionsFree = DEPTH << completions.size();
            completions.add(device.createCompletionQueue(completionsFree));
        }
        completionsFree -= DEPTH;
        return completions.getLast();
    }

    private void post(Channel channel, Flows flows, int flow, Host destination) {
        long bytes = flows.bytes(flow);
        long va = destination.region.address();
        int rkey = destination.region.rkey();
        posted(
                channel,
                flows.isRead(flow)
                        ? channel.pair.postRead(flow, region, 0, bytes, va, rkey)
                        : channel.pair.postWrite(flow, region, 0, bytes, va, rkey));
    }

    private static void posted(Channel channel, PostResult result) {
        if (result != PostResult.OK) {
            throw new IllegalStateException("a send queue with room refused: " + result);
        }
        channel.posted++;
    }

    /** Takes note of flows that ended; those that waited for them are posted. */
    void poll(Flows flows, Simulation simulation) {
        unheardFailure = false;
        for (int i = 0; i < completions.size(); i++) {
            while (completions.get(i).poll(completion)) {
                int flow = (int) completion.wrId();
                if (flow < 0) {
                    Objects.requireNonNull(channels.get((int) OPENING - flow)).posted--;
                    simulation.opened();
                    continue;
                }
                Channel channel = Objects.requireNonNull(channels.get(flows.destination(flow)));
                channel.posted--;
                Integer next = channel.waiting.poll();
                if (next != null) {
                    Host destination = simulation.host(flows.destination(flow));
                    post(channel, flows, next, destination);
                } else if (closes && channel.posted == 0) {
                    channel.connection.close();
                    channels.remove(flows.destination(flow));
                }
                WcStatus status = completion.status();
                boolean failed = status != WcStatus.SUCCESS;
                simulation.ended(flow, failed ? status + " " + channel.connection.failure() : "");
            }
        }
    }

    @Override
    public void onEvent(long nowNs, EventId id, long a, long b, long c) {
        if (id == EventId.CID_GRANTED) {
            contextsPeak = Math.max(contextsPeak, engine.metaRoce().pool().inUse());
        }
        unheardFailure |= id == EventId.CONNECTION_FAILED;
        events.onEvent(nowNs, id, a, b, c);
    }

    int contextsPeak() {
        return Math.max(contextsPeak, engine.contextsInUse());
    }

    long missingBytes(Flows flows, int flow) {
        Channel channel = channels.get(flows.destination(flow));
        return channel == null || channel.waiting.contains(flow)
                ? flows.bytes(flow)
                : channel.pair.unacknowledgedBytes(flow);
    }

    String state(Flows flows, int flow, long nowNs) {
        Channel channel = channels.get(flows.destination(flow));
        if (channel == null) {
            return "not started";
        }
        String turn = channel.waiting.contains(flow) ? "behind other flows, " : "";
        Connection connection = channel.connection;
        SendingState sending = connection.sending();
        String inFlight =
                sending == null ? "" : ", %d bytes in flight".formatted(sending.inFlightBytes());
        return turn + connection.state() + ": " + connection.leaseText(nowNs) + inFlight;
    }

    @Nullable SendingState sending(int destination) {
        Channel channel = channels.get(destination);
        return channel == null ? null : channel.connection.sending();
    }
}
