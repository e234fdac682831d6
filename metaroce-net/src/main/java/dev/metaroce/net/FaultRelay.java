package dev.metaroce.net;

import dev.metaroce.util.Rng;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.DatagramChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.HashMap;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * A bad network for real datagrams: forwards UDP between clients and one target, and drops,
 * duplicates, reorders, delays and corrupts on the way as its seed says.
 *
 * <p>Every client address and port gets a socket of its own towards the target, so that the target
 * sees as many source ports as there are, and answers find their way back. Clients are numbered 0,
 * 1, 2, ... by their first packet; with {@link RelayOptions#clientsMax} reached, numbers are used
 * again.
 *
 * <p>One daemon thread does all the work; all methods may be called from any thread (from a {@link
 * PacketFilter} too), and return when the relay has done what they say. {@link #stats} therefore is
 * exact: no packet is half counted.
 *
 * <pre>{@code
 * Faults loss = Faults.builder().dropRate(0.01).build();
 * RelayOptions options = RelayOptions.between(here, server).withFaults(7, loss, loss);
 * try (FaultRelay relay = FaultRelay.start(options)) {
 *     connectTo(relay.localAddress());
 * }
 * }</pre>
 */
public final class FaultRelay implements AutoCloseable {
    private static final Logger LOG = System.getLogger(FaultRelay.class.getName());

    /** Datagrams taken from one socket before the others get their turn. */
    private static final int DATAGRAMS_PER_SOCKET = 64;

    private static final int DATAGRAM_BYTES_MAX = 65_536;
    private static final long MS = 1_000_000;

    /** How often idle clients are looked for. */
    private static final long IDLE_CHECK_NS = 1000 * MS;

    /** Packets due sooner than this are awaited without sleeping. */
    private static final long AWAKE_NS = 100_000;

    private static final long CALL_CHECK_MS = 100;

    /** A listening socket and a selector. */
    private static final int FILES = 3;

    private final RelayOptions options;
    private final DatagramChannel clientSide;
    private final Selector selector;
    private final InetSocketAddress localAddress;
    private final Thread thread;
    private final PacketStore store;
    private final RelayLane toTarget;
    private final RelayLane toClient;
    private final Queue<Runnable> commands = new ConcurrentLinkedQueue<>();
    private final Consumer<SelectionKey> onReady = this::drain;
    private final ByteBuffer packet = ByteBuffer.allocateDirect(DATAGRAM_BYTES_MAX);
    private final Map<InetSocketAddress, RelayClient> clients = new HashMap<>();
    private final @Nullable RelayClient[] byIndex;
    private final boolean[] blackHoles;
    private @Nullable InetSocketAddress lastFrom;
    private @Nullable RelayClient lastClient;
    private @Nullable InetSocketAddress lastAnswerer;
    private long nowNs;
    private long idleCheckedNs;
    private long evicted;
    private long strangers;
    private volatile boolean closed;
    private volatile @Nullable Throwable failure;

    private FaultRelay(RelayOptions options, DatagramChannel clientSide, Selector selector)
            throws IOException {
        this.options = options;
        this.clientSide = clientSide;
        this.selector = selector;
        prepare(clientSide);
        clientSide.register(selector, SelectionKey.OP_READ);
        localAddress = (InetSocketAddress) clientSide.getLocalAddress();
        byIndex = new RelayClient[options.clientsMax()];
        blackHoles = new boolean[options.clientsMax()];
        store = new PacketStore(options.storeBytesMax());
        Rng rng = new Rng(options.seed());
        toTarget = newLane(true, rng.fork("to target"));
        toClient = newLane(false, rng.fork("to client"));
        toTarget.faults(options.toTarget());
        toClient.faults(options.toClient());
        thread = new Thread(this::run, "metaroce-relay-" + localAddress.getPort());
        thread.setDaemon(true);
    }

    private RelayLane newLane(boolean towardsTarget, Rng rng) {
        return new RelayLane(
                towardsTarget, clientSide, options.target(), store, rng, options.filter());
    }

    private void prepare(DatagramChannel channel) throws IOException {
        channel.configureBlocking(false);
        channel.setOption(StandardSocketOptions.SO_RCVBUF, options.socketBufferBytes());
        channel.setOption(StandardSocketOptions.SO_SNDBUF, options.socketBufferBytes());
    }

    /**
     * Binds the listening address and starts to forward.
     *
     * @throws NetSetupException when the address cannot be bound
     */
    public static FaultRelay start(RelayOptions options) {
        DatagramChannel channel = null;
        Selector selector = null;
        try {
            selector = Selector.open();
            channel = DatagramChannel.open();
            channel.bind(options.listen());
            FaultRelay relay = new FaultRelay(options, channel, selector);
            relay.thread.start();
            return relay;
        } catch (IOException e) {
            NioPort.closeQuietly(channel);
            NioPort.closeQuietly(selector);
            String reason = String.valueOf(e.getMessage());
            throw new NetSetupException(
                    SocketTexts.cannotBind(options.listen(), 1, FILES, reason), e);
        }
    }

    private void run() {
        try {
            while (!closed) {
                nowNs = System.nanoTime();
                runCommands();
                sendDue();
                if (selector.selectNow(onReady) == 0) {
                    rest();
                }
                forgetIdleClients();
            }
        } catch (Throwable t) {
            failure = t;
            LOG.log(Level.ERROR, thread.getName() + " stopped", t);
        } finally {
            closeAll();
        }
    }

    @SuppressWarnings("ThreadPriorityCheck") // yields for politeness, not for correctness
    private void rest() throws IOException {
        long waitNs = Math.min(store.untilDueNs(System.nanoTime()), IDLE_CHECK_NS);
        // The wake-up of a command or of the end may have been used up by the look before this.
        if (waitNs <= 0 || closed || !commands.isEmpty()) {
            return;
        }
        if (waitNs < AWAKE_NS) {
            Thread.yield();
        } else if (waitNs < MS) {
            LockSupport.parkNanos(this, AWAKE_NS / 2);
        } else {
            selector.select(onReady, waitNs / MS);
        }
    }

    private void runCommands() {
        Runnable command = commands.poll();
        while (command != null) {
            command.run();
            command = commands.poll();
        }
    }

    private void sendDue() {
        while (store.untilDueNs(nowNs) <= 0) {
            StoredPacket due = store.takeFirst();
            RelayLane lane = due.lane;
            if (lane != null) {
                lane.onDue(due);
            }
        }
    }

    private void drain(SelectionKey key) {
        try {
            if (key.attachment() instanceof RelayClient client) {
                drainAnswers(client);
            } else {
                drainClients();
            }
        } catch (ClosedChannelException e) {
            // Evicted or closed a moment ago: its last packets go the way of all late ones.
        }
    }

    private void drainClients() throws ClosedChannelException {
        for (int i = 0; i < DATAGRAMS_PER_SOCKET; i++) {
            InetSocketAddress from = receive(clientSide);
            if (from == null) {
                return;
            }
            RelayClient client = clientOf(from);
            if (client == null) {
                toTarget.onRefused(packet.limit());
            } else {
                client.lastSeenNs = nowNs;
                toTarget.onPacket(packet, client);
            }
        }
    }

    private void drainAnswers(RelayClient client) throws ClosedChannelException {
        for (int i = 0; i < DATAGRAMS_PER_SOCKET; i++) {
            InetSocketAddress from = receive(client.upstream);
            if (from == null) {
                return;
            }
            // Any port of the target's host will do: it may send from sockets of its own choice.
            if (!from.equals(lastAnswerer)) {
                if (!from.getAddress().equals(options.target().getAddress())) {
                    strangers++;
                    continue;
                }
                lastAnswerer = from;
            }
            client.lastSeenNs = nowNs;
            toClient.onPacket(packet, client);
        }
    }

    /** The sender of the next datagram, which is in {@link #packet} from 0 to its limit then. */
    private @Nullable InetSocketAddress receive(DatagramChannel channel)
            throws ClosedChannelException {
        packet.clear();
        try {
            InetSocketAddress from = (InetSocketAddress) channel.receive(packet);
            packet.flip();
            return from;
        } catch (ClosedChannelException e) {
            throw e;
        } catch (IOException e) {
            return null; // an ICMP error of an earlier send; the next look finds what is behind it
        }
    }

    private @Nullable RelayClient clientOf(InetSocketAddress from) {
        RelayClient last = lastClient;
        if (last != null && from.equals(lastFrom)) {
            return last;
        }
        RelayClient client = clients.get(from);
        if (client == null) {
            client = newClient(from);
        }
        lastFrom = from;
        lastClient = client;
        return client;
    }

    private @Nullable RelayClient newClient(InetSocketAddress from) {
        if (clients.size() == byIndex.length) {
            evictLongestSilent();
        }
        int index = 0;
        while (byIndex[index] != null) {
            index++;
        }
        DatagramChannel upstream = null;
        try {
            upstream = DatagramChannel.open();
            upstream.bind(null);
            prepare(upstream);
            RelayClient client = new RelayClient(index, from, upstream);
            upstream.register(selector, SelectionKey.OP_READ, client);
            client.blackHole = blackHoles[index];
            byIndex[index] = client;
            clients.put(from, client);
            return client;
        } catch (IOException e) {
            NioPort.closeQuietly(upstream);
            LOG.log(Level.WARNING, "relay: no socket for client " + from + ": " + e.getMessage());
            return null;
        }
    }

    private void evictLongestSilent() {
        RelayClient silent = null;
        for (RelayClient client : byIndex) {
            if (client != null && (silent == null || client.lastSeenNs - silent.lastSeenNs < 0)) {
                silent = client;
            }
        }
        if (silent != null) {
            evict(silent);
        }
    }

    private void forgetIdleClients() {
        if (nowNs - idleCheckedNs < IDLE_CHECK_NS) {
            return;
        }
        idleCheckedNs = nowNs;
        for (RelayClient client : byIndex) {
            if (client != null && nowNs - client.lastSeenNs > options.clientIdleNs()) {
                evict(client);
            }
        }
    }

    private void evict(RelayClient client) {
        evicted++;
        clients.remove(client.address);
        byIndex[client.index] = null;
        lastClient = null;
        NioPort.closeQuietly(client.upstream);
    }

    /** Where clients send to. */
    public InetSocketAddress localAddress() {
        return localAddress;
    }

    /** What happened so far. */
    public RelayStats stats() {
        return call(
                () ->
                        new RelayStats(
                                toTarget.stats(),
                                toClient.stats(),
                                clients.size(),
                                evicted,
                                strangers));
    }

    /** Replaces the faults of one direction; counts and random sequences go on. */
    public void faults(boolean towardsTarget, Faults faults) {
        call(
                () -> {
                    lane(towardsTarget).faults(faults);
                    return true;
                });
    }

    /** Replaces the filter of both directions. */
    public void filter(PacketFilter filter) {
        call(
                () -> {
                    toTarget.filter(filter);
                    toClient.filter(filter);
                    return true;
                });
    }

    /**
     * Swallows all packets of one client socket, both ways, until switched off. The client need not
     * be known yet.
     *
     * @param clientIndex 0..{@code clientsMax} - 1
     */
    public void blackHole(int clientIndex, boolean on) {
        call(
                () -> {
                    blackHoles[clientIndex] = on;
                    RelayClient client = byIndex[clientIndex];
                    if (client != null) {
                        client.blackHole = on;
                    }
                    return true;
                });
    }

    /** The index of the client with this UDP port, -1 when there is none. */
    public int clientOfPort(int port) {
        return call(
                () -> {
                    for (RelayClient client : byIndex) {
                        if (client != null && client.address.getPort() == port) {
                            return client.index;
                        }
                    }
                    return -1;
                });
    }

    /**
     * Sends up to {@code max} packets of one direction that the filter held, oldest first, past all
     * faults; returns how many.
     */
    public int release(boolean towardsTarget, int max) {
        return call(() -> lane(towardsTarget).release(max));
    }

    /**
     * Sends a packet as if a client (or the target) had sent it, past all faults.
     *
     * @return false when there is no such client
     */
    public boolean inject(boolean towardsTarget, int clientIndex, byte[] bytes) {
        return call(
                () -> {
                    RelayClient client = byIndex[clientIndex];
                    if (client == null) {
                        return false;
                    }
                    lane(towardsTarget).inject(ByteBuffer.wrap(bytes), client);
                    return true;
                });
    }

    private RelayLane lane(boolean towardsTarget) {
        return towardsTarget ? toTarget : toClient;
    }

    /**
     * Runs {@code work} between two packets; directly when the relay's thread is this one or ended.
     */
    private <T> T call(Supplier<T> work) {
        if (Thread.currentThread() == thread) {
            return work.get();
        }
        if (!thread.isAlive()) {
            checkHealth();
            return work.get();
        }
        CompletableFuture<T> result = new CompletableFuture<>();
        commands.add(
                () -> {
                    try {
                        result.complete(work.get());
                    } catch (RuntimeException e) {
                        result.completeExceptionally(e);
                    }
                });
        selector.wakeup();
        while (true) {
            try {
                return result.get(CALL_CHECK_MS, TimeUnit.MILLISECONDS);
            } catch (TimeoutException e) {
                if (!thread.isAlive()) {
                    checkHealth();
                    return work.get();
                }
            } catch (ExecutionException e) {
                throw new CompletionException(e.getCause());
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException("interrupted while waiting for the relay", e);
            }
        }
    }

    private void checkHealth() {
        Throwable cause = failure;
        if (cause != null) {
            throw new IllegalStateException(thread.getName() + " stopped: " + cause, cause);
        }
    }

    private void closeAll() {
        NioPort.closeQuietly(clientSide);
        for (RelayClient client : byIndex) {
            if (client != null) {
                NioPort.closeQuietly(client.upstream);
            }
        }
        NioPort.closeQuietly(selector);
        store.close();
    }

    /**
     * Stops forwarding and closes all sockets; packets on the way are lost. Returns when the thread
     * has ended; a second call does nothing.
     *
     * @throws IllegalStateException when a defect (of the filter, for example) had stopped the
     *     relay
     */
    @Override
    public void close() {
        if (!closed) {
            closed = true;
            selector.wakeup();
            UdpDriver.joinUninterruptibly(thread);
            checkHealth();
        }
    }
}
