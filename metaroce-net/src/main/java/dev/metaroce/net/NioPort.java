package dev.metaroce.net;

import dev.metaroce.wire.Ecn;
import dev.metaroce.wire.NetAddress;
import dev.metaroce.wire.PacketMemory;
import dev.metaroce.wire.TxBatch;

import jdk.net.ExtendedSocketOptions;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.net.BindException;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.DatagramChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.UnsupportedAddressTypeException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * UDP sockets for one engine by the plain JDK: the device's own socket (route 0), to which peers
 * send, and path sockets (routes 1..n) on ports of their own, from which the network may pick
 * different ways.
 *
 * <p>Owner: one thread calls {@link #receive}, {@link #send} and {@link #await}. Any thread may
 * call {@link #wakeup}, {@link #stats}, {@link #close} and the queries. Nothing allocates per
 * packet but the JDK itself, which makes an address object when the sender is another than that of
 * the datagram before, and some hundred bytes for each look at the path sockets, once a
 * millisecond.
 *
 * <p>Limits: congestion marks are neither set nor seen, since the JDK cannot read them. A port
 * bound to the wildcard address answers from the address the route gives it; on a machine with
 * several addresses bind the one that peers use.
 */
final class NioPort implements Port {
    private static final long MS = 1_000_000;
    private static final int SLOT_BYTES = 65_536;
    private static final int SELECTOR_FILES = 2;
    private static final int CACHE_ENTRIES = 4096;

    /**
     * Time between two looks at the path sockets, where only strays arrive. Time and not turns: a
     * thread that moves hundreds of devices comes round to each of them rarely.
     */
    private static final long PATH_LOOK_NS = 1_000_000;

    /** Most datagrams taken from one path socket per look. */
    private static final int PATH_DATAGRAMS_MAX = 16;

    /** Datagrams that share one reading of the clock. */
    private static final int DATAGRAMS_PER_CLOCK = 8;

    /** How often a send is tried again when the socket buffer is full. */
    private static final int SEND_RETRIES_MAX = 64;

    private final DatagramChannel[] channels;
    private final int[] routePorts;
    private final int stride;
    private final List<InetSocketAddress> localAddresses;
    private final Selector selector;
    private final List<String> warnings;
    private final int receiveBufferBytes;
    private final int sendBufferBytes;

    private final PacketMemory slot;
    private final ByteBuffer slotView;
    private final AddressCache[] sources;
    private final AddressCache targets = new AddressCache(CACHE_ENTRIES, 0);
    private final Consumer<SelectionKey> onReady = this::noteReady;
    private final int[] readyPaths;
    private final PortCounters counters = new PortCounters();
    private int readyPathCount;
    private long pathLookNs = System.nanoTime();
    private @Nullable TxBatch viewedBatch;
    private @Nullable ByteBuffer batchView;
    private @Nullable InetSocketAddress lastSocket;
    private @Nullable NetAddress lastSource;
    private volatile boolean open = true;

    /** Sockets opened so far, so that a failure half-way closes them all. */
    private static final class Opened {
        final List<DatagramChannel> channels = new ArrayList<>();

        int portOf(int index) {
            return channels.get(index).socket().getLocalPort();
        }

        void closeAll() {
            for (DatagramChannel channel : channels) {
                closeQuietly(channel);
            }
        }
    }

    private NioPort(Opened opened, Selector selector, PortOptions options, List<String> warnings)
            throws IOException {
        this.warnings = new ArrayList<>(warnings);
        if (options.transport() == Transport.ROCE_V2
                && options.planes().getFirst() instanceof Inet6Address) {
            this.warnings.add(
                    "java.nio sockets drop what comes over IPv6 without a UDP checksum, as most of"
                            + " RoCEv2 does; use IPv4 or Linux sockets");
        }
        slot = PacketMemory.allocate(SLOT_BYTES, options.checksums());
        slotView = slot.bytes().duplicate();
        int bufferBytes = options.bufferBytes();
        int n = opened.channels.size();
        channels = opened.channels.toArray(new DatagramChannel[0]);
        routePorts = new int[n];
        readyPaths = new int[n];
        this.selector = selector;
        boolean whole = true;
        for (int route = 0; route < n; route++) {
            DatagramChannel channel = channels[route];
            channel.configureBlocking(false);
            whole &= forbidFragments(channel);
            channel.setOption(StandardSocketOptions.SO_SNDBUF, bufferBytes);
            routePorts[route] = ((InetSocketAddress) channel.getLocalAddress()).getPort();
            channel.register(selector, SelectionKey.OP_READ, route);
        }
        if (!whole) {
            this.warnings.add(
                    "this system cannot forbid IP fragments: a loss costs more than one packet");
        }
        stride = options.routes() + 1;
        sources = new AddressCache[n / stride];
        List<InetSocketAddress> addresses = new ArrayList<>();
        for (int plane = 0; plane < sources.length; plane++) {
            DatagramChannel own = channels[plane * stride];
            own.setOption(StandardSocketOptions.SO_RCVBUF, bufferBytes);
            addresses.add((InetSocketAddress) own.getLocalAddress());
            sources[plane] = new AddressCache(CACHE_ENTRIES, plane);
        }
        localAddresses = List.copyOf(addresses);
        receiveBufferBytes = channels[0].getOption(StandardSocketOptions.SO_RCVBUF);
        sendBufferBytes = channels[0].getOption(StandardSocketOptions.SO_SNDBUF);
        SocketTexts.warnIfSmall(this.warnings, receiveBufferBytes, sendBufferBytes);
    }

    /**
     * Opens the sockets.
     *
     * @param warnings what to tell the user beside what is found here
     * @throws NetSetupException when an address cannot be bound
     */
    static NioPort open(PortOptions options, List<String> warnings) {
        List<InetAddress> planes =
                options.planes().isEmpty()
                        ? List.of(new InetSocketAddress(0).getAddress())
                        : options.planes();
        Opened opened = new Opened();
        Selector selector = null;
        InetSocketAddress bind = new InetSocketAddress(planes.getFirst(), options.udpPort());
        try {
            selector = Selector.open();
            int port = options.udpPort();
            for (InetAddress plane : planes) {
                for (int route = 0; route <= options.routes(); route++) {
                    bind = new InetSocketAddress(plane, route == 0 ? port : 0);
                    DatagramChannel channel = DatagramChannel.open();
                    opened.channels.add(channel);
                    if (route == 0) {
                        channel.bind(bind);
                    } else {
                        int first = plane.equals(planes.getFirst()) ? 0 : opened.portOf(route);
                        bindPath(channel, plane, options.transport(), first);
                    }
                }
                // All planes have the same port, so that a peer needs to know but one.
                port = opened.portOf(0);
            }
            return new NioPort(opened, selector, options, warnings);
        } catch (IOException | UnsupportedAddressTypeException e) {
            opened.closeAll();
            closeQuietly(selector);
            String reason = String.valueOf(e.getMessage());
            throw new NetSetupException(
                    SocketTexts.cannotBind(
                            bind,
                            opened.channels.size(),
                            planes.size() * (options.routes() + 1) + SELECTOR_FILES,
                            reason),
                    e);
        }
    }

    private static void bindPath(
            DatagramChannel channel, InetAddress plane, Transport transport, int first)
            throws IOException {
        for (int i = 1; i < Transport.PATH_PORT_TRIES; i++) {
            try {
                channel.bind(new InetSocketAddress(plane, transport.pathPort(first)));
                return;
            } catch (BindException e) {
                // Another socket has that port, unless the last try below fails too.
            }
        }
        channel.bind(new InetSocketAddress(plane, transport.pathPort(first)));
    }

    /** True when the system now refuses to cut datagrams of this socket. */
    private static boolean forbidFragments(DatagramChannel channel) throws IOException {
        if (!channel.supportedOptions().contains(ExtendedSocketOptions.IP_DONTFRAGMENT)) {
            return false;
        }
        channel.setOption(ExtendedSocketOptions.IP_DONTFRAGMENT, true);
        return channel.getOption(ExtendedSocketOptions.IP_DONTFRAGMENT);
    }

    @Override
    public List<InetSocketAddress> localAddresses() {
        return localAddresses;
    }

    @Override
    public int routePort(int plane, int route) {
        return routePorts[plane * stride + route];
    }

    @Override
    public List<String> warnings() {
        return List.copyOf(warnings);
    }

    @Override
    public boolean gathers() {
        return false;
    }

    @Override
    public boolean isOpen() {
        return open;
    }

    @Override
    public int receive(DatagramSink sink, int datagramsMax) {
        int n = 0;
        for (int plane = 0; plane < sources.length; plane++) {
            n += drain(plane * stride, sink, datagramsMax);
        }
        long nowNs = System.nanoTime();
        if (nowNs - pathLookNs >= PATH_LOOK_NS) {
            pathLookNs = nowNs;
            select(0);
        }
        while (readyPathCount > 0) {
            n += drain(readyPaths[--readyPathCount], sink, PATH_DATAGRAMS_MAX);
        }
        return n;
    }

    private int drain(int index, DatagramSink sink, int datagramsMax) {
        DatagramChannel channel = channels[index];
        int plane = index / stride;
        int n = 0;
        long nowNs = 0;
        for (int i = 0; i < datagramsMax; i++) {
            slotView.clear();
            InetSocketAddress from;
            try {
                from = (InetSocketAddress) channel.receive(slotView);
            } catch (ClosedChannelException e) {
                return n;
            } catch (IOException e) {
                // An ICMP error of an earlier send, for example: it concerns one peer, not the
                // loop.
                counters.add(PortCounters.RX_ERRORS, 1);
                counters.lastError("receive: " + e.getMessage());
                continue;
            }
            if (from == null) {
                return n;
            }
            if (n % DATAGRAMS_PER_CLOCK == 0) {
                nowNs = System.nanoTime();
            }
            n++;
            int bytes = slotView.position();
            counters.add(PortCounters.RX_CALLS, 1);
            counters.add(PortCounters.RX_DATAGRAMS, 1);
            counters.add(PortCounters.RX_BYTES, bytes);
            sink.onDatagram(nowNs, slot, 0, bytes, sourceOf(from, plane), Ecn.UNKNOWN);
        }
        return n;
    }

    /** The JDK gives the same object as long as the sender is the same. */
    @SuppressWarnings("ReferenceEquality") // equality would not see zones
    private NetAddress sourceOf(InetSocketAddress from, int plane) {
        NetAddress last = lastSource;
        if (from == lastSocket && last != null && last.plane() == plane) {
            return last;
        }
        NetAddress source = sources[plane].addressOf(from);
        lastSocket = from;
        lastSource = source;
        return source;
    }

    @Override
    public int send(TxBatch batch) {
        ByteBuffer view = viewOf(batch);
        int sent = 0;
        for (int run = 0; run < batch.runs(); run++) {
            InetSocketAddress to = targets.socketOf(batch.destination(run));
            int plane = batch.destination(run).plane();
            DatagramChannel channel = channels[plane * stride + batch.route(run)];
            int segment = batch.segmentBytes(run);
            int at = batch.offset(run);
            int end = at + batch.bytes(run);
            while (at < end) {
                int bytes = Math.min(segment, end - at);
                view.limit(at + bytes).position(at);
                if (sendOne(channel, view, to)) {
                    sent++;
                    counters.add(PortCounters.TX_DATAGRAMS, 1);
                    counters.add(PortCounters.TX_CALLS, 1);
                    counters.add(PortCounters.TX_BYTES, bytes);
                }
                at += bytes;
            }
        }
        return sent;
    }

    private ByteBuffer viewOf(TxBatch batch) {
        ByteBuffer view = batchView;
        if (view == null || viewedBatch != batch) {
            view = batch.memory().bytes().duplicate();
            batchView = view;
            viewedBatch = batch;
        }
        return view;
    }

    private boolean sendOne(DatagramChannel channel, ByteBuffer packet, InetSocketAddress to) {
        try {
            // The kernel takes a datagram whole or not at all, so what remains is all or nothing.
            for (int i = 0; i <= SEND_RETRIES_MAX; i++) {
                channel.send(packet, to);
                if (!packet.hasRemaining()) {
                    return true;
                }
                counters.add(PortCounters.TX_FULL, 1);
                Thread.onSpinWait();
            }
            counters.add(PortCounters.TX_DROPPED, 1);
        } catch (ClosedChannelException e) {
            counters.add(PortCounters.TX_DROPPED, 1);
        } catch (IOException | UnsupportedAddressTypeException e) {
            counters.add(PortCounters.TX_ERRORS, 1);
            counters.unsent(Addresses.toNetAddress(to), String.valueOf(e.getMessage()));
        }
        return false;
    }

    @Override
    public boolean await(long timeoutNs) {
        // Sleeps have steps of a millisecond: what ends much sooner is awaited awake.
        return select(timeoutNs < MS / 4 ? 0 : Math.max(1, timeoutNs / MS));
    }

    private boolean select(long timeoutMs) {
        try {
            return timeoutMs > 0
                    ? selector.select(onReady, timeoutMs) > 0
                    : selector.selectNow(onReady) > 0;
        } catch (ClosedSelectorException e) {
            return false;
        } catch (IOException e) {
            counters.add(PortCounters.RX_ERRORS, 1);
            counters.lastError("select: " + e.getMessage());
            return false;
        }
    }

    private void noteReady(SelectionKey key) {
        int route = (Integer) key.attachment();
        if (route % stride == 0 || readyPathCount == readyPaths.length) {
            return;
        }
        readyPaths[readyPathCount++] = route;
    }

    @Override
    public void wakeup() {
        selector.wakeup();
    }

    @Override
    public @Nullable Unsent takeUnsent() {
        return counters.takeUnsent();
    }

    @Override
    public PortStats stats() {
        return counters.snapshot();
    }

    @Override
    public SocketInfo info() {
        return new SocketInfo(
                SocketKind.NIO, false, false, false, receiveBufferBytes, sendBufferBytes);
    }

    @Override
    public void close() {
        open = false;
        for (DatagramChannel channel : channels) {
            closeQuietly(channel);
        }
        closeQuietly(selector);
    }

    static void closeQuietly(@Nullable AutoCloseable resource) {
        try {
            if (resource != null) {
                resource.close();
            }
        } catch (Exception e) {
            // Closing is the last thing done with it; there is nobody left to care.
        }
    }
}
